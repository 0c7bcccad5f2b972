package faultfs

import (
	"encoding/binary"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// coarse is from what length on a wait is done mostly by the timers of Go, which can be given up but are late by up
// to 1 ms and more. The rest is done by the kernel's timers, which are exact to some 10 µs on an idle machine.
const coarse = 5 * time.Millisecond

// alarms are kernel timers that nobody uses now. Reading one parks the goroutine in the poller of the runtime, which
// wakes at the kernel's time, so that neither a thread nor a processor is held meanwhile.
var alarms = sync.Pool{New: func() any {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return (*os.File)(nil)
	}
	return os.NewFile(uintptr(fd), "timer")
}}

// sleepExact waits for a short time.
func sleepExact(d time.Duration) {
	if d <= 0 {
		return
	}
	f := alarms.Get().(*os.File)
	if f == nil { // no descriptors left
		time.Sleep(d)
		return
	}
	defer alarms.Put(f)
	var armError error
	conn, err := f.SyscallConn()
	if err == nil {
		err = conn.Control(func(fd uintptr) {
			armError = unix.TimerfdSettime(int(fd), 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}, nil)
		})
	}
	var expired [8]byte
	if err == nil && armError == nil {
		_, err = f.Read(expired[:])
	}
	if err != nil || armError != nil || binary.NativeEndian.Uint64(expired[:]) == 0 {
		time.Sleep(d)
	}
}

// sleepUntil waits until a moment, at most until the faults change or the request is interrupted. early is that the
// moment is not there yet.
func sleepUntil(due time.Time, changed, interrupted <-chan struct{}) (early, intr bool) {
	if left := time.Until(due); left > coarse {
		t := time.NewTimer(left - coarse/2)
		defer t.Stop()
		select {
		case <-t.C:
		case <-changed:
			return true, false
		case <-interrupted:
			return true, true
		}
	}
	sleepExact(time.Until(due))
	return false, false
}
