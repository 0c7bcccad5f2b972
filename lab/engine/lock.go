package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/wait"
)

var errLocked = errors.New("locked by another process")

// tryLock locks a file, and makes it if it does not exist. The kernel releases the lock when the process ends, so a
// killed Plimsoll leaves no lock. The returned function unlocks.
func tryLock(name string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%s: %w", name, errLocked)
		}
		return nil, fmt.Errorf("cannot lock %s: %w", name, err)
	}
	return func() { f.Close() }, nil
}

// waitLock waits until it has locked a file. If it must wait, it calls waiting once.
func waitLock(ctx context.Context, name string, waiting func()) (unlock func(), err error) {
	for {
		unlock, err := tryLock(name)
		if !errors.Is(err, errLocked) {
			return unlock, err
		}
		if waiting != nil {
			waiting()
			waiting = nil
		}
		if wait.Sleep(ctx, 200*time.Millisecond) != nil {
			return nil, fmt.Errorf("%w: %w", err, context.Cause(ctx))
		}
	}
}
