// Package procid tells a process from all others that had or have its id: after a restart of the machine, in another
// PID namespace, or later on the same machine. It signals a process only if that is proven to be the one that is meant.
package procid

import (
	"errors"
	"os"
)

// ID names a process for ever. What the system does not tell is empty.
type ID struct {
	PID       int    `json:"pid"`
	Boot      string `json:"boot,omitempty"`          // boot id of the kernel
	Namespace string `json:"pid_namespace,omitempty"` // as /proc/self/ns/pid names it
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

// Ended says of the fields of [Stat] that the process has ended, though its parent has not waited for it.
func Ended(fields []string) bool { return fields[0] == "Z" || fields[0] == "X" }
