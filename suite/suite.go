// Package suite does the parts of a folder one after the other: studies, drills and probes that together repeat a
// document.
//
// [Open] reads suite.yaml, [NewPlan] adapts it to this machine, the time and the deployment, with a reason for what was
// scaled or left out. [Run] runs it and [Resume] continues it. Each part has the usual record, below the directory of
// the suite. As with studies, these records, a journal with a synced line before and after each part, and suite.json
// have the progress.
//
// It measures nothing itself. suite/judge compares the parts with the document when the suite ends, suite/fit fits them
// into a time. It prints nothing; progress goes to a [Progress].
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

// Progress receives the progress of a suite. Calls come from one goroutine at a time and must return soon.
type Progress interface {
	// Begin is called before a part, End after it.
	Begin(Status)
	End(record.Part)
	// Note is something to know that is no part, in one line.
	Note(text string)
}

// Status is the state of a suite when a part begins.
type Status struct {
	Part record.Part
	// Number of the part among the Total that are done; those that are left out are not counted.
	Number, Total int
	// Left is the estimated time of this part and the following ones.
	Left time.Duration
	// Budget is the rest of the time for the suite; HasBudget is false if there is no limit.
	Budget    time.Duration
	HasBudget bool
}

// Job is a part that is to be done.
type Job struct {
	// Plan is the part to run, with the results of earlier parts.
	Plan record.PartPlan
	// Dir is the directory of its record. It is empty or absent unless Resume is true, which only studies are.
	Dir    string
	Resume bool
	Abort  <-chan struct{} // closed: end what is under way at once
	// Budget limits a study; nil is no limit. TakeLeft makes a resumed study also run trials that were skipped for lack
	// of time.
	Budget   conduct.Budget
	TakeLeft bool
}

// Outcome is the result of a part.
type Outcome struct {
	// One of these is there, unless the part could not even begin.
	Study *record.Study
	Drill *record.Drill
	Probe *record.Probe
	// Err is why it ended without a result, or could not be written.
	Err error
	// Conclusion is the outcome of the record, or of the error.
	Conclusion record.Conclusion
}

// Runner runs one part. When its context ends it returns soon, after healing faults and removing labs.
type Runner interface {
	Part(ctx context.Context, j Job) Outcome
}
