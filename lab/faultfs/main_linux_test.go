package faultfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/disk/disktest"
	"github.com/plimsoll-bench/plimsoll/internal/notrun"
	"golang.org/x/sys/unix"
)

// serveVariable makes the test program a faultfs: a FUSE server must not share a process with those who use it.
const serveVariable = "PLIMSOLL_TEST_FAULTFS"

func TestMain(m *testing.M) {
	if where, ok := os.LookupEnv(serveVariable); ok {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		w := strings.Split(where, "\n")
		err := Serve(ctx, Options{Data: w[0], Mount: w[1], Socket: w[2], Log: log.New(os.Stderr, "", 0),
			Restart: func() error { return syscall.Exec("/proc/self/exe", os.Args, os.Environ()) }})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	disktest.Alone()
	os.Exit(m.Run())
}

// patience is for how long a test waits for what must happen.
const patience = 10 * time.Minute

// daemon is a faultfs in a process of its own.
type daemon struct {
	t      testing.TB
	dir    string
	cmd    *exec.Cmd
	stderr bytes.Buffer
	ended  chan struct{}
	*Client
	loops []*loop
}

// needRoot says whether this machine lets tests mount; it must in CI.
func needRoot(t testing.TB) bool {
	t.Helper()
	if os.Getuid() == 0 {
		if _, err := os.Stat("/dev/fuse"); err == nil {
			return true
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatal("CI must be root and have /dev/fuse")
	}
	notrun.Here(t, "it needs root and /dev/fuse")
	return false
}

// start starts a faultfs in a directory of the test.
func start(t testing.TB) *daemon {
	t.Helper()
	dir, err := os.MkdirTemp("", "plimsoll-faultfs-")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	return startIn(t, dir)
}

func startIn(t testing.TB, dir string) *daemon {
	t.Helper()
	d := &daemon{t: t, dir: dir, ended: make(chan struct{})}
	d.cmd = serveCommand(d.path("data"), d.path("mnt"), d.path("s"))
	d.cmd.Stderr = &d.stderr
	must(t, d.cmd.Start())
	go func() {
		_ = d.cmd.Wait()
		close(d.ended)
	}()
	t.Cleanup(d.stop)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	go func() { // no need to wait for the socket of a program that ended
		select {
		case <-d.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	var err error
	if d.Client, err = DialWait(ctx, d.path("s")); err != nil {
		<-d.ended
		t.Fatalf("%v: %s", err, &d.stderr)
	}
	return d
}

func serveCommand(data, mount, socket string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serveVariable+"="+data+"\n"+mount+"\n"+socket)
	return cmd
}

func (d *daemon) path(name string) string { return filepath.Join(d.dir, name) }
func (d *daemon) file(name string) string { return filepath.Join(d.dir, "mnt", name) }

// stop takes everything down that is above the faultfs, and then itself.
func (d *daemon) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_ = d.Client.Clear(ctx, "") // it may be dead
	for _, l := range d.loops {
		l.detach(d.t)
	}
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-d.ended:
	case <-ctx.Done():
		d.t.Error("the faultfs does not end")
		_ = d.cmd.Process.Kill()
		<-d.ended
	}
	if err := Remove(ctx, d.path("mnt")); err != nil {
		d.t.Error(err)
	}
	if strings.Contains(d.stderr.String(), "panic") || strings.Contains(d.stderr.String(), "DATA RACE") || d.t.Failed() {
		d.t.Errorf("the faultfs said: %s", &d.stderr)
	}
}

func (d *daemon) kill() {
	must(d.t, d.cmd.Process.Kill())
	<-d.ended
}

// put writes to the beginning of a disk, whose size stays.
func (d *daemon) put(name, text string) {
	d.t.Helper()
	f, err := os.OpenFile(d.file(name), os.O_WRONLY, 0)
	must(d.t, err)
	_, err = f.WriteString(text)
	must(d.t, errors.Join(err, f.Close()))
}

// disk makes a disk without a model.
func (d *daemon) disk(name string, size int64) string {
	d.t.Helper()
	must(d.t, d.Create(d.t.Context(), name, size, Device{}, nil))
	return d.file(name)
}

func (d *daemon) stats(name string) Stats {
	d.t.Helper()
	s, err := d.Stats(d.t.Context(), name)
	must(d.t, err)
	return s
}

func (d *daemon) set(name string, f Fault) {
	d.t.Helper()
	must(d.t, d.Set(d.t.Context(), name, f))
}

func (d *daemon) clear(name string, kinds ...string) {
	d.t.Helper()
	must(d.t, d.Clear(d.t.Context(), name, kinds...))
}

// loop is a loop device above a disk, and perhaps a filesystem on it.
type loop struct {
	device, mount string
	mounted       bool
}

// attaching keeps two tests of this process from being given the same free device.
var attaching sync.Mutex

func (d *daemon) attach(name string) *loop {
	d.t.Helper()
	attaching.Lock()
	defer attaching.Unlock()
	l := &loop{mount: d.path("fs-" + name)}
	l.device = strings.TrimSpace(command(d.t, "losetup", "--find", "--show", "--direct-io=on", d.file(name)))
	d.loops = append(d.loops, l)
	return l
}

func (l *loop) detach(t testing.TB) {
	if l.device == "" {
		return
	}
	if l.mounted {
		l.umount(t)
	}
	backing := func() string {
		text, _ := os.ReadFile("/sys/block/" + filepath.Base(l.device) + "/loop/backing_file")
		return string(text)
	}
	mine := backing()
	if mine == "" {
		return
	}
	if out, err := exec.Command("losetup", "-d", l.device).CombinedOutput(); err != nil && backing() == mine {
		t.Errorf("losetup -d %s: %v: %s", l.device, err, out)
	}
	for deadline := time.Now().Add(patience); backing() == mine; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("%s is still in use", l.device)
			return
		}
	}
	l.device = ""
}

func (l *loop) mkfs(t *testing.T, fs string, more ...string) {
	t.Helper()
	switch fs {
	case "ext4":
		command(t, "mkfs.ext4", append([]string{"-q", "-F", l.device}, more...)...)
	case "xfs":
		command(t, "mkfs.xfs", append([]string{"-q", "-f", l.device}, more...)...)
	default:
		command(t, "mkfs."+fs, append(more, "-q", "-f", l.device)...)
	}
}

func (l *loop) mountAs(t *testing.T, fs string) {
	t.Helper()
	must(t, os.MkdirAll(l.mount, 0o700))
	must(t, unix.Mount(l.device, l.mount, fs, 0, ""))
	l.mounted = true
}

func (l *loop) umount(t testing.TB) {
	t.Helper()
	eventually(t, "unmounted "+l.mount, func() bool {
		err := unix.Unmount(l.mount, 0)
		if err != nil && !errors.Is(err, unix.EBUSY) {
			t.Errorf("unmount %s: %v", l.mount, err)
			return true
		}
		return err == nil
	})
	l.mounted = false
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func command(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// eventually waits for something that must become true.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}
