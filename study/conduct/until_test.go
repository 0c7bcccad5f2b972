package conduct

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/campaign/campaigntest"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/judge"
	"github.com/plimsoll-bench/plimsoll/study/simulatedtest"
)

// until is a study that ends when it can tell.
func until(change func(*spec.Study)) spec.Study {
	return smallStudy(func(s *spec.Study) {
		s.Trials, s.UntilDecided, s.Metrics = 16, true, []string{"throughput"}
		s.Factors = []spec.Factor{{Path: "load.timeout", Levels: []spec.Level{{Value: "10s"}, {Value: "20s"}}}}
		if change != nil {
			change(s)
		}
	})
}

// slower is a target on which a longer timeout is slower by a factor; trials scatter by 1 %.
func slower(factor float64) simulatedtest.Target {
	return simulatedtest.Target{Noise: 0.01, Effects: []simulatedtest.Effect{
		{When: func(r spec.Run) bool { return r.Load.Timeout == spec.Duration(20*time.Second) }, Factor: factor}}}
}

// A study until decided ends at the first look at which it can tell, and a resume leaves it alone.
func TestUntilDecidedEndsAtAVerdict(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	b := newBench(slower(0.5))
	s, err := runStudy(t.Context(), until(nil), b.options(dir))
	if err != nil || count(s, record.TrialDone) != 8 || count(s, record.TrialLeft) != 24 || len(s.Looks) != 1 {
		t.Fatalf("%v: %d done, looks %+v", err, count(s, record.TrialDone), s.Looks)
	}
	c := s.Comparisons[0]
	if c.Verdict != record.Worse || c.Pairs != 4 || math.Abs(s.Looks[0].Level-0.025) > 1e-9 {
		t.Errorf("%+v, looks %+v, findings %+v", c, s.Looks, s.Validity)
	}
	asked := len(b.asked)
	if s, err = Resume(t.Context(), dir, b.options("")); err != nil || len(b.asked) != asked || !judge.Decided(s) {
		t.Errorf("%v: a resume ran %d more trials", err, len(b.asked)-asked)
	}
}

// Without a difference that can be told, the study ends at its budget; a resume continues it with a new one.
func TestUntilDecidedEndsAtItsBudget(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	target := slower(1)
	target.Noise = 0.3 // nothing can be told
	b := newBench(target)
	asked := until(func(s *spec.Study) { s.Budget = spec.Duration(time.Minute) })
	s, err := runStudy(t.Context(), asked, b.options(dir))
	done := count(s, record.TrialDone)
	if err != nil || done < 8 || done >= 32 || done%2 > 0 || s.Status != record.Complete || judge.Decided(s) {
		t.Fatalf("%v: %d done", err, done)
	}
	left := slices.IndexFunc(s.Trials, func(t record.Trial) bool { return t.Status == record.TrialLeft })
	if !strings.Contains(s.Trials[left].Problem, "no time for another block within 1m") {
		t.Errorf("%q", s.Trials[left].Problem)
	}
	again := *completed(t, asked)
	again.Budget = spec.Duration(time.Hour)
	o := b.options("")
	o.Spec = &again
	if s, err = Resume(t.Context(), dir, o); err != nil || count(s, record.TrialDone) != 32 && !judge.Decided(s) {
		t.Errorf("%v: %d done after the resume", err, count(s, record.TrialDone))
	}
	spent := 0.0
	for _, l := range s.Looks {
		spent += l.Level
	}
	if spent > 0.05+1e-9 {
		t.Errorf("the looks use %v of 5 %%: %+v", spent, s.Looks)
	}
}

// A study that is interrupted within a block has no verdict, and decides like one that was not.
func TestUntilDecidedIsResumed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	ctx, cancel := context.WithCancel(t.Context())
	b := newBench(slower(0.5))
	b.before = func(context.Context, study.Request) error {
		if len(b.asked) == 6 {
			cancel()
			return context.Canceled
		}
		return nil
	}
	s, err := runStudy(ctx, until(nil), b.options(dir))
	if !errors.Is(err, context.Canceled) || len(s.Looks) > 0 || s.Comparisons[0].Verdict != record.Inconclusive {
		t.Fatalf("%v: %+v", err, s.Looks)
	}
	b.before = nil
	if s, err = Resume(t.Context(), dir, b.options("")); err != nil || count(s, record.TrialDone) != 8 ||
		!judge.Decided(s) {
		t.Errorf("%v: %+v", err, s.Looks)
	}
}

func TestKilledUntilDecided(t *testing.T) {
	asked := until(nil)
	k := killing(slower(0.5), asked)
	k.Check = func(t *testing.T, dir string) {
		s, err := record.OpenStudy(dir)
		if err != nil || count(s, record.TrialDone) != 8 || !judge.Decided(s) || len(s.Looks) != 1 {
			t.Errorf("%v: %d done, looks %+v", err, count(s, record.TrialDone), s.Looks)
		}
	}
	k.Jobs, k.Every = 8, 5 // TestKilledStudy is killed at every step
	campaigntest.Killed(t, k)
}
