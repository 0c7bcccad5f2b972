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
	"github.com/plimsoll-bench/plimsoll/study/simulated"
)

// base is the run that procedures begin with.
func base() spec.Run {
	asked := spec.Run{Target: "null:", Load: spec.Load{Workers: 16, Duration: spec.Duration(30 * time.Second)}}
	asked.Defaults()
	return asked
}

// tries makes trials with a runner, and keeps what they were called.
type tries struct {
	t      *testing.T
	runner *simulated.Runner
	what   []string
	specs  []spec.Run
}

func newTries(t *testing.T, g simulated.Target, seed uint64) *tries {
	return &tries{t: t, runner: simulated.New(g, seed)}
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
			t.Errorf("%q does not say %q", text, w)
		}
	}
}

// A procedure asks for the same trials again when it sees the same results: an interrupted one goes on where it was.
func TestSameResultsSameTrials(t *testing.T) {
	g := simulated.Target{Think: 2 * time.Millisecond, Noise: 0.02, SecondNoise: 0.02, Interval: time.Second}
	run := func() []string {
		x := newTries(t, g, 3)
		ctx := context.Background()
		if _, err := procedure.Threads(ctx, base(), spec.Threads{Duration: spec.Duration(5 * time.Second)},
			x.try); err != nil {
			t.Fatal(err)
		}
		if _, err := procedure.Steady(ctx, base(), spec.Steady{Cycle: spec.Duration(5 * time.Second)}, x.try); err != nil {
			t.Fatal(err)
		}
		if _, err := procedure.Capacity(ctx, base(), []string{"p99<10ms"},
			spec.Capacity{Duration: spec.Duration(5 * time.Second)}, x.try); err != nil {
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
			r, err := procedure.Threads(ctx, base(), spec.Threads{Trials: 1}, try)
			return len(r.Points), r.Reason, err
		},
		"steady": func(ctx context.Context, try procedure.Try) (int, string, error) {
			r, err := procedure.Steady(ctx, base(), spec.Steady{}, try)
			return len(r.Points), r.Reason, err
		},
		"capacity": func(ctx context.Context, try procedure.Try) (int, string, error) {
			r, err := procedure.Capacity(ctx, base(), nil, spec.Capacity{}, try)
			return len(r.Steps), r.Reason, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			x, n := newTries(t, simulated.Target{Trend: 0.5}, 1), 0
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

// Specifications that lead nowhere are refused before any trial.
func TestRefused(t *testing.T) {
	x := newTries(t, simulated.Target{}, 1)
	ctx := context.Background()
	staged := base()
	staged.Load.Stages = []spec.Stage{{Duration: spec.Duration(time.Second), Workers: 4}}
	for _, c := range []struct {
		want string
		f    func() error
	}{
		{"load.stages", func() error { _, err := procedure.Threads(ctx, staged, spec.Threads{}, x.try); return err }},
		{"load.stages", func() error { _, err := procedure.Steady(ctx, staged, spec.Steady{}, x.try); return err }},
		{"load.stages", func() error { _, err := procedure.Capacity(ctx, staged, nil, spec.Capacity{}, x.try); return err }},
		{"by: duration", func() error {
			_, err := procedure.Steady(ctx, base(), spec.Steady{By: "weeks"}, x.try)
			return err
		}},
		{"factor", func() error {
			_, err := procedure.Steady(ctx, base(), spec.Steady{Factor: 0.5}, x.try)
			return err
		}},
		{"rising", func() error {
			_, err := procedure.Steady(ctx, base(), spec.Steady{From: 100, To: 10}, x.try)
			return err
		}},
		{"second by second", func() error {
			_, err := procedure.Steady(ctx, base(), spec.Steady{Cycle: 1000}, x.try)
			return err
		}},
		{"growth", func() error {
			_, err := procedure.Capacity(ctx, base(), nil, spec.Capacity{Growth: 1}, x.try)
			return err
		}},
		{"precision", func() error {
			_, err := procedure.Capacity(ctx, base(), nil, spec.Capacity{Precision: 0.9}, x.try)
			return err
		}},
		{"below from", func() error {
			_, err := procedure.Capacity(ctx, base(), nil, spec.Capacity{From: 10, To: 5}, x.try)
			return err
		}},
		{"objective", func() error {
			_, err := procedure.Capacity(ctx, base(), []string{"fast"}, spec.Capacity{}, x.try)
			return err
		}},
	} {
		if err := c.f(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want something about %q", err, c.want)
		}
	}
	if len(x.what) > 0 {
		t.Errorf("trials were made: %q", x.what)
	}
}
