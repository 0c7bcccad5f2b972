package device

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/plimsoll-bench/plimsoll/internal/mountinfo"
	"github.com/plimsoll-bench/plimsoll/record"
)

// Storage returns the storage of a directory, down to what holds the data. Unknown facts are empty. given are names of
// devices that hold the data if the kernel does not show them; an unknown name is an error.
func (s System) Storage(dir string, given ...string) (record.ProbeStorage, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return record.ProbeStorage{}, fmt.Errorf("cannot read the storage of %s: %w", dir, err)
	}
	storage := record.ProbeStorage{
		Bytes: int64(st.Blocks) * st.Bsize, Free: int64(st.Bavail) * st.Bsize, Devices: []record.ProbeBlock{},
	}
	m, ok := s.MountOf(dir)
	if !ok {
		storage.Unseen = []string{"the mount of " + dir}
		return storage, nil
	}
	storage.Filesystem, storage.Source, storage.Mount = m.Type, m.Source, m.Point
	storage.Options = importantOptions(m.Options, m.Super)
	w := s.walk(m, given)
	for _, name := range given {
		if w.directory(name) == "" {
			return storage, fmt.Errorf("there is no block device %s: use a name of /sys/class/block, such as sda", name)
		}
		w.give(name)
	}
	storage.Below, storage.Memory, storage.Unseen = w.filesystems, w.memory, w.unseen
	storage.Devices = append(storage.Devices, w.list...)
	return storage, nil
}

// walk walks down from a mount.
func (s System) walk(m mountinfo.Mount, given []string) *walker {
	w := &walker{system: s, at: map[string]int{}, hidden: len(given) > 0}
	if s == Here() {
		w.loopFile = askLoop
	}
	w.filesystem(m, "", m.Point, 0)
	return w
}

// askLoop returns the file of a loop device. The kernel knows it even if its path leads elsewhere in the meantime. Only
// root may ask.
func askLoop(name string) (loopFile, bool) {
	f, err := os.Open(filepath.Join("/dev", name))
	if err != nil {
		return loopFile{}, false
	}
	defer f.Close()
	info, err := unix.IoctlLoopGetStatus64(int(f.Fd()))
	if err != nil {
		return loopFile{}, false
	}
	if info.Rdevice != 0 {
		return loopFile{device: number(info.Rdevice)}, true
	}
	return loopFile{filesystem: number(info.Device), inode: info.Inode}, true
}

// at reports whether a path leads to the file.
func (f loopFile) at(path string) bool {
	var st unix.Stat_t
	return unix.Stat(path, &st) == nil && number(st.Dev) == f.filesystem && st.Ino == f.inode
}

// number returns the form of a device number in mountinfo and /sys/dev/block.
func number(dev uint64) string { return fmt.Sprintf("%d:%d", unix.Major(dev), unix.Minor(dev)) }

// deviceAt returns the number of a block device at a path, "" for other files.
func deviceAt(path string) string {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFBLK {
		return ""
	}
	return number(st.Rdev)
}

// deviceOf returns the name of a block device by a path such as /dev/mapper/vg-data, "" for others.
func (s System) deviceOf(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || !strings.HasPrefix(real, "/dev/") {
		return ""
	}
	if _, err := os.Stat(filepath.Join(s.Sys, "class/block", filepath.Base(real))); err != nil {
		return ""
	}
	return filepath.Base(real)
}
