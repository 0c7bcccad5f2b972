//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package serve

import "errors"

// interrupt is not possible here: this system has no signal that asks another process to end.
func interrupt(int) error {
	return errors.New("on this system a page cannot ask another process to end: press Ctrl-C where it was started")
}
