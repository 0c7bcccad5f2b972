package lab

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// On ext4, each lab has a part of the disk of its own. Other filesystems refuse that, and labs are made there, too.
func TestSpread(t *testing.T) {
	for _, parent := range []string{t.TempDir(), "/dev/shm"} {
		dir, err := os.MkdirTemp(parent, "plimsoll-spread-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		var s unix.Statfs_t
		if err := unix.Statfs(dir, &s); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			spread(dir)
		}
		d, err := os.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		flags, err := unix.IoctlGetInt(int(d.Fd()), unix.FS_IOC_GETFLAGS)
		if s.Type == unix.EXT4_SUPER_MAGIC && (err != nil || flags&topDir == 0) {
			t.Errorf("%s on ext4 has the flags %#x, %v", dir, flags, err)
		}
	}
}
