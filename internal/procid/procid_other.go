//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package procid

import (
	"errors"
	"syscall"
)

// Of is the id alone: this system does not tell more of a process.
func Of(pid int) ID { return ID{PID: pid} }

// Signal does nothing: this system has no signals.
func (id ID) Signal(syscall.Signal, func() error) error {
	return errors.New("this system has no signals")
}

// Alive is not known: nothing here starts a process that is asked for later.
func (id ID) Alive() bool { return false }
