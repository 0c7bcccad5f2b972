package faultfs

import (
	"errors"
	"io"
	"log"
	"net"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// harden makes the process one that others' I/O can depend on. What the machine does not allow is logged and left.
//
// The kernel writes dirty pages of the filesystem above to a loop device when it needs memory, and those go through
// this process. So it must get memory without waiting for such pages (an I/O flusher in the kernel's words), must not
// be paged out, and must not be the one that is ended to free memory.
func harden(l *log.Logger, restart func() error) {
	// go-fuse reads requests in blocking calls and each keeps a processor of the runtime until it is taken away.
	runtime.GOMAXPROCS(max(8, 2*runtime.NumCPU()))
	if err := becomeFlusher(restart); err != nil {
		l.Printf("cannot become an I/O flusher: %v; under memory pressure the disks may stall", err)
	}
	if err := unix.Mlockall(unix.MCL_CURRENT | unix.MCL_FUTURE | unix.MCL_ONFAULT); err != nil {
		l.Printf("cannot lock the memory: %v; under memory pressure the disks may stall", err)
	}
	if err := os.WriteFile("/proc/self/oom_score_adj", []byte("-1000"), 0); err != nil {
		l.Printf("cannot be spared when memory is short: %v", err)
	}
}

// becomeFlusher makes all threads I/O flushers. A program with C in it cannot do that for its other threads; but a
// thread has it from the one that starts it, and a program from the one whose place it takes.
func becomeFlusher(restart func() error) error {
	_, _, errno := syscall.AllThreadsSyscall(syscall.SYS_PRCTL, unix.PR_SET_IO_FLUSHER, 1, 0)
	if errno != syscall.ENOTSUP || restart == nil {
		return errnoOrNil(errno)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	is, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, unix.PR_GET_IO_FLUSHER, 0, 0, 0, 0, 0)
	if errno != 0 || is == 1 {
		return errnoOrNil(errno)
	}
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, unix.PR_SET_IO_FLUSHER, 1, 0, 0, 0, 0); errno != 0 {
		return errno
	}
	return restart()
}

func errnoOrNil(errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

// lost says whether the other side of a connection is gone, so that nobody reads an answer.
func lost(err error) bool {
	var n net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.As(err, &n)
}
