//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package record

import (
	"fmt"
	"syscall"
)

func self() identity { return identity{} }

// Interrupt sends SIGINT to the process that writes dir, as Ctrl-C does. This system does not tell more of a process than
// its id.
func Interrupt(dir string, pid int) error {
	if holder, held := Holder(dir); !held || pid <= 1 || holder != pid {
		return fmt.Errorf("process %d was not interrupted, because it does not write %s: end the run where it was started", pid, dir)
	}
	if err := syscall.Kill(pid, syscall.SIGINT); err != nil {
		return fmt.Errorf("process %d cannot be interrupted (%w): end the run where it was started", pid, err)
	}
	return nil
}
