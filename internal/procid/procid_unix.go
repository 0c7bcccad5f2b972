//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package procid

import "syscall"

// Of is the id alone: this system does not tell more of a process.
func Of(pid int) ID { return ID{PID: pid} }

// Signal sends a signal to the process of the id.
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

// Alive says whether there is a process of the id.
func (id ID) Alive() bool { return id.PID > 0 && syscall.Kill(id.PID, 0) == nil }
