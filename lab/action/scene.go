package action

import (
	"context"
	"slices"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Scene is what a witness needs to know of a fault that was done.
type Scene struct {
	Fault spec.Fault
	// Target is what was meant by the target's words.
	Target string
	// Before is what was seen before it was done.
	Before Sight
	Lab    Lab
}

// Lab is a lab, seen from outside of its supervisor.
type Lab interface {
	Describe(ctx context.Context, deep bool) (record.Lab, error)
	// Look is Describe without settings, at a cost that disturbs nothing.
	Look(ctx context.Context) (record.Lab, error)
	// Counters are what the kernel and the disks counted.
	Counters(ctx context.Context) (Counters, error)
}

// Counters are what was counted of faults by those who felt them: the kernel and the disks.
type Counters struct {
	// Disks are those of the fault filesystem.
	Disks []DiskCounters `json:"disks,omitempty"`
	// Links are those of isolated hosts.
	Links []LinkCounters `json:"links,omitempty"`
}

// DiskCounters are those of one disk of the fault filesystem.
type DiskCounters struct {
	Volume string        `json:"volume"`
	Disk   string        `json:"disk"`
	Host   string        `json:"host"`
	Stats  faultfs.Stats `json:"stats"`
}

// LinkCounters are those of the link of one host.
type LinkCounters struct {
	Host string       `json:"host"`
	Seen host.Traffic `json:"seen"`
}

// link is what was counted at the link of a host.
func (c Counters) link(name string) host.Traffic {
	for _, l := range c.Links {
		if l.Host == name {
			return l.Seen
		}
	}
	return host.Traffic{}
}

// Sight is what can be seen of a lab at one moment.
type Sight struct {
	Lab      record.Lab
	Counters Counters
	born     map[int]uint64 // when processes began
}

// Look looks at everything.
func Look(ctx context.Context, from Lab) (Sight, error) {
	l, err := from.Look(ctx)
	if err != nil {
		return Sight{}, err
	}
	c, err := from.Counters(ctx)
	if err != nil {
		return Sight{}, err
	}
	s := Sight{Lab: l, Counters: c, born: map[int]uint64{}}
	for _, m := range l.Members {
		for _, pid := range m.PIDs {
			if p, ok := processOf(pid); ok {
				s.born[pid] = p.born
			}
		}
	}
	return s, nil
}

// Members are those that a target means: itself, or all on a host.
func (s Sight) Members(target string) []record.LabMember {
	var found []record.LabMember
	for _, m := range s.Lab.Members {
		if m.Name == target || m.Host == target {
			found = append(found, m)
		}
	}
	return found
}

// Isolated says whether a host has a link of its own.
func (s Sight) Isolated(name string) bool {
	return slices.ContainsFunc(s.Lab.Hosts, func(h record.LabHost) bool { return h.Name == name && h.Mode == host.Isolated })
}

// processes are those that a target had, by their ids.
func (s Sight) processes(target string) map[int]uint64 {
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
