//go:build unix

package files

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock locks a file, or fails immediately if another process has locked it. On a filesystem without locks a probe is
// never detected as dead.
func lock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

// writable returns an error if this user cannot make files in a directory.
func writable(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }
