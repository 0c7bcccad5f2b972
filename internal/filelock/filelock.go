// Package filelock locks files and directories between processes of this machine. The kernel releases a lock when its
// process ends, however it ends. Locks of records and disks, which name their holder, are in their packages.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/wait"
)

// ErrBusy is returned if another process has a lock.
var ErrBusy = errors.New("locked by another process")

// Try locks a file, and creates it if it does not exist. Who removes the file has the lock, so it counts only if the
// locked file is still the one of that name. Closing the file releases the lock.
func Try(name string) (*os.File, error) {
	for {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
		if err == nil {
			err = lock(f)
		}
		if err != nil {
			return nil, err
		}
		have, err := f.Stat()
		now, nowErr := os.Stat(name)
		if err == nil && nowErr == nil && os.SameFile(have, now) {
			return f, nil
		}
		f.Close() // another process removed it meanwhile
	}
}

// Dir locks a directory without a file in it.
func Dir(name string) (release func(), err error) {
	f, err := os.Open(name)
	if err == nil {
		err = lock(f)
	}
	return func() { f.Close() }, err
}

// lock locks an open file, or closes it.
func lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = ErrBusy
	default:
		err = fmt.Errorf("cannot lock %s: %w", f.Name(), err)
	}
	f.Close()
	return err
}

// Hold locks a file and removes it at the release.
func Hold(name string) (release func(), err error) {
	f, err := Try(name)
	if err != nil {
		return nil, err
	}
	return func() { _ = os.Remove(name); f.Close() }, nil
}

// Await is [Hold] as soon as that succeeds. If it must wait, it calls waiting once, which may be nil.
func Await(ctx context.Context, name string, waiting func()) (release func(), err error) {
	for {
		release, err := Hold(name)
		if !errors.Is(err, ErrBusy) {
			return release, err
		}
		if waiting != nil {
			waiting()
			waiting = nil
		}
		if wait.Sleep(ctx, 20*time.Millisecond) != nil {
			return nil, fmt.Errorf("%s: %w: %w", name, err, context.Cause(ctx))
		}
	}
}
