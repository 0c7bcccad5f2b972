package null

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// sleeper waits until a moment with the precision of a kernel timer. The timers of the Go runtime
// wake up to a millisecond late, because its network poller rounds its timeout up; the readiness of a
// timer file descriptor reaches the poller without such rounding. A sleeper serves one goroutine.
type sleeper struct {
	file *os.File
	fd   int
	buf  [8]byte
}

// until returns at the given moment, at once if it has passed.
func (s *sleeper) until(at time.Time) {
	left := time.Until(at)
	if left <= 0 {
		return
	}
	if !s.open() {
		time.Sleep(left)
		return
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(left))}
	if unix.TimerfdSettime(s.fd, 0, &spec, nil) != nil {
		time.Sleep(left)
		return
	}
	if _, err := s.file.Read(s.buf[:]); err != nil {
		time.Sleep(time.Until(at))
	}
}

// open makes the timer on first use, and reports whether there is one.
func (s *sleeper) open() bool {
	if s.file != nil {
		return true
	}
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return false
	}
	s.fd, s.file = fd, os.NewFile(uintptr(fd), "timer")
	return true
}

// close gives the timer back.
func (s *sleeper) close() {
	if s.file != nil {
		_ = s.file.Close() // nothing was written that could be lost
		s.file = nil
	}
}
