package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// onOwnThread runs f in a goroutine on a thread that nothing else uses and that ends with f. It is
// never the main thread: that one cannot end, and /proc/self shows its namespaces.
func onOwnThread(f func()) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			f() // returns without unlocking, which ends the thread
			return
		}
		done := make(chan struct{}) // occupy the main thread while another one is found
		onOwnThread(func() { defer close(done); f() })
		<-done
		runtime.UnlockOSThread()
	}()
}

// launch executes a program. It must be called on a thread of its own: a sandbox changes the thread's namespaces.
func launch(s Spec) (*exec.Cmd, error) {
	cmd := exec.Command(s.Path, s.Args...)
	cmd.Env = s.Env
	if s.Input != "" {
		cmd.Stdin = strings.NewReader(s.Input)
	}
	cmd.Stdout, cmd.Stderr = s.Log, s.Log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	leave, err := settle(s.Place, cmd.SysProcAttr)
	if err != nil {
		return nil, err
	}
	defer leave()
	if s.Sandbox != nil {
		if err := enter(s.Sandbox); err != nil {
			return nil, err
		}
		cmd.Dir = "/"
		cmd.SysProcAttr.Chroot = s.Sandbox.Root
		cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWPID
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: s.Sandbox.UID, Gid: s.Sandbox.GID}
	}
	return cmd, cmd.Start()
}

// settle brings the calling thread to a place, from where the child inherits it. A group of version 2 takes whole
// processes only, so the kernel makes the child in it. leave must be called when the child was made.
func settle(p Place, attr *syscall.SysProcAttr) (leave func(), err error) {
	for _, dir := range p.Groups {
		if err := os.WriteFile(filepath.Join(dir, "tasks"), []byte(strconv.Itoa(unix.Gettid())), 0); err != nil {
			return nil, fmt.Errorf("cannot enter the control group: %w", err)
		}
	}
	if p.Network != "" {
		f, err := os.Open(p.Network)
		if err != nil {
			return nil, fmt.Errorf("cannot enter the network namespace: %w", err)
		}
		defer f.Close()
		if err := unix.Setns(int(f.Fd()), unix.CLONE_NEWNET); err != nil {
			return nil, fmt.Errorf("cannot enter the network namespace %s: %w", p.Network, err)
		}
	}
	if p.Unified == "" {
		return func() {}, nil
	}
	f, err := os.Open(p.Unified)
	if err != nil {
		return nil, fmt.Errorf("cannot enter the control group: %w", err)
	}
	attr.UseCgroupFD, attr.CgroupFD = true, int(f.Fd())
	return func() { f.Close() }, nil
}

// enter gives the calling thread mounts of its own and makes those of the sandbox. The mounts end
// with the last process that sees them.
func enter(sb *Sandbox) error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("cannot make a mount namespace: %w", err)
	}
	// Slave: what is unmounted outside is unmounted here too, but nothing made here shows outside.
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
		// Its own shared memory: segments of a killed server end with it.
		mount("tmpfs", at("dev/shm"), "tmpfs", unix.MS_NOSUID|unix.MS_NODEV),
	)
	for _, b := range sb.Bind {
		err = errors.Join(err, mount(b.From, at(b.At), "", unix.MS_BIND))
	}
	return err
}

func mount(from, at, kind string, flags uintptr) error {
	if err := unix.Mount(from, at, kind, flags, ""); err != nil {
		return fmt.Errorf("cannot mount %s at %s: %w", from, at, err)
	}
	return nil
}

// procStat returns the fields of /proc/PID/stat after the command's name; index 0 is the state.
func procStat(pid int) ([]string, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil, err
	}
	// The name is in parentheses and may hold any byte, also a parenthesis.
	i := bytes.LastIndexByte(data, ')')
	fields := strings.Fields(string(data[i+1:]))
	if i < 0 || len(fields) < 20 {
		return nil, fmt.Errorf("/proc/%d/stat is not understood", pid)
	}
	return fields, nil
}

// StartTime returns when a process was started, in clock ticks since boot. Together with the id it
// names a process for ever: ids are used again.
func StartTime(pid int) (uint64, error) {
	fields, err := procStat(pid)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(fields[19], 10, 64)
}

// alive says whether the process with this id and start time exists and is not a zombie.
func Alive(pid int, born uint64) bool {
	fields, err := procStat(pid)
	if err != nil || fields[0] == "Z" || fields[0] == "X" {
		return false
	}
	now, err := strconv.ParseUint(fields[19], 10, 64)
	return err == nil && now == born
}

// Descendants returns the living children of a process and theirs.
func Descendants(pid int) []int {
	children := map[int][]int{}
	for _, p := range allPids() {
		fields, err := procStat(p)
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

// allPids returns the ids of all processes.
func allPids() []int {
	entries, _ := os.ReadDir("/proc") // without /proc nothing is found
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// mountsUnder returns the mount points in dir and below, the deepest first.
func mountsUnder(dir string) ([]string, error) {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var points []string
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		point := unescapeMount(fields[4])
		if point == dir || strings.HasPrefix(point, dir+"/") {
			points = append([]string{point}, points...) // the file has the order of mounting
		}
	}
	return points, nil
}

// unescapeMount undoes the octal escapes of mountinfo: blank, tab, line feed and backslash.
func unescapeMount(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// RemoveTree removes a directory tree. It first unmounts what is mounted in it, and removes nothing
// if that fails: a root directory may have the machine's /dev mounted.
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
		return fmt.Errorf("cannot tell what is mounted in %s, so it is not removed: %w", dir, err)
	}
	for _, p := range points {
		if err := unix.Unmount(p, unix.UMOUNT_NOFOLLOW); err != nil {
			return fmt.Errorf("cannot unmount %s, so nothing is removed: %w", p, err)
		}
	}
	return os.RemoveAll(dir)
}
