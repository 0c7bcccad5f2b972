package process

import (
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// unmountDisks unmounts virtual disks in the mount namespace of the calling thread, except those in root. A new mount
// namespace has a copy of every mount, and a copy keeps a loop device in use as long as the program runs. On machines
// with shared mounts the copies are unmounted with the originals, but many machines have private mounts.
func unmountDisks(root string) {
	text, err := os.ReadFile("/proc/thread-self/mountinfo")
	if err != nil {
		return // the program works without it
	}
	for _, point := range slices.Backward(virtualDisks(string(text), root)) {
		_ = unix.Unmount(point, unix.UMOUNT_NOFOLLOW) // one that stays keeps its device in use longer
	}
}

// virtualDisks are the mount points of FUSE filesystems and of filesystems on loop devices and arrays, which are
// neither in root nor above it, in the order of mounting.
func virtualDisks(mountinfo, root string) []string {
	var points []string
	for line := range strings.Lines(mountinfo) {
		left, right, ok := strings.Cut(line, " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if !ok || len(l) < 5 || len(r) < 2 {
			continue
		}
		point, kind, source := unescapeMount(l[4]), r[0], r[1]
		virtual := strings.HasPrefix(kind, "fuse") ||
			slices.ContainsFunc([]string{"/dev/loop", "/dev/md", "/dev/mapper/", "/dev/dm-"},
				func(p string) bool { return strings.HasPrefix(source, p) })
		if virtual && !within(point, root) && !within(root, point) {
			points = append(points, point)
		}
	}
	return points
}

// within says whether a path is the directory or below it.
func within(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}
