// Package procid identifies a process. A process ID alone is ambiguous: after a restart of the machine, in another PID
// namespace, or later on the same machine, another process has it. Signals are sent only to the identified process.
package procid

import (
	"errors"
	"os"
)

// ID identifies a process for ever. Fields that the system does not provide are empty.
type ID struct {
	PID       int    `json:"pid"`
	Boot      string `json:"boot,omitempty"`          // boot id of the kernel
	Namespace string `json:"pid_namespace,omitempty"` // link text of /proc/self/ns/pid
	Ticks     uint64 `json:"start_ticks,omitempty"`   // start of the process in clock ticks since boot
}

// Self is the identity of this process.
func Self() ID { return Of(os.Getpid()) }

// The reasons why a process was not signalled.
var (
	ErrElsewhere = errors.New("it was started on another machine or before a restart")
	ErrNamespace = errors.New("it runs in another PID namespace, such as a container")
	ErrAnother   = errors.New("it is a different process")
)

// Ended reports whether the process of the fields of [Stat] has ended, but its parent has not waited for it.
func Ended(fields []string) bool { return fields[0] == "Z" || fields[0] == "X" }
