// Package conduct runs a plan and writes the study's record: trial after trial, each with its own record, so that an
// interrupted study can continue.
//
// Its trials are the jobs of a campaign (package campaign), which writes them down. On resume, the record decides: a
// trial with a complete record is finished, even if the end is not in the journal.
//
// Planning is in package study, measuring in package run, judging in study/judge. Nothing here prints; progress goes to
// a [Progress].
package conduct

import (
	"context"
	"time"

	"github.com/plimsoll-bench/plimsoll/campaign"
	"github.com/plimsoll-bench/plimsoll/internal/mac"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/judge"
)

// Options are what a study needs besides its specification.
type Options struct {
	Runner   study.Runner
	Clock    study.Clock // nil for the real one
	Dir      string      // of the study; [Resume] has its own argument for it
	Tool     record.Tool
	Command  []string
	Progress Progress        // nil for none
	Abort    <-chan struct{} // closed: end the trial under way at once
	Plan     study.PlanOptions
	Labs     run.Labs // brings up the lab of a study that has one; nil if it cannot
	// Storage opens the storage of the target of a study with a platform; nil if it cannot.
	Storage func(context.Context, spec.Study) (Storage, error)
	Budget  Budget // says how much may still be done; nil is all of it
	// Key marks the study as one of this user, for [Resume] without Spec. A nil key marks nothing.
	Key *mac.Key

	// Asked is the specification before scaling, for the record; nil if there is no scale.
	Asked *spec.Study
	// Spec is the complete specification as it is now, for [Resume]. It must be the one that the study began with. It
	// is needed if that has credentials, because records do not have them, and if the user of Key did not write the
	// record, because it says what is started. nil uses the recorded one.
	Spec *spec.Study
	// RetryFailed makes [Resume] repeat trials that failed or timed out. Lost ones are always repeated.
	RetryFailed bool
	// TakeLeft makes [Resume] also run trials that were skipped for lack of time.
	TakeLeft bool
	// Drop allows dropping data that this study did not load, if trials need fresh data.
	Drop bool
	// Free returns the free bytes at a directory; nil for [record.FreeBytes].
	Free func(dir string) (bytes uint64, known bool)
}

// Progress receives the progress of a study. Calls come from one goroutine at a time and must return soon.
type Progress interface {
	// Begin is called before a trial, End after it.
	Begin(Status)
	End(record.Trial)
	// Note is a message in one line that is not about a trial.
	Note(text string)
}

// Status is the state of a study when a trial begins.
type Status struct {
	Trial     record.Trial
	Done      int // trials of Total that are over; those of procedures are not counted
	Total     int // 0 while a procedure runs: it decides itself how many it needs
	Blocks    int
	Procedure string
	// Left is the estimated time of the rest, from the previous trials; 0 if unknown.
	Left time.Duration
}

// Run runs a complete study ([study.Complete]) in a new directory. It returns the record without credentials, also with
// an error. The error is a [*campaign.Stop] if the study can be resumed, otherwise a [*run.Error]. The record is
// nil if the study could not begin.
func Run(ctx context.Context, want spec.Study, o Options) (*record.Study, error) {
	o.defaults()
	plan, err := study.NewPlan(want, o.Plan)
	if err != nil {
		return nil, campaign.Wrong(err)
	}
	w, end, err := campaign.Create[*record.Study](o.Dir, want, o.Key)
	if err != nil {
		return nil, err
	}
	defer end()
	s := &record.Study{
		Head: record.Head{SchemaVersion: record.SchemaVersion, Kind: record.KindStudy, Status: record.Running, Tool: o.Tool,
			Command: o.Command,
			Started: o.Clock.Now().UTC(), Environment: environment(o.Dir, want.Run.Target), Validity: []measure.Finding{}},
	}
	s.Specification = record.Redacted(plan.Spec, plan.Spec)
	if o.Asked != nil {
		asked := record.Redacted(*o.Asked, *o.Asked)
		s.Asked = &asked
	}
	c := newSession(o, w, s, want)
	if err := c.adopt(plan); err != nil {
		return nil, err
	}
	return c.perform(ctx)
}

func (o *Options) defaults() {
	if o.Clock == nil {
		o.Clock = realClock{}
	}
	if o.Progress == nil {
		o.Progress = silent{}
	}
	if o.Free == nil {
		o.Free = record.FreeBytes
	}
	if o.Plan.Metric == nil {
		o.Plan.Metric = func(name string) (string, error) {
			m, err := judge.ParseMetric(name)
			return m.Class, err
		}
	}
}

// realClock is the time of this machine.
type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func (realClock) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// silent is the [Progress] of a study without one.
type silent struct{}

func (silent) Begin(Status)     {}
func (silent) End(record.Trial) {}
func (silent) Note(string)      {}
