package process

import (
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// forgetDisks unmounts virtual disks in the mounts of the calling thread alone, as far as they are not part of root. A
// new mount namespace has a copy of every mount, and a copy keeps a loop device in use that others want to detach, for
// as long as the program runs. Where mounts are shared the copies go with the originals; many machines share none.
func forgetDisks(root string) {
	text, err := os.ReadFile("/proc/thread-self/mountinfo")
	if err != nil {
		return // the program runs all the same
	}
	for _, point := range slices.Backward(virtualDisks(string(text), root)) {
		_ = unix.Unmount(point, unix.UMOUNT_NOFOLLOW) // one that stays only keeps its device longer
	}
}

// virtualDisks are the mount points of filesystems on loop devices and what is built of them, and of those that a
// program serves, which are neither in root nor above it, in the order of mounting.
func virtualDisks(mountinfo, root string) []string {
	var points []string
	for line := range strings.Lines(mountinfo) {
		left, right, ok := strings.Cut(line, " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if !ok || len(l) < 5 || len(r) < 2 {
			continue
		}
		point, kind, source := unescapeMount(l[4]), r[0], r[1]
		virtual := strings.HasPrefix(kind, "fuse") || slices.ContainsFunc([]string{"/dev/loop", "/dev/md", "/dev/mapper/", "/dev/dm-"},
			func(p string) bool { return strings.HasPrefix(source, p) })
		if virtual && !within(point, root) && !within(root, point) {
			points = append(points, point)
		}
	}
	return points
}

// within says whether a path is a directory or below it.
func within(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}
