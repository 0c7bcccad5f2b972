//go:build !linux

package record

// holdsLock is nil if a process writes dir, as far as its lock file tells: this system does not say who has a lock.
func holdsLock(dir string, pid int) error {
	if holder, held := Holder(dir); !held || holder != pid {
		return errNotHolding
	}
	return nil
}
