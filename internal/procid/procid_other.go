//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package procid

import (
	"errors"
	"syscall"
)

// Of is the ID alone on this system.
func Of(pid int) ID { return ID{PID: pid} }

// Signal fails: this system has no signals.
func (id ID) Signal(syscall.Signal, func() error) error {
	return errors.New("this system has no signals")
}

// Alive is always false: it is not known on this system.
func (id ID) Alive() bool { return false }
