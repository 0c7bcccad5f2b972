package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/plimsoll-bench/plimsoll/disk"
	"github.com/plimsoll-bench/plimsoll/internal/mountinfo"
	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// The lies of a FUSE filesystem.
const (
	fsPasses    = "passes" // none
	fsSwallow   = "swallow"
	fsLate      = "late"
	fsStale     = "stale"
	fsTorn      = "torn"
	fsMisplaced = "misplaced"
	fsFlipped   = "flipped"
)

// served is the environment variable that makes this program serve a filesystem, in a process of its own, until its
// standard input ends: "faultfs DIR", or "KIND SHARE SEED FROM AT".
const served = "PLIMSOLL_LIARS_SERVE"

// serveFilesystem serves if this process was started for that.
func serveFilesystem() (done bool) {
	words := strings.Fields(os.Getenv(served))
	if len(words) == 0 {
		return false
	}
	err := fmt.Errorf("%s=%q", served, words)
	switch len(words) {
	case 2:
		ctx, cancel := context.WithCancel(context.Background())
		go func() { _, _ = io.Copy(io.Discard, os.Stdin); cancel() }()
		err = faultfs.Serve(ctx, faultfs.Options{Data: filepath.Join(words[1], "data"), Mount: filepath.Join(words[1], "disks"),
			Socket: filepath.Join(words[1], "socket")})
	case 5:
		err = serveLies(words)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "liars:", err)
		os.Exit(1)
	}
	return true
}

// serving starts this program again to serve a filesystem.
func serving(words string) (cmd *exec.Cmd, in io.Closer, out *bufio.Reader, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, nil, err
	}
	cmd = exec.Command(self)
	cmd.Env = append(os.Environ(), served+"="+words)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C ends it after its filesystem is unmounted
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, nil, err
	}
	result, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, nil, err
	}
	return cmd, pipe, bufio.NewReader(result), cmd.Start()
}

// serve starts the faultfs of the campaign.
func (d *disks) serve(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.client != nil {
		return nil
	}
	cmd, in, _, err := serving("faultfs " + d.dir)
	if err != nil {
		return err
	}
	d.end = append(d.end, func() error {
		in.Close()
		return cmd.Wait()
	})
	wait, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	d.socket = filepath.Join(d.dir, "socket")
	d.client, err = faultfs.DialWait(wait, d.socket)
	return err
}

// through probes a FUSE filesystem that lies about a share of its requests, chosen between two limits.
func (d *disks) through(kind string, least, most float64) func(context.Context, *trial) (answer, error) {
	return func(ctx context.Context, t *trial) (answer, error) {
		if err := d.shared(); err != nil {
			return 0, err
		}
		from, err := trialDirectory(d.plain, nil)
		if err != nil {
			return 0, err
		}
		defer os.RemoveAll(from)
		at, err := os.MkdirTemp(d.dir, "fuse")
		if err != nil {
			return 0, err
		}
		share := least + (most-least)*t.rand.Float64()
		cmd, in, out, err := serving(fmt.Sprintf("%s %g %d %s %s", kind, share, t.seed, from, at))
		if err != nil {
			return 0, err
		}
		if line, err := out.ReadString('\n'); line != "mounted\n" {
			in.Close()
			return 0, fmt.Errorf("%q, %w, %w", line, err, cmd.Wait())
		}
		device, err := output("findmnt", "-n", "-o", "SOURCE", d.plain)
		if err != nil {
			return 0, err
		}
		p, failed := probeDisk(ctx, t, at, func(s *record.ProbeSpec) {
			s.Devices = []string{filepath.Base(device)}
			if !slices.Contains([]string{fsPasses, fsSwallow, fsLate}, kind) {
				s.Profiles, s.Operations, s.Ramp = []string{spec.ProbeRandom}, []string{disk.Mixed}, []int{1 + t.rand.IntN(2)}
				s.Block, s.Sync, s.Duration = 16<<10, disk.SyncNone, int64(300*time.Millisecond)
			}
		}, nil)
		in.Close()
		told, err := out.ReadString('\n')
		if waited := cmd.Wait(); err != nil || waited != nil {
			return 0, fmt.Errorf("the filesystem of the trial: %w, %w", err, waited)
		}
		t.say("%s of %.2f: %s", kind, share, told)
		if kind != fsPasses && told == "0\n" {
			return notPlanted, nil
		}
		return judged(p, failed)
	}
}

// liar decides which requests are lied about.
type liar struct {
	kind  string
	share float64
	mu    sync.Mutex
	rand  *rand.Rand
	told  atomic.Int64
}

// lies reports whether to lie about a request that one of the kinds concerns.
func (l *liar) lies(kinds ...string) bool {
	if !slices.Contains(kinds, l.kind) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rand.Float64() >= l.share {
		return false
	}
	l.told.Add(1)
	return true
}

// below returns a random number below n.
func (l *liar) below(n int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rand.IntN(n)
}

// lyingNode is a file or directory of a directory below.
type lyingNode struct {
	fs.LoopbackNode
	l *liar
}

var (
	_ fs.NodeWrapChilder = (*lyingNode)(nil)
	_ fs.NodeOpener      = (*lyingNode)(nil)
	_ fs.NodeCreater     = (*lyingNode)(nil)
	_ fs.FileWriter      = (*lyingFile)(nil)
	_ fs.FileFsyncer     = (*lyingFile)(nil)
)

func (n *lyingNode) WrapChild(context.Context, fs.InodeEmbedder) fs.InodeEmbedder {
	return &lyingNode{fs.LoopbackNode{RootData: n.RootData}, n.l}
}

func (n *lyingNode) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	h, _, errno := n.LoopbackNode.Open(ctx, flags&^unix.O_DIRECT)
	return n.wrap(h), fuse.FOPEN_DIRECT_IO, errno
}

func (n *lyingNode) Create(ctx context.Context, name string, flags, mode uint32,
	out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	node, h, _, errno := n.LoopbackNode.Create(ctx, name, flags&^unix.O_DIRECT, mode, out)
	return node, n.wrap(h), fuse.FOPEN_DIRECT_IO, errno
}

func (n *lyingNode) wrap(h fs.FileHandle) fs.FileHandle {
	if f, ok := h.(file); ok {
		return &lyingFile{f, n.l}
	}
	return h
}

// Fsync passes a sync on to the file.
func (n *lyingNode) Fsync(ctx context.Context, h fs.FileHandle, flags uint32) syscall.Errno {
	if f, ok := h.(fs.FileFsyncer); ok {
		return f.Fsync(ctx, flags)
	}
	return 0
}

// file is what a file below can do.
type file interface {
	fs.FileReader
	fs.FileWriter
	fs.FileFsyncer
	fs.FileFlusher
	fs.FileReleaser
	fs.FileAllocater
	fs.FileGetattrer
	fs.FileSetattrer
}

type lyingFile struct {
	file
	l *liar
}

func (f *lyingFile) Write(ctx context.Context, data []byte, off int64) (uint32, syscall.Errno) {
	if !f.l.lies(fsStale, fsTorn, fsMisplaced, fsFlipped) {
		return f.file.Write(ctx, data, off)
	}
	n := uint32(len(data))
	switch f.l.kind {
	case fsStale:
		return n, 0
	case fsTorn:
		if sectors := len(data) / 512; sectors > 1 {
			_, errno := f.file.Write(ctx, data[:512*(1+f.l.below(sectors-1))], off)
			return n, errno
		}
		return n, 0
	case fsMisplaced:
		_, errno := f.file.Write(ctx, data, off+4096)
		return n, errno
	}
	changed := slices.Clone(data)
	changed[f.l.below(len(changed))] ^= 1 << f.l.below(8)
	return f.file.Write(ctx, changed, off)
}

func (f *lyingFile) Fsync(ctx context.Context, flags uint32) syscall.Errno {
	if !f.l.lies(fsSwallow, fsLate) {
		return f.file.Fsync(ctx, flags)
	}
	if f.l.kind == fsLate {
		go f.file.Fsync(context.WithoutCancel(ctx), flags)
	}
	return 0
}

// serveLies serves a directory until standard input ends, and prints how many lies were told.
func serveLies(words []string) error {
	share, err := strconv.ParseFloat(words[1], 64)
	if err != nil {
		return err
	}
	seed, err := strconv.ParseUint(words[2], 10, 64)
	if err != nil {
		return err
	}
	l := &liar{kind: words[0], share: share, rand: rand.New(rand.NewPCG(seed, 1))}
	root := &fs.LoopbackRoot{Path: words[3]}
	top := &lyingNode{fs.LoopbackNode{RootData: root}, l}
	root.RootNode = top
	server, err := fs.Mount(words[4], top, &fs.Options{MountOptions: fuse.MountOptions{DirectMountStrict: true,
		FsName: "plimsoll-liars", Name: "plimsoll-liars"}})
	if err != nil {
		return err
	}
	fmt.Println("mounted")
	_, _ = io.Copy(io.Discard, os.Stdin)
	err = server.Unmount()
	fmt.Println(l.told.Load())
	return err
}

// output runs a program and returns what it prints.
func output(name string, args ...string) (string, error) {
	if name == "mkfs.btrfs" {
		all := mountinfo.WithoutMounts(append([]string{name}, args...))
		name, args = all[0], all[1:]
	}
	out, err := exec.Command(name, args...).CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, text)
	}
	return text, nil
}

// unmount unmounts everything at and below a directory, and releases the loop devices and the zram devices of these
// filesystems and of files there.
func unmount(dir string) {
	mounts, err := mountinfo.Self()
	if err != nil {
		return
	}
	var devices []string
	for _, m := range slices.Backward(mounts) {
		if m.Point == dir || strings.HasPrefix(m.Point, dir+"/") {
			_ = unix.Unmount(m.Point, unix.MNT_DETACH) // what is still there is removed by the next campaign
			devices = append(devices, filepath.Base(m.Source))
		}
	}
	loops, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, name := range loops {
		device := filepath.Base(filepath.Dir(filepath.Dir(name)))
		backing, err := os.ReadFile(name)
		if err == nil && (slices.Contains(devices, device) || strings.HasPrefix(string(backing), dir+"/")) {
			_, _ = output("losetup", "--detach", "/dev/"+device)
			_ = os.Remove(strings.TrimSpace(string(backing)))
		}
	}
	for _, device := range devices {
		if strings.HasPrefix(device, "zram") {
			removeZram(device)
		}
	}
}

// removeZram removes a device in memory, once it is not used any more.
func removeZram(device string) {
	_ = os.WriteFile("/sys/block/"+device+"/reset", []byte("1"), 0o200) // fails if it is gone already
	_ = os.WriteFile("/sys/class/zram-control/hot_remove", []byte(strings.TrimPrefix(device, "zram")), 0o200)
}

// abandoned removes the directory of a campaign that was killed.
func abandoned(dir string) {
	unmount(dir)
	_ = os.RemoveAll(dir)
}
