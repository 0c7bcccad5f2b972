// Package study plans comparisons: it makes configurations from a base run, factors and levels, and trials from
// configurations, in an order that separates drift from effect, with an estimate of time and disk space.
//
// It runs nothing: study/conduct runs plans and writes records, study/procedure finds baselines and capacities,
// study/judge finds significant differences, study/simulatedtest is a target with known effects.
package study

import (
	"context"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Runner runs a trial. The real one makes a run, the simulated one computes it from known effects.
type Runner interface {
	// Trial returns what was measured, also with an error if a part was. A trial whose deadline passed returns
	// context.DeadlineExceeded.
	Trial(ctx context.Context, r Request) (Result, error)
}

// Request is one trial to run.
type Request struct {
	// Spec has defaults and passed [spec.Run.Validate].
	Spec spec.Run
	Dir  string // of its record
	// Configuration and Trial name it in progress.
	Configuration string
	Trial         int
	// Number, if not 0, is that of its run (see run.Options): higher than those of all previous trials.
	Number uint64
	// Abort ends the trial at once when it is closed, without waiting for operations under way; nil is never.
	Abort <-chan struct{}
}

// Result is what a trial left: its record, and its course if a procedure asks for it.
type Result struct {
	Run *record.Run
	// Seconds returns the course of the trial, including warm-up, one entry per interval. It reads the record.
	Seconds func() ([]Second, error)
	// Intervals calls a function with each interval of the trial. It reads the record.
	Intervals func(func(*measure.Interval) error) error
}

// Second is what happened in one interval of a trial.
type Second struct {
	Phase string
	// Start is since the beginning of the run; Length is one second but for the last one of a phase.
	Start, Length time.Duration
	// Rate is successful operations per second.
	Rate float64
}

// Clock is time and waiting; simulations have their own.
type Clock interface {
	Now() time.Time
	Sleep(ctx context.Context, d time.Duration) error
}
