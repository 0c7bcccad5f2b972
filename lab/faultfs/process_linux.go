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

// harden prepares the process for the I/O of other processes. It logs what the machine does not allow.
//
// When the kernel needs memory, it writes dirty pages of the filesystem above to a loop device, which go through this
// process. So the process must get memory without waiting for such pages (the kernel's term is an I/O flusher), must
// not be paged out, and must not be killed to free memory.
func harden(l *log.Logger, restart func() error) {
	// go-fuse reads requests in blocking calls. Each keeps a processor of the runtime until the runtime retakes it.
	runtime.GOMAXPROCS(max(8, 2*runtime.NumCPU()))
	if err := becomeFlusher(restart); err != nil {
		l.Printf("cannot become an I/O flusher: %v. Under memory pressure, the disks may stall", err)
	}
	if err := unix.Mlockall(unix.MCL_CURRENT | unix.MCL_FUTURE | unix.MCL_ONFAULT); err != nil {
		l.Printf("cannot lock the memory: %v. Under memory pressure, the disks may stall", err)
	}
	if err := os.WriteFile("/proc/self/oom_score_adj", []byte("-1000"), 0); err != nil {
		l.Printf("cannot set oom_score_adj: %v. If memory runs out, the kernel may kill this process", err)
	}
}

// becomeFlusher makes all threads I/O flushers. A program with cgo cannot set that for its other threads. But a thread
// inherits it from the thread that starts it, and execve keeps it, so such a program sets it and executes itself again.
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

// connectionLost says whether the client of a connection has gone.
func connectionLost(err error) bool {
	var n net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.As(err, &n)
}
