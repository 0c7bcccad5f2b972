//go:build unix

package serve

import (
	"fmt"
	"os"
)

// onlyItsUser says whether a file can be read or written by others.
func onlyItsUser(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("can be read or changed by other users (mode %04o): run chmod 600 on it and choose a new token", mode)
	}
	return nil
}
