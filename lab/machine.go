package lab

import (
	"fmt"
	"runtime"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/lab/topology"
)

// machine is the hardware that all hosts of a lab share.
type machine struct {
	cores  int
	memory int64 // in bytes, 0 if not known
}

func thisMachine() machine { return machine{runtime.NumCPU(), machineMemory()} }

// notes are warnings if the limits of one host, or of all hosts together, exceed the machine.
func (m machine) notes(hosts []topology.HostPlan) []string {
	var cores, mostCores float64
	var memory, mostMemory int64
	for _, h := range hosts {
		cores, mostCores = cores+h.Limits.Cores, max(mostCores, h.Limits.Cores)
		memory, mostMemory = memory+h.Limits.Memory, max(mostMemory, h.Limits.Memory)
	}
	var notes []string
	switch has := figure.Plural(m.cores, "core"); {
	case mostCores > float64(m.cores):
		notes = append(notes, fmt.Sprintf("the limit of a host is %g cores, but this machine has only %s", mostCores, has))
	case cores > float64(m.cores):
		notes = append(notes, fmt.Sprintf("the limits of all hosts add up to %g cores, but this machine has %s. "+
			"Hosts that are busy at the same time get less than their limits", cores, has))
	}
	switch {
	case m.memory == 0:
	case mostMemory > m.memory:
		notes = append(notes, fmt.Sprintf("the memory limit of a host is %s, but this machine has only %s. "+
			"The machine runs out of memory before the host reaches its limit",
			figure.Bytes(mostMemory), figure.Bytes(m.memory)))
	case memory > m.memory:
		notes = append(notes, fmt.Sprintf("the memory limits of all hosts add up to %s, but this machine has %s. "+
			"The machine can run out of memory before a host reaches its limit",
			figure.Bytes(memory), figure.Bytes(m.memory)))
	}
	return notes
}
