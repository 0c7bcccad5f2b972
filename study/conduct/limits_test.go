package conduct

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/campaign"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/simulatedtest"
)

// A study all of whose trials failed is through, and says that it is worth nothing.
func TestNothingDone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	b := newBench(simulatedtest.Target{Trouble: func(int, study.Request) simulatedtest.Trouble {
		return simulatedtest.Trouble{Err: errors.New("it fell over")}
	}})
	s, err := runStudy(t.Context(), smallStudy(func(s *spec.Study) { s.Trials = 1 }), b.options(dir))
	if err != nil || s.Status != record.Complete || !has(s.Validity, "nothing-done") || measure.Worst(s.Validity) != measure.Invalid {
		t.Fatalf("%v, study %s, findings %+v", err, s.Status, s.Validity)
	}
	again := newBench(simulatedtest.Target{})
	o := again.options("")
	o.RetryFailed = true
	if s, err = Resume(t.Context(), dir, o); err != nil {
		t.Fatal(err)
	}
	finished(t, dir, s, 2)
	if has(s.Validity, "nothing-done") {
		t.Errorf("the finding is still there: %+v", s.Validity)
	}
}

func TestWhatPausesAStudy(t *testing.T) {
	for _, c := range []struct {
		reason campaign.Reason
		err    error
		text   string
	}{
		{campaign.DiskFull, fmt.Errorf("write: %w", syscall.ENOSPC), "trial 2 was aborted and will be repeated. Free space"},
		{campaign.Unreachable, &run.Error{Stage: run.Reaching, Err: errors.New("nobody listens at db1; check the address")}, "nobody listens at db1; check the address. Then continue"},
	} {
		dir := filepath.Join(t.TempDir(), "study")
		b := newBench(simulatedtest.Target{})
		b.before = func(_ context.Context, q study.Request) error {
			if q.Trial == 2 {
				return c.err
			}
			return nil
		}
		s, err := runStudy(t.Context(), smallStudy(nil), b.options(dir))
		var stop *campaign.Stop
		if !errors.As(err, &stop) || stop.Reason != c.reason || !strings.Contains(err.Error(), c.text) {
			t.Fatalf("%s: error %v", c.reason, err)
		}
		if s.Status != record.Interrupted || s.Trials[1].Status != record.TrialLost {
			t.Errorf("%s: status %s, trial %+v", c.reason, s.Status, s.Trials[1])
		}
		again := newBench(simulatedtest.Target{})
		if s, err = Resume(t.Context(), dir, again.options("")); err != nil {
			t.Fatal(err)
		}
		finished(t, dir, s, 6)
	}
}

func TestNoRoomForTheNextTrial(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	b := newBench(simulatedtest.Target{})
	o := b.options(dir)
	free := uint64(1 << 30)
	o.Free = func(string) (uint64, bool) { return free, true }
	o.Progress = &watch{end: func(record.Trial) { free = 1 << 20 }}
	s, err := runStudy(t.Context(), smallStudy(nil), o)
	var stop *campaign.Stop
	if !errors.As(err, &stop) || stop.Reason != campaign.DiskFull || !strings.Contains(err.Error(), "only 1.00 MiB are free in "+dir) {
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
	b := newBench(simulatedtest.Target{Overhead: 10 * time.Second})
	asked := smallStudy(func(s *spec.Study) { s.Budget = spec.Duration(30 * time.Second) })
	s, err := runStudy(t.Context(), asked, b.options(dir))
	var stop *campaign.Stop
	if !errors.As(err, &stop) || stop.Reason != campaign.BudgetUsed || !strings.Contains(err.Error(), "the budget of 30.0 s is used up with 4 trials left") {
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
	b := newBench(simulatedtest.Target{})
	before := b.Clock().Now()
	asked := smallStudy(func(s *spec.Study) {
		s.Settle, s.Reload, s.Run.Target = spec.Duration(time.Minute), true, "embedded:"+filepath.Join(t.TempDir(), "data")
	})
	s, err := runStudy(t.Context(), asked, b.options(dir))
	if err != nil {
		t.Fatal(err)
	}
	finished(t, dir, s, 6)
	if passed := b.Clock().Now().Sub(before); passed < 6*time.Minute {
		t.Errorf("it took %v, with six pauses of a minute", passed)
	}
	for _, q := range b.asked {
		if !q.Spec.LoadPhase.Drop {
			t.Errorf("trial %d does not reload", q.Trial)
		}
	}
}

// twoTargets is a study of two targets; the trials of those that are down do not reach them.
func twoTargets(down ...string) (spec.Study, *bench) {
	asked := smallStudy(func(s *spec.Study) {
		s.Factors = []spec.Factor{{Path: "target", Levels: []spec.Level{
			{Name: "one", Value: "null:"}, {Name: "two", Value: "mongodb://someone:hunter2@db2/"}}}}
	})
	b := newBench(simulatedtest.Target{})
	b.before = func(_ context.Context, q study.Request) error {
		if slices.Contains(down, q.Spec.Target) {
			return &run.Error{Stage: run.Reaching, Err: fmt.Errorf("nobody listens at %s", store.Redact(q.Spec.Target))}
		}
		return nil
	}
	return asked, b
}

// Where one target of several is down, its trials fail, the others are done, and the study says what has no result.
func TestOneOfTheTargetsIsDown(t *testing.T) {
	spec, b := twoTargets("mongodb://someone:hunter2@db2/")
	dir := filepath.Join(t.TempDir(), "study")
	s, err := runStudy(t.Context(), spec, b.options(dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range s.Trials {
		want := record.TrialDone
		if tr.Configuration != "baseline" {
			want = record.TrialFailed
		}
		if tr.Status != want || want == record.TrialFailed && !strings.Contains(tr.Problem, "nobody listens at") {
			t.Errorf("trial %+v", tr)
		}
	}
	i := slices.IndexFunc(s.Validity, func(f measure.Finding) bool { return f.ID == "no-result" })
	if s.Status != record.Complete || i < 0 || s.Validity[i].Severity != measure.Invalid ||
		!strings.Contains(s.Validity[i].Text, "no valid trial of target=two") {
		t.Errorf("status %s, findings %+v", s.Status, s.Validity)
	}
	up := newBench(simulatedtest.Target{})
	o := up.options("")
	o.RetryFailed, o.Spec = true, completed(t, spec)
	if s, err = Resume(t.Context(), dir, o); err != nil {
		t.Fatal(err)
	}
	finished(t, dir, s, 6)
	if has(s.Validity, "no-result") {
		t.Errorf("the finding is still there: %+v", s.Validity)
	}
}

// Where all targets are down the study stops, and repeats every trial that did not reach one.
func TestAllTargetsAreDown(t *testing.T) {
	spec, b := twoTargets("null:", "mongodb://someone:hunter2@db2/")
	dir := filepath.Join(t.TempDir(), "study")
	s, err := runStudy(t.Context(), spec, b.options(dir))
	var stop *campaign.Stop
	if !errors.As(err, &stop) || stop.Reason != campaign.Unreachable || !strings.Contains(err.Error(), "none of the 2 targets") ||
		strings.Contains(err.Error(), "hunter2") {
		t.Fatalf("error %v", err)
	}
	lost := 0
	for _, tr := range s.Trials {
		if tr.Status == record.TrialLost {
			lost++
		} else if tr.Status != record.TrialPlanned {
			t.Errorf("trial %+v", tr)
		}
	}
	if lost != len(b.asked) || lost < 2 {
		t.Errorf("%d trials were tried, %d are lost", len(b.asked), lost)
	}
	up := newBench(simulatedtest.Target{})
	o := up.options("")
	o.Spec = completed(t, spec)
	if s, err = Resume(t.Context(), dir, o); err != nil {
		t.Fatal(err)
	}
	finished(t, dir, s, 6)
}

// An exploratory configuration without a result is a warning.
func TestNoResultOfWhatIsExploratory(t *testing.T) {
	spec, b := twoTargets("mongodb://someone:hunter2@db2/")
	spec.Factors[0].Exploratory = true
	s, err := runStudy(t.Context(), spec, b.options(filepath.Join(t.TempDir(), "study")))
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(s.Validity, func(f measure.Finding) bool { return f.ID == "no-result" })
	if i < 0 || s.Validity[i].Severity != measure.Warning {
		t.Errorf("findings %+v", s.Validity)
	}
}

// What an objective of the study limits is stated by the records of its trials, whatever metrics it compares.
func TestObjectivesReachTheTrials(t *testing.T) {
	b := newBench(simulatedtest.Target{})
	dir := filepath.Join(t.TempDir(), "study")
	s, err := runStudy(t.Context(), smallStudy(func(s *spec.Study) { s.Objectives = []string{"p97<10s"} }), b.options(dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range b.asked {
		if !slices.Equal(q.Spec.Objectives, []string{"p97<10s"}) {
			t.Errorf("trial %d has the objectives %v", q.Trial, q.Spec.Objectives)
		}
	}
	if len(s.Objectives) == 0 {
		t.Error("no objective was held against the configurations")
	}
}
