// Package study plans what is compared: it takes a base run, factors and levels to configurations, and those to
// trials in an order that tells drift from effect, with an estimate of time and disk space before anything runs.
//
// It runs nothing itself: study/conduct performs plans and writes studies down, study/procedure finds baselines and
// capacities, study/judge says what is really different, study/simulated is a target with known effects.
package study

import (
	"context"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Runner performs one trial. The real one makes a run; the simulated one makes it up from known effects.
type Runner interface {
	// Trial does the run that the request asks for. It returns what was measured, also beside an error where a part
	// was. A trial whose deadline passed returns context.DeadlineExceeded.
	Trial(ctx context.Context, r Request) (Result, error)
}

// Request is one trial to be done.
type Request struct {
	// Spec is whole: defaults are filled in, and it passed [spec.Run.Validate].
	Spec spec.Run
	// Dir is where its record goes.
	Dir string
	// Configuration and Trial are what the study calls it, for progress.
	Configuration string
	Trial         int
	// Number, if it is not 0, is that of its run (see run.Options): higher than those of all trials before it.
	Number uint64
	// Abort, when it is closed, ends the trial at once, without waiting for operations under way; nil is never.
	Abort <-chan struct{}
}

// Result is what one trial measured.
type Result struct {
	Run *record.Run
	// Seconds returns the course of the trial, warm-up included, one entry per interval. It reads the record.
	Seconds func() ([]Second, error)
}

// Second is what happened in one interval of a trial.
type Second struct {
	Phase string
	// Start is since the beginning of the run; Length is one second but for the last one of a phase.
	Start, Length time.Duration
	// Rate is successful operations per second, P99 that of all answered operations in it, Failed how many failed.
	Rate   float64
	P99    time.Duration
	Failed int64
}

// Clock is how a study tells the time and waits; simulations bring their own.
type Clock interface {
	Now() time.Time
	Sleep(ctx context.Context, d time.Duration) error
}
