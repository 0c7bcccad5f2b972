package null

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// sleeper waits with the precision of a kernel timer. Timers of the Go runtime are up to a millisecond late, because
// the network poller rounds its timeout up. It does not round the readiness of a timer's file descriptor. A sleeper
// belongs to one goroutine.
type sleeper struct {
	file *os.File
	fd   int
	buf  [8]byte
}

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

// open makes the timer at the first use, and reports whether that worked.
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

func (s *sleeper) close() {
	if s.file != nil {
		_ = s.file.Close() // nothing was written to it
		s.file = nil
	}
}
