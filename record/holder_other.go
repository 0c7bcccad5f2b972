//go:build !linux

package record

// holdsLock returns nil if a process writes dir, as far as its lock file shows. This system does not report the owners
// of locks.
func holdsLock(dir string, pid int) error {
	if holder, held := Holder(dir); !held || holder != pid {
		return errNotHolding
	}
	return nil
}
