package procid

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Of is the identity of a process of this PID namespace. One that is not there has no start.
func Of(pid int) ID {
	id := ID{PID: pid}
	if b, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		id.Boot = strings.TrimSpace(string(b))
	}
	id.Namespace, _ = os.Readlink("/proc/self/ns/pid")
	_, id.Ticks, _ = stat(pid)
	return id
}

// stat reads the state of a process and when it started, fields 3 and 22 of /proc/PID/stat.
func stat(pid int) (state string, ticks uint64, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", 0, err
	}
	text := string(b)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:]) // the name in parentheses may hold any byte
	if len(fields) < 20 {
		return "", 0, fmt.Errorf("/proc/%d/stat is not understood", pid)
	}
	ticks, err = strconv.ParseUint(fields[19], 10, 64)
	return fields[0], ticks, err
}

// Alive says whether the process is there and has not ended.
func (id ID) Alive() bool {
	state, _, err := stat(id.PID)
	return err == nil && id.PID > 0 && state != "Z" && state != "X" && Of(id.PID) == id
}

// Signal sends a signal to the process, if it is proven to be there. more adds a proof of the caller's, which is asked when
// the process can no longer be mistaken for another one; it may be nil.
func (id ID) Signal(sig syscall.Signal, more func() error) error {
	if id.PID <= 1 {
		return ErrAnother
	}
	fd, err := unix.PidfdOpen(id.PID, 0)
	if err != nil {
		return fmt.Errorf("it cannot be opened (%w)", err)
	}
	defer unix.Close(fd)
	// From here on the pidfd stands for one process: what is read below is of that process or of none.
	now := Of(id.PID)
	switch {
	case id.Boot == "" || id.Boot != now.Boot:
		return ErrElsewhere
	case id.Namespace == "" || id.Namespace != now.Namespace:
		return ErrNamespace
	case id.Ticks == 0 || id.Ticks != now.Ticks:
		return ErrAnother
	}
	if more != nil {
		if err := more(); err != nil {
			return err
		}
	}
	if err := unix.PidfdSendSignal(fd, sig, nil, 0); err != nil {
		return fmt.Errorf("the system refused (%w)", err)
	}
	return nil
}
