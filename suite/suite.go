// Package suite does the parts of a folder one after the other: studies, drills and probes that together repeat a
// document.
//
// [Read] reads suite.yaml, [NewPlan] makes of it what this machine, its time and its deployment allow, and says what
// was scaled or left out and why; [Run] does it and [Resume] goes on after whatever ended it. Each part leaves the
// ordinary record that it would leave alone, below the directory of the suite, and three things say how far a suite
// came, as with studies: these records, a journal with a synced line before and after each part, and suite.json.
//
// It measures nothing itself. What the parts say of the document is judged by suite/judge when the suite ends, what
// fits into a time by suite/fit. Nothing is printed here: who wants to watch gives a [Progress].
package suite

import (
	"context"
	"time"

	"github.com/plimsoll-bench/plimsoll/disk"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/study/conduct"
)

// File is the name of what describes a suite, in its folder.
const File = "suite.yaml"

// Machine says what is there.
type Machine interface {
	// Lacks returns why a need of a part (root, md, lvm) is not met here, in a sentence without a full stop; "" if it is.
	// What the engine is able to do is not asked of the machine.
	Lacks(need string) string
}

// Volumes finds the volumes of labs that have no servers, for probes.
type Volumes interface {
	// Directory returns where the one volume of a lab that is up can be used from this process.
	Directory(ctx context.Context, lab string) (string, error)
	// Cutter takes the power of that volume. end gives back what it holds.
	Cutter(ctx context.Context, lab string) (c disk.PowerCutter, end func(), err error)
}

// Progress is told how a suite goes. Calls come from one goroutine at a time and must return soon.
type Progress interface {
	// Begin announces a part, End what became of it.
	Begin(Standing)
	End(record.Part)
	// Note is something to know that is no part, in one line.
	Note(text string)
}

// Standing is where a suite is when a part begins.
type Standing struct {
	Part record.Part
	// Number of the part among the Total that are done; those that are left out are not counted.
	Number, Total int
	// Left is how long this part and those after it will take, as far as is known.
	Left time.Duration
	// Budget is what is left of the time that the suite may take; HasBudget is false where it has none.
	Budget    time.Duration
	HasBudget bool
}

// Job is a part that is to be done.
type Job struct {
	// Plan is what it is asked to do, with what earlier parts gave.
	Plan record.PartPlan
	// Dir is where its record goes. It is empty or absent unless Resume is true, which only studies are.
	Dir    string
	Resume bool
	Abort  <-chan struct{} // closed: end what is under way at once
	// Budget says how much of a study may still be done; nil is all of it. TakeLeft makes one that is resumed do what was
	// left out for want of time.
	Budget   conduct.Budget
	TakeLeft bool
}

// Outcome is what became of a part.
type Outcome struct {
	// One of these is there, unless the part could not even begin.
	Study *record.Study
	Drill *record.Drill
	Probe *record.Probe
	// Err is why it ended without a result, or why that could not be written.
	Err error
	// Conclusion is what the record comes to, or the error.
	Conclusion record.Conclusion
}

// Runner does one part. When its context ends it comes to a proper end soon: faults are healed, labs removed.
type Runner interface {
	Part(ctx context.Context, j Job) Outcome
}
