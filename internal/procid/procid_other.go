//go:build !linux

package procid

import (
	"errors"
	"syscall"
)

// Of is the ID alone on this system.
func Of(pid int) ID { return ID{PID: pid} }

// Signal sends a signal to the process with this ID.
func (id ID) Signal(sig syscall.Signal, more func() error) error {
	if id.PID <= 1 {
		return ErrAnother
	}
	if more != nil {
		if err := more(); err != nil {
			return err
		}
	}
	return syscall.Kill(id.PID, sig)
}

// Alive reports whether there is a process with this ID.
func (id ID) Alive() bool { return id.PID > 0 && syscall.Kill(id.PID, 0) == nil }

// Stat fails: only Linux has /proc/PID/stat.
func Stat(int) ([]string, error) { return nil, errors.New("this system has no /proc") }
