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

	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// A new mount namespace has a copy of every mount of the old one, so every container, sandbox and service with mounts
// of its own that begins while a volume is mounted also mounts that volume. Where mounts are shared with them the copies
// go when the volume is unmounted; on a machine where mounts are private they stay until that program ends, and keep
// the filesystem and its loop devices alive. Nobody else has a use for a volume of a lab, so its owner unmounts the
// copies too.

// copied are the devices whose mounts are looked for: the names and numbers of loop devices of one filesystem and of
// the arrays made of them.
type copied struct {
	names, numbers []string
}

// copiedOf finds what belongs to the filesystem on a device. A mount of btrfs names only one of its devices.
func copiedOf(device string) copied {
	var c copied
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

func (c *copied) add(device string) {
	c.names = append(c.names, device)
	var st syscall.Stat_t
	if syscall.Stat(device, &st) == nil && st.Rdev != 0 {
		c.numbers = append(c.numbers, fmt.Sprintf("%d:%d", unix.Major(st.Rdev), unix.Minor(st.Rdev)))
	}
}

// in lists the mount points of the filesystem in a text of mountinfo, in the order of mounting.
func (c copied) in(mountinfo string) []string {
	var points []string
	for line := range strings.Lines(mountinfo) {
		number := ""
		if f := strings.Fields(line); len(f) > 2 {
			number = f[2]
		}
		for _, m := range parseMounts(line) {
			if slices.Contains(c.names, m.source) || slices.Contains(c.numbers, number) {
				points = append(points, m.point)
			}
		}
	}
	return points
}

// forgetCopies unmounts the copies of a filesystem in all other mount namespaces, if it is not mounted in that of this
// program. A copy that is in use there stays. It returns what keeps the filesystem alive, in words.
func forgetCopies(device string) []string {
	c := copiedOf(device)
	own, err := os.Readlink("/proc/thread-self/ns/mnt")
	if err != nil {
		return nil
	}
	text, err := os.ReadFile("/proc/thread-self/mountinfo")
	if err != nil {
		return nil
	}
	var held []string
	for _, point := range c.in(string(text)) {
		held = append(held, "it is mounted at "+point)
	}
	if len(held) > 0 {
		return append(held, openers(c.names)...)
	}
	for space, task := range mountSpaces() {
		if space == own {
			continue
		}
		process.OnThread(func() {
			for _, point := range forgetIn(task, space, c) {
				held = append(held, fmt.Sprintf("%s has it mounted at %s", whoIs(task), point))
			}
		})
	}
	return append(held, openers(c.names)...)
}

// mountSpaces lists the mount namespaces of all processes, each with a task in it: a directory of /proc. Threads may
// have others than their process.
func mountSpaces() map[string]string {
	tasks, _ := filepath.Glob("/proc/[0-9]*/task/[0-9]*")
	spaces := map[string]string{}
	for _, t := range tasks {
		if space, err := os.Readlink(filepath.Join(t, "ns/mnt")); err == nil {
			spaces[space] = t
		}
	}
	return spaces
}

// forgetIn unmounts the copies in one namespace and returns those that stay. It must run on a thread of its own, which
// is in that namespace from then on.
func forgetIn(task, space string, c copied) []string {
	f, err := os.Open(filepath.Join(task, "ns/mnt"))
	if err != nil {
		return nil // it has ended
	}
	defer f.Close()
	if now, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(f.Fd()))); err != nil || now != space {
		return nil // another process has the number by now
	}
	// A thread can only change its namespace if it shares its working directory with no other.
	if unix.Unshare(unix.CLONE_FS) != nil || unix.Setns(int(f.Fd()), unix.CLONE_NEWNS) != nil {
		return nil
	}
	text, err := mountsHere(task)
	if err != nil {
		return nil
	}
	var busy []string
	for _, point := range slices.Backward(c.in(text)) {
		if err := unix.Unmount(point, unix.UMOUNT_NOFOLLOW); err != nil && !errors.Is(err, unix.EINVAL) {
			busy = append(busy, point)
		}
	}
	return busy
}

// mountsHere reads the mounts of the calling thread. In a namespace without /proc it reads those that a task in it sees.
func mountsHere(task string) (string, error) {
	text, err := os.ReadFile("/proc/thread-self/mountinfo")
	if err != nil {
		text, err = os.ReadFile(filepath.Join(task, "mountinfo"))
	}
	return string(text), err
}

// openers names the processes that have one of the devices open.
func openers(devices []string) []string {
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	var found []string
	for _, l := range links {
		to, err := os.Readlink(l)
		if err == nil && slices.Contains(devices, to) {
			found = append(found, fmt.Sprintf("%s has %s open", whoIs(filepath.Dir(filepath.Dir(l))), to))
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// whoIs names a process by its directory in /proc, or that of one of its tasks.
func whoIs(dir string) string {
	pid := strings.Split(strings.TrimPrefix(dir, "/proc/"), "/")[0]
	return fmt.Sprintf("process %s (%s)", pid, strings.TrimSpace(content(filepath.Join("/proc", pid, "comm"))))
}

// holders says in one text what keeps a device in use.
func holders(held []string) string {
	const most = 5
	if len(held) == 0 {
		return "nothing that can be seen has it mounted or open"
	}
	if n := len(held) - most; n > 0 {
		held = append(held[:most:most], fmt.Sprintf("and %d more", n))
	}
	return strings.Join(held, ", ")
}
