//go:build unix

package measure

import (
	"syscall"
	"time"
)

// ProcessCPU returns the user and system time of this process, 0 if it cannot be read.
func ProcessCPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
