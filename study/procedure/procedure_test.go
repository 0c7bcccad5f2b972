package procedure_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/procedure"
	"github.com/plimsoll-bench/plimsoll/study/simulatedtest"
)

// base is the run that procedures begin with.
func base() spec.Run {
	asked := spec.Run{Target: "null:", Load: spec.Load{Workers: 16, Duration: spec.Duration(30 * time.Second)}}
	asked.Defaults()
	return asked
}

func findThreads(ctx context.Context, base spec.Run, asked spec.Threads,
	try procedure.Try) (record.ProcedureResult, error) {
	asked.Defaults()
	return procedure.Threads(ctx, base, asked, try)
}

func findSteady(ctx context.Context, base spec.Run, asked spec.Steady,
	try procedure.Try) (record.ProcedureResult, error) {
	asked.Defaults()
	return procedure.Steady(ctx, base, asked, try)
}

func findCapacity(ctx context.Context, base spec.Run, objectives []string, asked spec.CapacitySearch,
	try procedure.Try) (record.CapacityResult, error) {
	asked.Defaults()
	return procedure.Capacity(ctx, base, objectives, asked, try)
}

// tries makes trials with a runner, and keeps what they were called.
type tries struct {
	t      *testing.T
	runner *simulatedtest.Runner
	what   []string
	specs  []spec.Run
}

func newTries(t *testing.T, g simulatedtest.Target, seed uint64) *tries {
	return &tries{t: t, runner: simulatedtest.New(g, seed)}
}

// try is what a study does for a procedure, without the records.
func (x *tries) try(ctx context.Context, asked spec.Run, what string) (study.Result, record.Trial, error) {
	if err := asked.Validate(); err != nil {
		x.t.Errorf("%s: the specification is not valid: %v", what, err)
	}
	if slices.Contains(x.what, what) {
		x.t.Errorf("two trials are called %q", what)
	}
	x.what, x.specs = append(x.what, what), append(x.specs, asked)
	trial := record.Trial{Number: len(x.what), Kind: record.TrialSearch, Status: record.TrialDone,
		Record: fmt.Sprintf("procedures/%03d", len(x.what))}
	r, err := x.runner.Trial(ctx, study.Request{Spec: asked, Trial: trial.Number})
	if err != nil && ctx.Err() == nil {
		trial.Status, trial.Problem, err = record.TrialFailed, err.Error(), nil
	}
	return r, trial, err
}

// say checks that a text says something.
func say(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%q lacks %q", text, w)
		}
	}
}

// A procedure asks for the same trials again when it sees the same results: an interrupted one goes on where it was.
func TestSameResultsSameTrials(t *testing.T) {
	g := simulatedtest.Target{Think: 2 * time.Millisecond, Noise: 0.02, SecondNoise: 0.02, Interval: time.Second}
	run := func() []string {
		x := newTries(t, g, 3)
		ctx := context.Background()
		if _, err := findThreads(ctx, base(), spec.Threads{Duration: spec.Duration(5 * time.Second)},
			x.try); err != nil {
			t.Fatal(err)
		}
		if _, err := findSteady(ctx, base(), spec.Steady{Cycle: spec.Duration(5 * time.Second)}, x.try); err != nil {
			t.Fatal(err)
		}
		if _, err := findCapacity(ctx, base(), []string{"p99<10ms"},
			spec.CapacitySearch{Duration: spec.Duration(5 * time.Second)}, x.try); err != nil {
			t.Fatal(err)
		}
		return x.what
	}
	if d := cmp.Diff(run(), run()); d != "" {
		t.Errorf("other trials the second time:\n%s", d)
	}
}

// An error that is not a trial's own ends a procedure, and what was found until then is kept.
func TestErrorsEndProcedures(t *testing.T) {
	full := errors.New("the disk is full")
	for name, f := range map[string]func(context.Context, procedure.Try) (int, string, error){
		"threads": func(ctx context.Context, try procedure.Try) (int, string, error) {
			r, err := findThreads(ctx, base(), spec.Threads{Trials: 1}, try)
			return len(r.Points), r.Reason, err
		},
		"steady": func(ctx context.Context, try procedure.Try) (int, string, error) {
			r, err := findSteady(ctx, base(), spec.Steady{}, try)
			return len(r.Points), r.Reason, err
		},
		"capacity": func(ctx context.Context, try procedure.Try) (int, string, error) {
			r, err := findCapacity(ctx, base(), nil, spec.CapacitySearch{}, try)
			return len(r.Steps), r.Reason, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			x, n := newTries(t, simulatedtest.Target{Trend: 0.5}, 1), 0
			points, reason, err := f(context.Background(), func(ctx context.Context, asked spec.Run, what string) (study.Result,
				record.Trial, error) {
				if n++; n == 2 {
					return study.Result{}, record.Trial{}, full
				}
				return x.try(ctx, asked, what)
			})
			if !errors.Is(err, full) || points != 1 || reason == "" {
				t.Errorf("%d points, reason %q, error %v", points, reason, err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			if _, _, err := f(ctx, x.try); !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled: %v", err)
			}
		})
	}
}

// Objectives that cannot be read are refused before any trial.
func TestRefused(t *testing.T) {
	x := newTries(t, simulatedtest.Target{}, 1)
	if _, err := findCapacity(context.Background(), base(), []string{"fast"}, spec.CapacitySearch{}, x.try); err == nil ||
		!strings.Contains(err.Error(), "objective") {
		t.Errorf("got %v, want something about the objective", err)
	}
	if len(x.what) > 0 {
		t.Errorf("trials were made: %q", x.what)
	}
}
