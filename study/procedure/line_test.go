package procedure_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/procedure"
	"github.com/plimsoll-bench/plimsoll/study/search"
	"github.com/plimsoll-bench/plimsoll/study/simulatedtest"
)

// overloaded searches from a rate that the target does not carry, with a finding in each run.
func overloaded(t *testing.T, event bool, finding string, left func() time.Duration) record.LoadLine {
	t.Helper()
	asked := spec.CapacitySearch{From: 20_000, Steps: 3}
	asked.Defaults()
	b := base()
	b.Load.Duration = short
	runner := simulatedtest.New(queueing, 1)
	pace := search.Pace{Step: 10 * time.Second, Trial: 25 * time.Second, Around: 4 * time.Second}
	l, err := procedure.Line(t.Context(), procedure.LineOptions{Base: b, Objectives: tenMillis, Search: asked, Pace: pace,
		Event: event, Left: left},
		func(ctx context.Context, s procedure.Step) (procedure.StepResult, error) {
			r, err := runner.Trial(ctx, study.Request{Spec: s.Spec})
			if err == nil && finding != "" {
				r.Run.Validity = append(r.Run.Validity, measure.Finding{ID: finding, Severity: measure.Warning})
			}
			return procedure.StepResult{Run: r.Run, Intervals: r.Intervals, Event: event,
				Step: record.LineStep{Seconds: 70}}, err
		})
	if err != nil || len(l.Steps) == 0 {
		t.Fatalf("%v, %+v", err, l)
	}
	return l
}

// While a member is down, operations wait for connections: that is the target and not the load generator, whose
// processors are its own.
func TestWaitsOfAnEventAreNotTheClient(t *testing.T) {
	for _, x := range []struct {
		event   bool
		finding string
		verdict record.LineVerdict
	}{{true, "pool-wait", record.StepMissed}, {false, "pool-wait", record.StepClient}, {true, "client-cpu", record.StepClient},
		{true, "", record.StepMissed}} {
		if got := overloaded(t, x.event, x.finding, nil).Steps[0]; got.Verdict != x.verdict {
			t.Errorf("event %v with %q: %s (%s)", x.event, x.finding, got.Verdict, got.Why)
		}
	}
}

// A search does not begin a step that there is no time for, also if drills take longer than planned.
func TestStepsFitTheTime(t *testing.T) {
	for want, after := range map[int]time.Duration{3: 150 * time.Second, 1: 30 * time.Second} { // a drill takes 70 s
		left := 100 * time.Second
		l := overloaded(t, true, "", func() time.Duration {
			defer func() { left = after }()
			return left
		})
		if len(l.Steps) != want {
			t.Errorf("%d drills with %v left after the first one, want %d", len(l.Steps), after, want)
		}
	}
}

// A line that the load generator left open does not blame the time.
func TestLineThatTheClientLeftOpen(t *testing.T) {
	for _, x := range []struct {
		slow float64 // from the third step on
		says string
	}{{5, "the load generator was the limit of "}, {1, "the time was not enough"}} {
		asked := spec.CapacitySearch{From: 2000, Steps: 9}
		asked.Defaults()
		g, b := queueing, base()
		b.Load.Duration = short
		g.Trouble = func(n int, _ study.Request) simulatedtest.Trouble {
			if n > 2 {
				return simulatedtest.Trouble{Slow: x.slow}
			}
			return simulatedtest.Trouble{}
		}
		runner := simulatedtest.New(g, 1)
		l, err := procedure.Line(t.Context(), procedure.LineOptions{Base: b, Objectives: tenMillis, Search: asked,
			Pace: search.Pace{Step: 10 * time.Second, Trial: 10 * time.Second}},
			func(ctx context.Context, s procedure.Step) (procedure.StepResult, error) {
				r, err := runner.Trial(ctx, study.Request{Spec: s.Spec})
				if x.slow > 1 {
					r.Run.Validity = append(r.Run.Validity, measure.Finding{ID: "client-cpu", Severity: measure.Warning})
				}
				return procedure.StepResult{Run: r.Run, Intervals: r.Intervals}, err
			})
		if err != nil || l.Status != record.LineUndecided || len(l.Doubts) == 0 {
			t.Fatalf("%v, %+v", err, l)
		}
		say(t, l.Doubts[0], x.says)
	}
}

// A line whose trials do not reach the confidence at the precision says so. A line that does is not accused.
func TestLineWithoutConfidence(t *testing.T) {
	for _, x := range []struct {
		noise     float64
		precision spec.Share
		doubted   bool
	}{{0.1, 0.05, true}, {0, 0.1, false}} {
		asked := spec.CapacitySearch{From: 2000, Precision: x.precision}
		asked.Defaults()
		g, b := queueing, base()
		g.Noise = x.noise
		b.Load.Duration = short
		runner := simulatedtest.New(g, 1)
		l, err := procedure.Line(t.Context(), procedure.LineOptions{Base: b, Objectives: tenMillis, Search: asked,
			Pace: search.Pace{Step: 10 * time.Second, Trial: 25 * time.Second}},
			func(ctx context.Context, s procedure.Step) (procedure.StepResult, error) {
				r, err := runner.Trial(ctx, study.Request{Spec: s.Spec})
				return procedure.StepResult{Run: r.Run, Intervals: r.Intervals}, err
			})
		if err != nil || l.Status != record.LineFound || l.Wrong == nil || l.Precision != float64(x.precision) {
			t.Fatalf("%v, %+v", err, l)
		}
		doubted := slices.ContainsFunc(l.Doubts, func(d string) bool {
			return strings.HasPrefix(d, "it is not sure, so plan with its low end, ")
		})
		if doubted != x.doubted || doubted != (*l.Wrong > 0.05) {
			t.Errorf("noise %v: wrong with %v: %q", x.noise, *l.Wrong, l.Doubts)
		}
	}
}

// Objectives that no step has enough operations for are not known, which is not that no rate holds them.
func TestObjectivesThatAreNotKnown(t *testing.T) {
	for objective, want := range map[string]record.LineStatus{"p99.99<1s": record.LineUndecided, "p99<10us": record.LineNone} {
		asked := spec.CapacitySearch{From: 10, To: 100}
		asked.Defaults()
		b := base()
		b.Load.Duration = short
		runner := simulatedtest.New(queueing, 1)
		l, err := procedure.Line(t.Context(), procedure.LineOptions{Base: b, Objectives: []string{objective}, Search: asked,
			Pace: search.Pace{Step: 10 * time.Second, Trial: 10 * time.Second}},
			func(ctx context.Context, s procedure.Step) (procedure.StepResult, error) {
				r, err := runner.Trial(ctx, study.Request{Spec: s.Spec})
				return procedure.StepResult{Run: r.Run, Intervals: r.Intervals}, err
			})
		if err != nil || l.Status != want || l.Rate != 0 {
			t.Fatalf("%s: %v, %+v", objective, err, l)
		}
		if want == record.LineUndecided {
			say(t, l.Problem, "no step had enough operations")
		}
	}
}
