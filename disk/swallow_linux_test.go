package disk

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/plimsoll-bench/plimsoll/disk/disktest"
	"github.com/plimsoll-bench/plimsoll/disk/files"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// These make this program a FUSE filesystem above a directory, in a process of its own, as it must be: the directory,
// the place of the mount, and whether syncs are swallowed.
const (
	swallowFrom = "PLIMSOLL_DISK_TEST_FROM"
	swallowAt   = "PLIMSOLL_DISK_TEST_AT"
	swallowLie  = "PLIMSOLL_DISK_TEST_LIE"
)

func TestMain(m *testing.M) {
	if os.Getenv(swallowFrom) == "" {
		disktest.Alone()
		os.Exit(m.Run())
	}
	if err := serveSwallowing(os.Getenv(swallowFrom), os.Getenv(swallowAt), os.Getenv(swallowLie) != ""); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// swallowing is a file or directory that is what lies below, but for syncs.
type swallowing struct {
	fs.LoopbackNode
	lie bool
}

var (
	_ fs.NodeFsyncer     = (*swallowing)(nil)
	_ fs.NodeWrapChilder = (*swallowing)(nil)
)

// WrapChild makes what lies below like its directory.
func (s *swallowing) WrapChild(context.Context, fs.InodeEmbedder) fs.InodeEmbedder {
	return &swallowing{fs.LoopbackNode{RootData: s.RootData}, s.lie}
}

// Fsync says that everything is durable.
func (s *swallowing) Fsync(ctx context.Context, f fs.FileHandle, flags uint32) syscall.Errno {
	if below, ok := f.(fs.FileFsyncer); ok && !s.lie {
		return below.Fsync(ctx, flags)
	}
	return 0
}

// serveSwallowing serves until standard input ends.
func serveSwallowing(from, at string, lie bool) error {
	root := &fs.LoopbackRoot{Path: from}
	top := &swallowing{fs.LoopbackNode{RootData: root}, lie}
	root.RootNode = top
	server, err := fs.Mount(at, top, &fs.Options{MountOptions: fuse.MountOptions{DirectMountStrict: true,
		FsName: "plimsoll-test", Name: "plimsoll-test"}})
	if err != nil {
		return err
	}
	fmt.Println("mounted")
	_, _ = os.Stdin.Read(make([]byte, 1)) // ends with the test
	return server.Unmount()
}

// mountSwallowing mounts such a filesystem above a directory.
func mountSwallowing(t *testing.T, from string, lie bool) (at string) {
	t.Helper()
	at = filepath.Join(t.TempDir(), "fuse")
	if err := os.Mkdir(at, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), swallowFrom+"="+from, swallowAt+"="+at)
	if lie {
		cmd.Env = append(cmd.Env, swallowLie+"=1")
	}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the filesystem of the test: %v", err)
		}
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "mounted\n" {
		t.Fatalf("%q, %v", line, err)
	}
	return at
}

// A filesystem between the probe and real ones that acknowledges syncs and does not pass them on is caught by the
// flushes of the device; the same one that passes them on is honest.
func TestSwallowingFilesystemIsLying(t *testing.T) {
	if !disktest.Able(t) {
		return
	}
	t.Parallel()
	for _, kind := range []string{"ext4", "xfs", "btrfs"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			v := disktest.Make(t, kind, 400, "")
			for _, lie := range []bool{true, false} {
				s := small(mountSwallowing(t, v.Dir, lie), spec.ProbeJournal)
				s.Clients, s.Mode, s.Devices = []int{1}, files.Buffered, []string{v.Device}
				p, err := probeOf(t, s, func(o *Options) { o.Progress = quiet{settled(t, v)} })
				if err != nil {
					t.Fatal(err)
				}
				a := gradeOf(p, "A")
				if lie && (a.Verdict != record.Lying || a.Device != v.Device) || !lie && !keptPromise(a) ||
					p.Verdict != a.Verdict || a.Syncs < 3 {
					t.Errorf("lie %v: %+v, overall %s", lie, a, p.Verdict)
				}
			}
		})
	}
}

// settled lets a volume write what it has from before, once, so that no flush of that is counted.
func settled(t *testing.T, v *disktest.Volume) func(string) {
	done := false
	return func(string) {
		if done {
			return
		}
		done = true
		if out, err := exec.Command("sync", "-f", v.Dir).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
