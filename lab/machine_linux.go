package lab

import (
	"os"

	"golang.org/x/sys/unix"
)

func machineMemory() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return int64(uint64(info.Totalram) * uint64(info.Unit))
}

// topDir is FS_TOPDIR_FL of linux/fs.h.
const topDir = 0x20000

// spread asks ext4 to place each directory in dir in a part of the disk of its own, as chattr +T does. An ext4 without
// a journal, as on many virtual machines for tests, does not use the place of a file for some minutes after it was
// deleted. Where labs came and went, it took longer to find places for the files of the next one than to copy them.
func spread(dir string) {
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	defer d.Close()
	// Other filesystems refuse, which does not matter.
	if flags, err := unix.IoctlGetInt(int(d.Fd()), unix.FS_IOC_GETFLAGS); err == nil && flags&topDir == 0 {
		_ = unix.IoctlSetPointerInt(int(d.Fd()), unix.FS_IOC_SETFLAGS, flags|topDir)
	}
}
