package volume

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/plimsoll-bench/plimsoll/internal/mountinfo"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// A new mount namespace has a copy of every mount of the old one. So every container, sandbox and service with a mount
// namespace that starts while a volume is mounted also mounts that volume. With shared mounts, the copies are unmounted
// with the volume. With private mounts, they stay until the program ends, and keep the filesystem and its loop devices
// in use. No other program needs a volume of a lab, so the lab unmounts the copies too.

// deviceSet has the names and numbers of the loop devices of one filesystem, and of the arrays of them.
type deviceSet struct {
	names, numbers []string
}

// devicesOf finds all devices of the filesystem on a device. A mount of btrfs names only one of its devices.
func devicesOf(device string) deviceSet {
	var c deviceSet
	c.add(device)
	loops, _ := filepath.Glob("/sys/fs/btrfs/*/devices/" + filepath.Base(device))
	for _, l := range loops {
		siblings, _ := os.ReadDir(filepath.Dir(l))
		for _, s := range siblings {
			c.add("/dev/" + s.Name())
		}
	}
	holders, _ := filepath.Glob("/sys/block/" + filepath.Base(device) + "/holders/*")
	for _, h := range holders {
		c.add("/dev/" + filepath.Base(h))
	}
	return c
}

func (c *deviceSet) add(device string) {
	c.names = append(c.names, device)
	var st syscall.Stat_t
	if syscall.Stat(device, &st) == nil && st.Rdev != 0 {
		c.numbers = append(c.numbers, fmt.Sprintf("%d:%d", unix.Major(st.Rdev), unix.Minor(st.Rdev)))
	}
}

// mountPoints lists the mount points of the filesystem, in the order of mounting.
func (c deviceSet) mountPoints(mounts []mountinfo.Mount) []string {
	var points []string
	for _, m := range mounts {
		if slices.Contains(c.names, m.Source) || slices.Contains(c.numbers, m.Number) {
			points = append(points, m.Point)
		}
	}
	return points
}

// unmountCopies unmounts the copies of a filesystem in all other mount namespaces, if it is not mounted in that of this
// process. A copy that is in use stays. It returns texts about the users of the filesystem.
func unmountCopies(device string) []string {
	c := devicesOf(device)
	own, err := os.Readlink("/proc/thread-self/ns/mnt")
	if err != nil {
		return nil
	}
	mounts, err := mountinfo.Read("/proc/thread-self/mountinfo")
	if err != nil {
		return nil
	}
	var held []string
	for _, point := range c.mountPoints(mounts) {
		held = append(held, "it is mounted at "+point)
	}
	if len(held) > 0 {
		return append(held, openers(c.names)...)
	}
	for space, task := range mountNamespaces() {
		if space == own {
			continue
		}
		process.OnThread(func() {
			for _, point := range unmountIn(task, space, c) {
				held = append(held, fmt.Sprintf("%s has it mounted at %s", processName(task), point))
			}
		})
	}
	return append(held, openers(c.names)...)
}

// mountNamespaces lists the mount namespaces of all threads, each with a thread in it: a directory of /proc. A thread
// may have another namespace than its process.
func mountNamespaces() map[string]string {
	tasks, _ := filepath.Glob("/proc/[0-9]*/task/[0-9]*")
	spaces := map[string]string{}
	for _, t := range tasks {
		if space, err := os.Readlink(filepath.Join(t, "ns/mnt")); err == nil {
			spaces[space] = t
		}
	}
	return spaces
}

// unmountIn unmounts the copies in one namespace and returns those that are in use. It must run on a thread of its own,
// which stays in that namespace.
func unmountIn(task, space string, c deviceSet) []string {
	f, err := os.Open(filepath.Join(task, "ns/mnt"))
	if err != nil {
		return nil // it has ended
	}
	defer f.Close()
	if now, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(f.Fd()))); err != nil || now != space {
		return nil // another thread has the id by now
	}
	// A thread can change its mount namespace only if it shares its working directory with no other thread.
	if unix.Unshare(unix.CLONE_FS) != nil || unix.Setns(int(f.Fd()), unix.CLONE_NEWNS) != nil {
		return nil
	}
	mounts, err := mountinfo.Read("/proc/thread-self/mountinfo")
	if err != nil { // the namespace has no /proc
		mounts, _ = mountinfo.Read(filepath.Join(task, "mountinfo"))
	}
	var busy []string
	for _, point := range slices.Backward(c.mountPoints(mounts)) {
		if err := unix.Unmount(point, unix.UMOUNT_NOFOLLOW); err != nil && !errors.Is(err, unix.EINVAL) {
			busy = append(busy, point)
		}
	}
	return busy
}

// openers are texts about the processes that have one of the devices open.
func openers(devices []string) []string {
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	var found []string
	for _, l := range links {
		to, err := os.Readlink(l)
		if err == nil && slices.Contains(devices, to) {
			found = append(found, fmt.Sprintf("%s has %s open", processName(filepath.Dir(filepath.Dir(l))), to))
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// processName is the id and name of a process, by its directory in /proc or that of one of its threads.
func processName(dir string) string {
	pid := strings.Split(strings.TrimPrefix(dir, "/proc/"), "/")[0]
	return fmt.Sprintf("process %s (%s)", pid, strings.TrimSpace(content(filepath.Join("/proc", pid, "comm"))))
}

// usersText is a text about the users of a device.
func usersText(held []string) string {
	const most = 5
	if len(held) == 0 {
		return "no visible process has it mounted or open"
	}
	if n := len(held) - most; n > 0 {
		held = append(held[:most:most], fmt.Sprintf("and %d more", n))
	}
	return strings.Join(held, ", ")
}
