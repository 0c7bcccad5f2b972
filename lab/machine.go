package lab

import (
	"fmt"
	"runtime"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/lab/topology"
)

// machine is what all hosts of a lab share.
type machine struct {
	cores  int
	memory int64 // in bytes, 0 if not known
}

func thisMachine() machine { return machine{runtime.NumCPU(), machineMemory()} }

// notes say where the limits of hosts are more than the machine has: one alone, or all together.
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
		notes = append(notes, fmt.Sprintf("a host may use %g cores, and this machine has %s: it gets no more than those", mostCores, has))
	case cores > float64(m.cores):
		notes = append(notes, fmt.Sprintf("the hosts may use %g cores together, and this machine has %s: when they are busy at the same time, each has less than its limit", cores, has))
	}
	switch {
	case m.memory == 0:
	case mostMemory > m.memory:
		notes = append(notes, fmt.Sprintf("a host may use %s of memory, and this machine has %s: the machine runs out before the host does",
			figure.Bytes(mostMemory), figure.Bytes(m.memory)))
	case memory > m.memory:
		notes = append(notes, fmt.Sprintf("the hosts may use %s of memory together, and this machine has %s: it can run out before any host does",
			figure.Bytes(memory), figure.Bytes(m.memory)))
	}
	return notes
}
