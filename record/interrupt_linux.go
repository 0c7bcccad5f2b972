package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
)

// self is the identity of this process. What cannot be read is left empty.
func self() identity {
	var id identity
	if b, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		id.Boot = strings.TrimSpace(string(b))
	}
	id.Namespace, _ = os.Readlink("/proc/self/ns/pid")
	id.Ticks, _ = startTicks(os.Getpid())
	return id
}

// startTicks reads when a process started, from field 22 of /proc/PID/stat.
func startTicks(pid int) (uint64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(b[strings.LastIndexByte(string(b), ')')+1:]), " ")
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return 0, errors.New("/proc does not tell when the process started")
	}
	return strconv.ParseUint(fields[19], 10, 64)
}

// Interrupt sends SIGINT to the process that writes dir, as Ctrl-C does. What the lock file says may have been written in
// another PID namespace, before a restart, or by somebody else, so the signal is sent only to a process that is proven to
// be the writer: the kernel says that it holds the lock, and its boot, namespace and start are those of the file.
func Interrupt(dir string, pid int) error {
	h := readHolding(dir)
	refuse := func(why string) error {
		return fmt.Errorf("process %d was not interrupted, because %s: end the run where it was started", pid, why)
	}
	if pid <= 1 || h.Pid != pid {
		return refuse("the lock file of the record does not name it")
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return refuse(fmt.Sprintf("it cannot be opened (%v)", err))
	}
	defer unix.Close(fd)
	// From here on the pidfd stands for one process: what is read below is of that process or of none.
	me := self()
	ticks, err := startTicks(pid)
	switch {
	case h.Boot == "" || h.Boot != me.Boot:
		return refuse("the lock file was written on another machine or before a restart")
	case h.Namespace == "" || h.Namespace != me.Namespace:
		return refuse("it runs in another PID namespace, such as a container")
	case err != nil || ticks != h.Ticks:
		return refuse("it is not the process that wrote the lock file")
	}
	if holds, err := holdsLock(dir, pid); err != nil || !holds {
		return refuse("it does not hold the lock of the record")
	}
	if err := unix.PidfdSendSignal(fd, syscall.SIGINT, nil, 0); err != nil {
		return refuse(fmt.Sprintf("the system refused (%v)", err))
	}
	return nil
}

// holdsLock reports whether the kernel says that a process has the lock file of dir locked. Devices are not compared:
// btrfs shows another number in /proc/locks than stat does.
func holdsLock(dir string, pid int) (bool, error) {
	f, err := safeopen.Open(dir, LockFile)
	if err != nil {
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	inode := info.Sys().(*syscall.Stat_t).Ino
	locks, err := os.ReadFile("/proc/locks")
	if err != nil {
		return false, fmt.Errorf("%s: %w", filepath.Join(dir, LockFile), err)
	}
	for line := range strings.Lines(string(locks)) {
		// 1: FLOCK  ADVISORY  WRITE 708 00:13:1234 0 EOF
		fields := strings.Fields(line)
		if len(fields) < 6 || fields[1] != "FLOCK" || fields[3] != "WRITE" || fields[4] != strconv.Itoa(pid) {
			continue
		}
		if at := strings.LastIndexByte(fields[5], ':'); fields[5][at+1:] == strconv.FormatUint(inode, 10) {
			return true, nil
		}
	}
	return false, nil
}
