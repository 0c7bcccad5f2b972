//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package record

import "errors"

func self() identity { return identity{} }

// Interrupt does nothing: this system has no signal that means Ctrl-C.
func Interrupt(string, int) error {
	return errors.New("runs cannot be interrupted from a page on this system: end the run where it was started")
}
