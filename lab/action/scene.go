package action

import (
	"context"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Scene is what a witness needs to know of an injected fault.
type Scene struct {
	Fault  spec.Fault
	Target string // resolved
	Before Snapshot
	Lab    Lab
}

// Lab is a lab as its clients see it.
type Lab interface {
	Describe(ctx context.Context, deep bool) (record.Lab, error)
	// Observe is Describe without settings, cheap enough to be called during a measurement.
	Observe(ctx context.Context) (record.Lab, error)
	Counters(ctx context.Context) (Counters, error)
}

// Counters are the counters of the kernel and the disks about the effects of faults.
type Counters struct {
	// Disks are those of the fault filesystem.
	Disks []DiskCounters `json:"disks,omitempty"`
	// Links are those of isolated hosts.
	Links []LinkCounters `json:"links,omitempty"`
	// Stopped is the time in which the quotas of hosts stopped their processes.
	Stopped map[string]time.Duration `json:"stopped_ns,omitempty"`
}

// DiskCounters are the counters of one virtual disk of a volume, by which the effect of a disk fault is proven.
type DiskCounters struct {
	Volume string        `json:"volume"`
	Disk   string        `json:"disk"`
	Host   string        `json:"host"`
	Stats  faultfs.Stats `json:"stats"`
}

// LinkCounters count the packets that the link of a host dropped or delayed, by which the effect of a cut is proven.
type LinkCounters struct {
	Host string       `json:"host"`
	Seen host.Traffic `json:"seen"`
}

func (c Counters) link(name string) host.Traffic {
	for _, l := range c.Links {
		if l.Host == name {
			return l.Seen
		}
	}
	return host.Traffic{}
}

// Snapshot is the state of a lab at one moment.
type Snapshot struct {
	Lab      record.Lab
	Counters Counters
	born     map[int]uint64 // start times of processes by id
}

// TakeSnapshot reads the state of a lab now.
func TakeSnapshot(ctx context.Context, from Lab) (Snapshot, error) {
	l, err := from.Observe(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	c, err := from.Counters(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	s := Snapshot{Lab: l, Counters: c, born: map[int]uint64{}}
	for _, m := range l.Members {
		for _, pid := range m.PIDs {
			if p, ok := processOf(pid); ok {
				s.born[pid] = p.born
			}
		}
	}
	return s, nil
}

// Members returns the member that is the target, or all members on the host that is the target.
func (s Snapshot) Members(target string) []record.LabMember {
	var found []record.LabMember
	for _, m := range s.Lab.Members {
		if m.Name == target || m.Host == target {
			found = append(found, m)
		}
	}
	return found
}

// Isolated says whether a host is isolated.
func (s Snapshot) Isolated(name string) bool {
	return slices.ContainsFunc(s.Lab.Hosts, func(h record.LabHost) bool {
		return h.Name == name && h.Mode == host.Isolated
	})
}

// processes returns the start times of the target's processes by their ids.
func (s Snapshot) processes(target string) map[int]uint64 {
	found := map[int]uint64{}
	for _, m := range s.Members(target) {
		for _, pid := range m.PIDs {
			if born, ok := s.born[pid]; ok {
				found[pid] = born
			}
		}
	}
	return found
}

func processes(n int) string {
	if n == 1 {
		return "1 process"
	}
	return figure.Count(int64(n)) + " processes"
}
