package procid

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Of is the identity of a process of this PID namespace. Ticks is 0 if there is no such process.
func Of(pid int) ID {
	id := ID{PID: pid}
	if b, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		id.Boot = strings.TrimSpace(string(b))
	}
	id.Namespace, _ = os.Readlink("/proc/self/ns/pid")
	id.Ticks, _ = Ticks(pid)
	return id
}

// Stat returns the fields of /proc/PID/stat after the name of the program, from field 3: state, parent and so on.
func Stat(pid int) ([]string, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil, err
	}
	text := string(b)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:]) // the name in parentheses may have any byte
	if len(fields) < 20 {
		return nil, fmt.Errorf("/proc/%d/stat has %d fields after the name, want at least 20", pid, len(fields))
	}
	return fields, nil
}

// Ticks returns when a process started, in clock ticks since boot.
func Ticks(pid int) (uint64, error) {
	fields, err := Stat(pid)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(fields[19], 10, 64)
}

// Alive reports whether the process exists and has not ended.
func (id ID) Alive() bool {
	fields, err := Stat(id.PID)
	return err == nil && !Ended(fields) && Of(id.PID) == id
}

// Signal sends a signal to the process, if it exists. more may be nil. Otherwise Signal calls it when the ID can no
// longer be that of another process, and sends no signal if it fails.
func (id ID) Signal(sig syscall.Signal, more func() error) error {
	if id.PID <= 1 {
		return ErrAnother
	}
	fd, err := unix.PidfdOpen(id.PID, 0)
	if err != nil {
		return fmt.Errorf("it cannot be opened (%w)", err)
	}
	defer unix.Close(fd)
	// The pidfd refers to one process, so Of reads the identity of that process or of none.
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
