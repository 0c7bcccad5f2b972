package engine

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// exchange swaps the names of two directories atomically.
func exchange(a, b string) error {
	if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err != nil {
		return fmt.Errorf("cannot replace %s by %s: %w. Remove it and install it again", b, a, err)
	}
	return nil
}
