//go:build unix

package files

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock takes the lock of a file, or fails at once where another process has it. Where the filesystem has no locks, a
// probe is never found dead.
func lock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

// writable says why this user cannot make files in a directory, nil if nothing speaks against it.
func writable(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }
