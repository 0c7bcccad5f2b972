package process

import (
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/mountinfo"
	"golang.org/x/sys/unix"
)

// unmountDisks unmounts virtual disks in the mount namespace of the calling thread, except those in root. A new mount
// namespace has a copy of every mount, and a copy keeps a loop device in use as long as the program runs. On machines
// with shared mounts the copies are unmounted with the originals, but many machines have private mounts.
func unmountDisks(root string) {
	mounts, _ := mountinfo.Read("/proc/thread-self/mountinfo") // the program works without it
	for _, point := range slices.Backward(virtualDisks(mounts, root)) {
		_ = unix.Unmount(point, unix.UMOUNT_NOFOLLOW) // one that stays keeps its device in use longer
	}
}

// virtualDisks are the mount points of FUSE filesystems and of filesystems on loop devices and arrays, which are
// neither in root nor above it, in the order of mounting.
func virtualDisks(mounts []mountinfo.Mount, root string) []string {
	var points []string
	for _, m := range mounts {
		virtual := strings.HasPrefix(m.Type, "fuse") ||
			slices.ContainsFunc([]string{"/dev/loop", "/dev/md", "/dev/mapper/", "/dev/dm-"},
				func(p string) bool { return strings.HasPrefix(m.Source, p) })
		if virtual && !within(m.Point, root) && !within(root, m.Point) {
			points = append(points, m.Point)
		}
	}
	return points
}

// within says whether a path is the directory or below it.
func within(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}
