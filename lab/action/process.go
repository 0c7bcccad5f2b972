package action

import (
	"errors"
	"os"
	"strconv"

	"github.com/plimsoll-bench/plimsoll/internal/procid"
)

// running is the state of a process in the kernel.
type running struct {
	born  uint64 // in clock ticks since boot; with the id it identifies the process
	ticks uint64 // used processor time
	state string
}

// processOf returns false for a process that has ended, even if its parent has not waited for it.
func processOf(pid int) (running, bool) {
	fields, err := procid.Stat(pid)
	if err != nil || procid.Ended(fields) {
		return running{}, false
	}
	user, err1 := strconv.ParseUint(fields[11], 10, 64)
	system, err2 := strconv.ParseUint(fields[12], 10, 64)
	born, err3 := strconv.ParseUint(fields[19], 10, 64)
	return running{born: born, ticks: user + system, state: fields[0]}, errors.Join(err1, err2, err3) == nil
}

// canSeeProcesses says whether this system has /proc.
func canSeeProcesses() bool {
	_, ok := processOf(os.Getpid())
	return ok
}
