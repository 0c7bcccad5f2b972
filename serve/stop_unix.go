//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package serve

import (
	"fmt"
	"syscall"
)

// interrupt asks a process to end, as Ctrl-C does.
func interrupt(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGINT); err != nil {
		return fmt.Errorf("process %d cannot be asked to end (%w): end it where it was started", pid, err)
	}
	return nil
}
