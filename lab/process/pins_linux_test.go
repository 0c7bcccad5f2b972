package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/plimsoll-bench/plimsoll/internal/mountinfo"
	"github.com/plimsoll-bench/plimsoll/internal/notrun"
	"golang.org/x/sys/unix"
)

func TestVirtualDisks(t *testing.T) {
	const info = `22 1 8:1 / / rw - ext4 /dev/sda1 rw
30 22 7:0 / /lab/volumes/a\040b rw shared:3 - btrfs /dev/loop0 rw
31 22 0:40 / /lab/disks rw - fuse.plimsoll plimsoll rw
32 22 0:41 / /run rw - tmpfs tmpfs rw
33 22 7:1 / /engines rw - ext4 /dev/loop1 rw
34 22 7:2 / /engines/documentdb/root/data rw - xfs /dev/loop2 rw
35 22 9:0 / /srv rw - xfs /dev/md127 rw
`
	want := []string{"/lab/volumes/a b", "/lab/disks", "/srv"}
	if diff := cmp.Diff(want, virtualDisks(mountinfo.Parse(info), "/engines/documentdb/root")); diff != "" {
		t.Error(diff)
	}
	if got := virtualDisks(mountinfo.Parse(info), "/"); got != nil {
		t.Errorf("everything is in the root directory, but %v are not", got)
	}
}

// A program in a sandbox does not keep a loop device that others unmount. Only root can mount.
func TestSandboxForgetsDisks(t *testing.T) {
	if os.Geteuid() != 0 {
		notrun.Here(t, "only root can mount")
		return
	}
	dir := t.TempDir()
	disk, at := filepath.Join(dir, "disk"), filepath.Join(dir, "at")
	if err := os.Mkdir(at, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"truncate", "-s", "32M", disk}, {"mkfs.ext4", "-q", disk}, {"mount", "-o", "loop", disk, at}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	t.Cleanup(func() {
		if err := unix.Unmount(at, 0); err != nil {
			t.Error(err)
		}
	})
	var before, after []byte
	OnThread(func() {
		if err := enterSandbox(&Sandbox{}); err != nil {
			t.Error(err)
		}
		before, _ = os.ReadFile("/proc/thread-self/mountinfo")
		unmountDisks(filepath.Join(dir, "elsewhere"))
		after, _ = os.ReadFile("/proc/thread-self/mountinfo")
	})
	outside, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(before), at) || strings.Contains(string(after), at) ||
		!strings.Contains(string(outside), at) {
		t.Errorf("mounted inside at first: %v, then: %v, outside: %v; want true, false, true", strings.Contains(string(before), at),
			strings.Contains(string(after), at), strings.Contains(string(outside), at))
	}
}
