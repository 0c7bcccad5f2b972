// Package disktest makes real filesystems on loop devices for tests, and removes them again.
package disktest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plimsoll-bench/plimsoll/internal/mountinfo"
	"github.com/plimsoll-bench/plimsoll/internal/notrun"
)

// Able reports whether this process may make filesystems. If not, it logs the reason.
func Able(t testing.TB) bool {
	t.Helper()
	if notrun.Left(t, "on filesystems on loop devices") {
		return false
	}
	if os.Getuid() != 0 {
		notrun.Here(t, "filesystems on loop devices need root")
		return false
	}
	return true
}

// Volume is a mounted filesystem.
type Volume struct {
	Dir    string   // where it is mounted
	Device string   // the first loop device: loop0
	Loops  []string // all of them, as /dev/loop0
	image  string
}

// Make makes a filesystem of a type on one or more files of some MiB, mounted with options ("" for none). It is removed
// when the test ends.
func Make(t testing.TB, fs string, mib int, options string, images ...string) *Volume {
	t.Helper()
	base := onDisk(t)
	v := &Volume{Dir: filepath.Join(base, "mnt")}
	if len(images) == 0 {
		images = []string{filepath.Join(base, "image")}
	}
	for _, image := range images {
		if _, err := os.Stat(image); err != nil {
			run(t, "truncate", "-s", fmt.Sprintf("%dM", mib), image)
		}
		loop := run(t, "losetup", "--find", "--show", "--direct-io=on", image)
		v.Loops = append(v.Loops, loop)
	}
	v.image, v.Device = images[0], filepath.Base(v.Loops[0])
	t.Cleanup(func() { v.remove(t) })
	switch fs {
	case "btrfs":
		format := mountinfo.WithoutMounts(append([]string{"mkfs.btrfs", "-q", "-f"}, v.Loops...))
		run(t, format[0], format[1:]...)
	case "xfs":
		run(t, "mkfs.xfs", "-q", "-f", v.Loops[0])
	default: // lazy initialization would write during a test
		run(t, "mkfs."+fs, "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", v.Loops[0])
	}
	if err := os.Mkdir(v.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	args := []string{"-t", fs}
	if options != "" {
		args = append(args, "-o", options)
	}
	run(t, "mount", append(args, v.Loops[0], v.Dir)...)
	return v
}

// onDisk returns a temporary directory that is not in memory, as that of a test may be.
func onDisk(t testing.TB) string {
	t.Helper()
	var st unix.Statfs_t
	if err := unix.Statfs(os.TempDir(), &st); err == nil && st.Type != unix.TMPFS_MAGIC {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp("/var/tmp", "plimsoll-disktest-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// Cached lets the loop devices use the page cache, like losetup without --direct-io=on.
func (v *Volume) Cached(t testing.TB) {
	t.Helper()
	for _, loop := range v.Loops {
		run(t, "losetup", "--direct-io=off", loop)
	}
}

// Disk returns the block device that holds the file of the volume, "" if the kernel does not show it.
func (v *Volume) Disk(t testing.TB) string {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(v.image, &st); err != nil {
		t.Fatal(err)
	}
	link, err := os.Readlink(fmt.Sprintf("/sys/dev/block/%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev)))
	if err != nil {
		return ""
	}
	return filepath.Base(link)
}

// remove removes filesystem and loop devices, also those that got another name after a power cut.
func (v *Volume) remove(t testing.TB) {
	if exec.Command("findmnt", "-n", v.Dir).Run() == nil {
		for range 600 { // another process may still use it, and the machine may be busy
			if exec.Command("umount", v.Dir).Run() == nil {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	all, _ := filepath.Glob("/sys/block/loop*/loop/backing_file") // the pattern is good
	for _, name := range all {
		backing, err := os.ReadFile(name)
		file, loop := strings.TrimSpace(string(backing)), "/dev/"+strings.Split(name, "/")[3]
		unreachable := file == "/"+filepath.Base(v.image) && slices.Contains(v.Loops, loop) // its filesystem was unmounted
		if err == nil && (strings.HasPrefix(file, filepath.Dir(v.image)+"/") || unreachable) {
			if out, err := exec.Command("losetup", "--detach", loop).CombinedOutput(); err != nil {
				t.Logf("losetup --detach %s: %v: %s", loop, err, out)
			}
		}
	}
}

func run(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
	return strings.TrimSpace(string(out))
}
