package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/plimsoll-bench/plimsoll/internal/mountinfo"
	"github.com/plimsoll-bench/plimsoll/internal/procid"
)

// launch executes a program. It must be called on a thread of its own, because a sandbox changes the thread's
// namespaces.
func launch(ctx context.Context, s Spec) (*exec.Cmd, error) {
	cmd := command(ctx, s)
	leave, err := enterPlace(s.Place, cmd.SysProcAttr)
	if err != nil {
		return nil, errors.Join(err, leave())
	}
	if s.Sandbox != nil {
		if err := enterSandbox(s.Sandbox); err != nil {
			return nil, errors.Join(err, leave())
		}
		cmd.Dir = "/"
		cmd.SysProcAttr.Chroot = s.Sandbox.Root
		cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWPID
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: s.Sandbox.UID, Gid: s.Sandbox.GID}
	}
	if s.Nobody {
		f, err := asNobody(cmd)
		if err != nil {
			return nil, errors.Join(err, leave())
		}
		defer f.Close()
	}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, leave())
	}
	err = leave()
	if err == nil {
		err = limitFiles(cmd.Process.Pid, s.OpenFiles)
	}
	if err != nil {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // it was killed
		return nil, err
	}
	return cmd, nil
}

// nobody is the user and the group without privileges.
const nobody = 65534

// asNobody makes a command run as the user nobody if this process is root. The program is executed through a
// descriptor, because nobody cannot enter the home of root. The file must be closed after the start.
func asNobody(cmd *exec.Cmd) (*os.File, error) {
	f, err := os.Open(cmd.Path)
	if err != nil || os.Geteuid() != 0 {
		return f, err
	}
	cmd.ExtraFiles = append(cmd.ExtraFiles, f)
	cmd.Path = fmt.Sprintf("/proc/self/fd/%d", 2+len(cmd.ExtraFiles))
	cmd.Dir = "/"
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody, Groups: []uint32{}}
	return f, nil
}

// limitFiles sets the soft limit of open files of a process that was just executed. It cannot be set before, because Go
// raises the limit of its own process and gives children the original one. A server reads its limit some milliseconds
// later, after it was linked and has read its arguments.
func limitFiles(pid int, wanted uint64) error {
	if wanted == 0 {
		return nil
	}
	var l unix.Rlimit
	err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &l)
	if l.Cur = min(wanted, l.Max); err == nil {
		err = unix.Prlimit(pid, unix.RLIMIT_NOFILE, &l, nil)
	}
	if err == nil || errors.Is(err, unix.ESRCH) { // it has ended
		return nil
	}
	return fmt.Errorf("cannot set its limit of open files: %w", err)
}

// OpenFiles is the soft limit of open files of a process; 0 if it is not known.
func OpenFiles(pid int) uint64 {
	var l unix.Rlimit
	if unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &l) != nil {
		return 0
	}
	return l.Cur
}

// enterPlace moves the calling thread to a place, which the child inherits. Only whole processes can enter a group of
// version 2, so the kernel creates the child in it. leave must be called after the start of the child, even after an
// error: the thread waits for the child, and must not be limited, stopped or counted with it.
func enterPlace(p Place, attr *syscall.SysProcAttr) (leave func() error, err error) {
	var back []func() error
	leave = func() error {
		var err error
		for _, undo := range slices.Backward(back) {
			err = errors.Join(err, undo())
		}
		return err
	}
	for _, dir := range p.Groups {
		undo, err := enterGroup(dir)
		if err != nil {
			return leave, fmt.Errorf("cannot enter the control group: %w", err)
		}
		back = append(back, undo)
	}
	if p.Network != "" {
		undo, err := enterNetwork(p.Network)
		if err != nil {
			return leave, fmt.Errorf("cannot enter the network namespace %s: %w", p.Network, err)
		}
		back = append(back, undo)
	}
	if p.Unified == "" {
		return leave, nil
	}
	f, err := os.Open(p.Unified)
	if err != nil {
		return leave, fmt.Errorf("cannot enter the control group: %w", err)
	}
	attr.UseCgroupFD, attr.CgroupFD = true, int(f.Fd())
	back = append(back, f.Close)
	return leave, nil
}

func enterNetwork(file string) (undo func() error, err error) {
	old, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return nil, err
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, errors.Join(err, old.Close())
	}
	defer f.Close()
	if err := unix.Setns(int(f.Fd()), unix.CLONE_NEWNET); err != nil {
		return nil, errors.Join(err, old.Close())
	}
	return func() error {
		defer old.Close()
		if err := unix.Setns(int(old.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("cannot leave the network namespace %s: %w", file, err)
		}
		return nil
	}, nil
}

// enterGroup moves the calling thread to a control group of version 1.
func enterGroup(dir string) (undo func() error, err error) {
	before, err := threadGroups()
	if err != nil {
		return nil, err
	}
	id := []byte(strconv.Itoa(unix.Gettid()))
	if err := os.WriteFile(filepath.Join(dir, "tasks"), id, 0); err != nil {
		return nil, err
	}
	after, err := threadGroups()
	if err != nil {
		return nil, err
	}
	for hierarchy, path := range after {
		if old := before[hierarchy]; old != path {
			return func() error {
				return os.WriteFile(filepath.Join(groupDir(dir, path, old), "tasks"), id, 0)
			}, nil
		}
	}
	return func() error { return nil }, nil // the thread was in this group already
}

// threadGroups are the calling thread's control groups of version 1 by the numbers of their hierarchies.
func threadGroups() (map[string]string, error) {
	text, err := os.ReadFile("/proc/thread-self/cgroup")
	groups := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3); len(f) == 3 && f[0] != "0" {
			groups[f[0]] = f[2]
		}
	}
	return groups, err
}

// groupDir is the directory of the group old, if dir is the directory of the group path of the same hierarchy. If the
// mount is not the root of the hierarchy, the paths of groups begin with a part that the mount does not have.
func groupDir(dir, path, old string) string {
	mount, hidden := filepath.Clean(dir), filepath.Clean(path)
	for hidden != "/" && filepath.Base(mount) == filepath.Base(hidden) {
		mount, hidden = filepath.Dir(mount), filepath.Dir(hidden)
	}
	return filepath.Join(mount, strings.TrimPrefix(old, strings.TrimSuffix(hidden, "/")))
}

// enterSandbox gives the calling thread a mount namespace and mounts the directories of the sandbox. The mounts end
// with the last process in the namespace.
func enterSandbox(sb *Sandbox) error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("cannot create a mount namespace: %w", err)
	}
	// Slave: unmounting outside also unmounts here, but mounts made here are not visible outside.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("cannot make the mounts private: %w", err)
	}
	if sb.Root == "" {
		return nil
	}
	at := func(p string) string { return filepath.Join(sb.Root, p) }
	devFlags := uintptr(unix.MS_BIND)
	if sb.DevPts {
		devFlags |= unix.MS_REC
	}
	err := errors.Join(
		mount("proc", at("proc"), "proc", unix.MS_NOSUID|unix.MS_NOEXEC|unix.MS_NODEV),
		mount("/dev", at("dev"), "", devFlags),
		// Its own shared memory, so that segments of a killed server end with it.
		mount("tmpfs", at("dev/shm"), "tmpfs", unix.MS_NOSUID|unix.MS_NODEV),
	)
	for _, b := range sb.Bind {
		err = errors.Join(err, mount(b.From, at(b.At), "", unix.MS_BIND))
	}
	unmountDisks(sb.Root)
	return err
}

func mount(from, at, kind string, flags uintptr) error {
	if err := unix.Mount(from, at, kind, flags, ""); err != nil {
		return fmt.Errorf("cannot mount %s at %s: %w", from, at, err)
	}
	return nil
}

// clockTick is the unit of processor time in /proc (sysconf(_SC_CLK_TCK) is 100 on all of Linux).
const clockTick = 0.01

// CPUSeconds is the processor time that a process has used, with its start time. ok is false if it does not exist.
func CPUSeconds(pid int) (seconds float64, born uint64, ok bool) {
	fields, err := procid.Stat(pid)
	if err != nil {
		return 0, 0, false
	}
	user, err1 := strconv.ParseUint(fields[11], 10, 64)
	system, err2 := strconv.ParseUint(fields[12], 10, 64)
	born, err3 := strconv.ParseUint(fields[19], 10, 64)
	return clockTick * float64(user+system), born, errors.Join(err1, err2, err3) == nil
}

// Alive says whether the process with this id and start time exists and is not a zombie.
func Alive(pid int, born uint64) bool {
	fields, err := procid.Stat(pid)
	if err != nil || procid.Ended(fields) {
		return false
	}
	now, err := strconv.ParseUint(fields[19], 10, 64)
	return err == nil && now == born
}

// Descendants returns the living descendants of a process.
func Descendants(pid int) []int {
	children := map[int][]int{}
	for _, p := range IDs() {
		fields, err := procid.Stat(p)
		if err != nil || fields[0] == "Z" {
			continue
		}
		if parent, err := strconv.Atoi(fields[1]); err == nil {
			children[parent] = append(children[parent], p)
		}
	}
	found := children[pid]
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i]]...)
	}
	return found
}

// IDs returns the ids of all processes.
func IDs() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // the names before an error are used
	var ids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			ids = append(ids, pid)
		}
	}
	return ids
}

// mountsUnder returns the mount points at and below dir, the deepest first.
func mountsUnder(dir string) ([]string, error) {
	mounts, err := mountinfo.Self()
	var points []string
	for _, m := range slices.Backward(mounts) {
		if m.Point == dir || strings.HasPrefix(m.Point, dir+"/") {
			points = append(points, m.Point)
		}
	}
	return points, err
}

// RemoveTree removes a directory tree. It first unmounts all mounts in it, and removes nothing if that fails, because a
// root directory may have the machine's /dev mounted.
func RemoveTree(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	points, err := mountsUnder(dir)
	if err != nil {
		return fmt.Errorf("cannot read the mounts in %s, so it was not removed: %w", dir, err)
	}
	for _, p := range points {
		if err := unix.Unmount(p, unix.UMOUNT_NOFOLLOW); err != nil {
			return fmt.Errorf("cannot unmount %s, so nothing was removed: %w", p, err)
		}
	}
	return os.RemoveAll(dir)
}
