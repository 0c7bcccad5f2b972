package loadline_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/campaign"
	"github.com/plimsoll-bench/plimsoll/loadline"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/simulatedtest"
)

// queueing is a target whose capacity is known.
var queueing = simulatedtest.Target{Servers: 8, Interval: time.Second, Overhead: 2 * time.Second,
	Classes: []simulatedtest.Class{{Name: "read", Share: 1, Time: 1}}}

// bench is a simulated deployment in virtual time.
type bench struct {
	runner *simulatedtest.Runner
	runs   int
	before func(n int) error // before the n-th step; nil for nothing
	counts int               // steps that counted the documents
}

func newBench() *bench { return benchOf(queueing) }

func benchOf(g simulatedtest.Target) *bench {
	b := &bench{runner: simulatedtest.New(g, 3)}
	b.runner.Write = true
	return b
}

func (b *bench) options(dir string) loadline.Options {
	return loadline.Options{Dir: dir, Run: run.Options{Now: b.runner.Clock().Now, Tool: record.Tool{Name: "plimsoll",
		Version: "test"}},
		Execute: func(ctx context.Context, asked spec.Run, o run.Options) (*record.Run, error) {
			if asked.LoadPhase.Only {
				return nil, nil
			}
			b.runs++
			if b.before != nil {
				if err := b.before(b.runs); err != nil {
					return nil, err
				}
			}
			r, err := b.runner.Trial(ctx, study.Request{Spec: asked, Dir: o.Dir})
			if r.Run == nil {
				return nil, err
			}
			if r.Run.Fill = o.Loaded; o.Loaded == nil {
				b.counts++
				r.Run.Fill = &record.FillResult{Records: 100, Counted: 100, Skipped: true}
			}
			return r.Run, err
		}}
}

func asked(t *testing.T) spec.Capacity {
	t.Helper()
	c := spec.Capacity{Run: spec.Run{Target: "null:"}, Objectives: []string{"p99<10ms"}}
	if err := c.Complete(); err != nil {
		t.Fatal(err)
	}
	return c
}

func checkFound(t *testing.T, c *record.Capacity, err error) {
	t.Helper()
	if err != nil || len(c.Lines) != 1 {
		t.Fatalf("%+v, %v", c, err)
	}
	l := c.Lines[0]
	want := queueing.Capacity(0.99, 10*time.Millisecond)
	if l.Status != record.LineFound || math.Abs(l.Rate/want-1) > 0.05 || l.Low == nil || l.High == nil ||
		l.Wrong == nil || *l.Wrong > 0.3 {
		t.Errorf("%s, %v (truth %.0f): %s", l.Status, l.Rate, want, l.Reason)
	}
	if c.Status != record.Complete || c.Safe != spec.AllMembersUp || c.Conclude() != record.Satisfied {
		t.Errorf("%s, safe %q, %s", c.Status, c.Safe, c.Conclude())
	}
}

// The line is found within the time, in about the planned time, and the record reads as it was returned.
func TestLineIsFoundInTime(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "capacity")
	b := newBench()
	c, err := loadline.Run(t.Context(), asked(t), b.options(dir))
	checkFound(t, c, err)
	within := 5 * time.Minute
	if b.counts != 1 {
		t.Errorf("%d steps counted the documents", b.counts)
	}
	if c.Seconds > within.Seconds() || math.Abs(c.Seconds/c.Estimate-1) > 0.25 {
		t.Errorf("it took %.0f s, planned were %.0f s of %v", c.Seconds, c.Estimate, within)
	}
	again, err := record.OpenCapacity(dir)
	checkFound(t, again, err)
	for _, s := range again.Lines[0].Steps {
		if s.Verdict == "" || record.KindIn(filepath.Join(dir, s.Record)) != record.KindRun {
			t.Errorf("step %d: %q in %s", s.Number, s.Verdict, s.Record)
		}
	}
}

// An interrupted search has the answer so far, and continues without repeating a step.
func TestInterruptedSearchContinues(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "capacity")
	b := newBench()
	ctx, cancel := context.WithCancel(t.Context())
	b.before = func(n int) error {
		if n == 7 {
			cancel()
			return context.Canceled
		}
		return nil
	}
	c, err := loadline.Run(ctx, asked(t), b.options(dir))
	if campaign.ConcludeError(err) != record.Ended || c.Status != record.Interrupted ||
		!strings.Contains(err.Error(), "plimsoll capacity resume") {
		t.Fatalf("%v, %+v", err, c)
	}
	if l := c.Lines[0]; l.Status != record.LineUndecided || l.Rate == 0 || len(l.Steps) != 6 {
		t.Errorf("%s, %v/s after %d steps", l.Status, l.Rate, len(l.Steps))
	}
	b.before = nil
	given := asked(t)
	c, err = loadline.Resume(t.Context(), &given, b.options(dir))
	checkFound(t, c, err)
	if want := len(c.Lines[0].Steps) + 1; b.runs != want {
		t.Errorf("%d runs for %d steps: a finished step was repeated", b.runs, want-1)
	}
}

// A killed search can be shown and continued: its steps are in the journal, and the running one is lost.
func TestKilledSearchContinues(t *testing.T) {
	dir, killed := filepath.Join(t.TempDir(), "capacity"), filepath.Join(t.TempDir(), "killed")
	b := newBench()
	b.before = func(n int) error {
		if n == 6 {
			return os.CopyFS(killed, os.DirFS(dir))
		}
		return nil
	}
	if _, err := loadline.Run(t.Context(), asked(t), b.options(dir)); err != nil {
		t.Fatal(err)
	}
	c, err := record.OpenCapacity(killed)
	if err != nil || c.Status != record.Killed {
		t.Fatalf("%v, %+v", err, c)
	}
	if steps := c.Lines[0].Steps; len(steps) != 6 || steps[4].Verdict == record.StepLost ||
		steps[5].Verdict != record.StepLost {
		t.Errorf("%+v", steps)
	}
	given, again := asked(t), newBench()
	c, err = loadline.Resume(t.Context(), &given, again.options(killed))
	checkFound(t, c, err)
	if again.runs != len(c.Lines[0].Steps)-5 {
		t.Errorf("%d runs for %d steps, of which 5 were finished", again.runs, len(c.Lines[0].Steps))
	}
	if _, err := loadline.Resume(t.Context(), nil, again.options(killed)); err == nil ||
		!strings.Contains(err.Error(), "--file") {
		t.Errorf("a record of nobody's: %v", err)
	}
}

// A line that was found and is not sure gets more trials, and keeps those that it has. One that is sure is left alone.
func TestLineThatIsNotSureContinues(t *testing.T) {
	noisy := queueing
	noisy.Noise = 0.06
	for name, x := range map[string]struct {
		target simulatedtest.Target
		sure   bool
	}{"noisy": {noisy, false}, "quiet": {queueing, true}} {
		t.Run(name, func(t *testing.T) {
			dir, b, given := filepath.Join(t.TempDir(), "capacity"), benchOf(x.target), asked(t)
			before, err := loadline.Run(t.Context(), given, b.options(dir))
			if err != nil || before.Lines[0].Status != record.LineFound || before.Lines[0].Sure() != x.sure {
				t.Fatalf("%v, %+v", err, before)
			}
			had, runs := before.Lines[0], b.runs
			c, err := loadline.Resume(t.Context(), &given, b.options(dir))
			if err != nil || c.Lines[0].Status != record.LineFound || len(c.Lines[0].Steps) < len(had.Steps) {
				t.Fatalf("%v, %+v", err, c)
			}
			l := c.Lines[0]
			for i, s := range had.Steps {
				if now := l.Steps[i]; now.Record != s.Record || now.Verdict != s.Verdict || now.Offered != s.Offered {
					t.Errorf("step %d was %+v and is %+v", i+1, s, now)
				}
			}
			if more := len(l.Steps) - len(had.Steps); more != b.runs-runs || (more == 0) != x.sure {
				t.Errorf("%d more steps in %d runs", more, b.runs-runs)
			}
			if !x.sure && *l.Wrong >= *had.Wrong {
				t.Errorf("wrong with %v after more trials, before with %v", *l.Wrong, *had.Wrong)
			}
			if doubted := len(l.Doubts) > 0; doubted == l.Sure() {
				t.Errorf("wrong with %v, and the doubts are %q", *l.Wrong, l.Doubts)
			}
		})
	}
}
