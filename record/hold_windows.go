package record

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockFile locks a file without waiting. The lock belongs to the open file: it ends with it. What is locked is a
// byte far behind the end, because a locked one could not be read.
func lockFile(f *os.File, exclusive bool) error {
	how := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if exclusive {
		how |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errHeld
	}
	return err
}
