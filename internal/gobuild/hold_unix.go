//go:build unix

package gobuild

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// hold waits until no other test builds the program. The kernel releases the lock when this process ends.
func hold(name string) (release func(), err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if !errors.Is(err, unix.EINTR) {
			return func() { _ = f.Close() }, err
		}
	}
}
