package workload

import (
	"cmp"
	"fmt"
	"slices"
)

// Turns are the turns of one process among several that share a load. All take turns in cycles: of Cycle workers, or of
// Cycle arrivals of a constant schedule, this process has those with the numbers Mine, in ascending order. The zero
// value is that of a process that has all of them.
type Turns struct {
	Cycle int   `json:"cycle,omitempty"`
	Mine  []int `json:"mine,omitempty"`
}

// TakeTurns divides the turns among several processes in proportion to parts, which are positive. The first turns are
// one of each process, so none is without a worker. The others are spread evenly (Webster's method of apportionment).
// So the more turns all have together, the more each has: a ramp of all workers is a ramp of each process.
func TakeTurns(parts []int) []Turns {
	divisor := 0
	for _, p := range parts {
		for p != 0 {
			divisor, p = p, divisor%p
		}
	}
	type turn struct{ process, nth int }
	var all []turn
	for i, p := range parts {
		for n := range p / divisor {
			all = append(all, turn{i, n})
		}
	}
	slices.SortFunc(all, func(a, b turn) int {
		if a.nth == 0 || b.nth == 0 {
			return cmp.Or(cmp.Compare(min(a.nth, 1), min(b.nth, 1)), cmp.Compare(a.process, b.process))
		}
		return cmp.Or(cmp.Compare((2*a.nth+1)*parts[b.process], (2*b.nth+1)*parts[a.process]),
			cmp.Compare(a.process, b.process))
	})
	list := make([]Turns, len(parts))
	for at, t := range all {
		list[t.process].Cycle = len(all)
		list[t.process].Mine = append(list[t.process].Mine, at)
	}
	return list
}

// Nth returns the number, among those of all processes, of the n-th turn of this one. Both count from 0.
func (t Turns) Nth(n int64) int64 {
	if t.Cycle == 0 {
		return n
	}
	own := int64(len(t.Mine))
	return n/own*int64(t.Cycle) + int64(t.Mine[n%own])
}

// Before returns how many of the first n turns of all processes are turns of this one.
func (t Turns) Before(n int64) int64 {
	if t.Cycle == 0 {
		return n
	}
	in, _ := slices.BinarySearch(t.Mine, int(n%int64(t.Cycle)))
	return n/int64(t.Cycle)*int64(len(t.Mine)) + int64(in)
}

// Share is the part of all turns that this process has.
func (t Turns) Share() float64 {
	if t.Cycle == 0 {
		return 1
	}
	return float64(len(t.Mine)) / float64(t.Cycle)
}

// Share returns the part of w that one of several processes does. w must have been opened with the number of this
// process and of all, which keep the documents that they insert apart.
//
// workers is how many streams all processes have together. Stream n of the part is that of the n-th turn of the
// process, so the processes together do what one process with all streams would do, and no two of them do the same.
// What the streams of one process share (which keys were inserted last) is not shared between processes.
func Share(w Workload, t Turns, workers int) (Workload, error) {
	if c, ok := w.(*core); ok && c.p.Mode == Original && c.p.Insert > 0 && t.Cycle > 0 {
		return nil, fmt.Errorf("workload %s inserts the same keys in every process, as YCSB does, so several would collide: "+
			"use its corrected form (--mode core), or one client", w.Name())
	}
	return &share{Workload: w, turns: t, workers: workers}, nil
}

// share is what one of several processes does of a workload.
type share struct {
	Workload
	turns   Turns
	workers int
}

// Unwrap returns the whole workload.
func (p *share) Unwrap() Workload { return p.Workload }

func (p *share) Stream(worker, _ int) Stream {
	return p.Workload.Stream(int(p.turns.Nth(int64(worker))), p.workers)
}
