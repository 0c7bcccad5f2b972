package conduct

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/simulated"
)

// A study all of whose trials failed is through, and says that it is worth nothing.
func TestNothingDone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	b := newBench(simulated.Target{Trouble: func(int, study.Request) simulated.Trouble {
		return simulated.Trouble{Err: errors.New("it fell over")}
	}})
	s, err := Run(t.Context(), smallStudy(func(s *record.StudySpec) { s.Trials = 1 }), b.options(dir))
	if err != nil || s.Status != record.Complete || !has(s.Validity, "nothing-done") || measure.Worst(s.Validity) != measure.Invalid {
		t.Fatalf("%v, study %s, findings %+v", err, s.Status, s.Validity)
	}
	again := newBench(simulated.Target{})
	o := again.options("")
	o.RetryFailed = true
	if s, err = Resume(t.Context(), dir, o); err != nil {
		t.Fatal(err)
	}
	finished(t, dir, s, 2)
	if has(s.Validity, "nothing-done") {
		t.Errorf("it is still said: %+v", s.Validity)
	}
}

func TestWhatPausesAStudy(t *testing.T) {
	for _, c := range []struct {
		reason Reason
		err    error
		text   string
	}{
		{DiskFull, fmt.Errorf("write: %w", syscall.ENOSPC), "trial 2 was given up and will be repeated: free space"},
		{Unreachable, &run.Error{Stage: run.Reaching, Err: errors.New("nobody listens at db1; check the address")}, "nobody listens at db1; check the address. Then go on"},
	} {
		dir := filepath.Join(t.TempDir(), "study")
		b := newBench(simulated.Target{})
		b.before = func(_ context.Context, q study.Request) error {
			if q.Trial == 2 {
				return c.err
			}
			return nil
		}
		s, err := Run(t.Context(), smallStudy(nil), b.options(dir))
		var stop *Stop
		if !errors.As(err, &stop) || stop.Reason != c.reason || !strings.Contains(err.Error(), c.text) {
			t.Fatalf("%s: error %v", c.reason, err)
		}
		if s.Status != record.Interrupted || s.Trials[1].Status != record.TrialLost {
			t.Errorf("%s: status %s, trial %+v", c.reason, s.Status, s.Trials[1])
		}
		again := newBench(simulated.Target{})
		if s, err = Resume(t.Context(), dir, again.options("")); err != nil {
			t.Fatal(err)
		}
		finished(t, dir, s, 6)
	}
}

func TestNoRoomForTheNextTrial(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	b := newBench(simulated.Target{})
	o := b.options(dir)
	free := uint64(1 << 30)
	o.Free = func(string) (uint64, bool) { return free, true }
	o.Progress = &watch{end: func(record.Trial) { free = 1 << 20 }}
	s, err := Run(t.Context(), smallStudy(nil), o)
	var stop *Stop
	if !errors.As(err, &stop) || stop.Reason != DiskFull || !strings.Contains(err.Error(), "only 1.00 MiB are free in "+dir) {
		t.Fatalf("error %v", err)
	}
	if len(b.asked) != 1 || s.Status != record.Interrupted {
		t.Errorf("%d trials, status %s", len(b.asked), s.Status)
	}
	free, o.Progress = 1<<30, nil
	if s, err = Resume(t.Context(), dir, o); err != nil {
		t.Fatal(err)
	}
	finished(t, dir, s, 6)
}

func TestBudgetOfASession(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	b := newBench(simulated.Target{Overhead: 10 * time.Second})
	spec := smallStudy(func(s *record.StudySpec) { s.Budget = record.Duration(30 * time.Second) })
	s, err := Run(t.Context(), spec, b.options(dir))
	var stop *Stop
	if !errors.As(err, &stop) || stop.Reason != BudgetUsed || !strings.Contains(err.Error(), "the budget of 30.0 s is used up with 4 trials left") {
		t.Fatalf("error %v", err)
	}
	for range 2 {
		if s.Status != record.Interrupted {
			t.Errorf("status %s", s.Status)
		}
		s, err = Resume(t.Context(), dir, b.options(""))
	}
	if err != nil {
		t.Fatal(err)
	}
	finished(t, dir, s, 6)
}

func TestSettleAndReload(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	b := newBench(simulated.Target{})
	before := b.Clock().Now()
	spec := smallStudy(func(s *record.StudySpec) {
		s.Settle, s.Reload, s.Run.Target = record.Duration(time.Minute), true, "embedded:"+filepath.Join(t.TempDir(), "data")
	})
	s, err := Run(t.Context(), spec, b.options(dir))
	if err != nil {
		t.Fatal(err)
	}
	finished(t, dir, s, 6)
	if passed := b.Clock().Now().Sub(before); passed < 6*time.Minute {
		t.Errorf("it took %v, with six pauses of a minute", passed)
	}
	for _, q := range b.asked {
		if !q.Spec.LoadPhase.Drop {
			t.Errorf("trial %d does not load anew", q.Trial)
		}
	}
}
