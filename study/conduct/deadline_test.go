package conduct

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-bench/plimsoll/campaign"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/simulatedtest"
)

// stubborn is a runner one of whose trials does not end before something happens.
type stubborn struct {
	*bench
	trial  int
	until  func(ctx context.Context, q study.Request) // returns when it ends
	result error
}

func (s *stubborn) Trial(ctx context.Context, q study.Request) (study.Result, error) {
	if q.Trial == s.trial {
		s.until(ctx, q)
		return study.Result{}, s.result
	}
	return s.bench.Trial(ctx, q)
}

func (s *stubborn) options(dir string) Options {
	o := s.bench.options(dir)
	o.Runner, o.Clock = s, nil
	return o
}

// A trial that hangs is cancelled at its deadline, then aborted, and at last left behind.
func TestDeadline(t *testing.T) {
	const deadline = 100 * time.Second
	release := make(chan struct{})
	for name, c := range map[string]struct {
		until  func(ctx context.Context, q study.Request)
		after  time.Duration // from the beginning of the trial to its end
		status record.TrialStatus
		reason campaign.Reason
	}{
		"ends when it is cancelled": {func(ctx context.Context, _ study.Request) { <-ctx.Done() }, deadline, record.TrialTimeout, ""},
		"ends when it is aborted": {func(_ context.Context, q study.Request) { <-q.Abort },
			deadline + 10*time.Second + cancelGrace, record.TrialTimeout, ""},
		"never ends": {func(context.Context, study.Request) { <-release },
			deadline + 10*time.Second + cancelGrace + abortGrace, record.TrialTimeout, campaign.Stuck},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "study")
			synctest.Test(t, func(t *testing.T) {
				release = make(chan struct{})
				b := &stubborn{bench: newBench(simulatedtest.Target{}), trial: 2, until: c.until, result: context.Canceled}
				asked := smallStudy(func(s *spec.Study) { s.Deadline = spec.Duration(deadline) })
				began := time.Now()
				s, err := runStudy(t.Context(), asked, b.options(dir))
				var stop *campaign.Stop
				if errors.As(err, &stop); err != nil && stop == nil || (stop != nil) != (c.reason != "") ||
					stop != nil && stop.Reason != c.reason {
					t.Errorf("error %v, want a reason %q", err, c.reason)
				}
				if took := time.Since(began).Round(time.Second); took != c.after {
					t.Errorf("it took %v, want %v", took, c.after)
				}
				if tr := s.Trials[1]; tr.Status != c.status ||
					!strings.Contains(tr.Problem, "1:40") && !strings.Contains(tr.Problem, "100") {
					t.Errorf("trial %+v", tr)
				}
				close(release)
			})
		})
	}
}

func TestTimeoutDoesNotEndTheStudy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	synctest.Test(t, func(t *testing.T) {
		b := &stubborn{bench: newBench(simulatedtest.Target{}), trial: 2,
			until: func(ctx context.Context, _ study.Request) { <-ctx.Done() }, result: context.Canceled}
		s, err := runStudy(t.Context(), smallStudy(nil), b.options(dir)) // with the deadline that follows from the run
		if err != nil || s.Status != record.Complete || s.Trials[1].Status != record.TrialTimeout ||
			s.Trials[2].Status != record.TrialDone {
			t.Fatalf("%v, study %s, trials %+v", err, s.Status, s.Trials)
		}
		o := b.options("")
		o.RetryFailed = true
		b.trial = 0
		if s, err = Resume(t.Context(), dir, o); err != nil {
			t.Fatal(err)
		}
		finished(t, dir, s, 6)
	})
}

// The first Ctrl-C lets the operations under way end, the second does not; neither fails the trial.
func TestInterruptedAndAborted(t *testing.T) {
	for _, twice := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "study")
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			abort := make(chan struct{})
			b := &stubborn{bench: newBench(simulatedtest.Target{}), trial: 3, result: context.Canceled,
				until: func(ctx context.Context, q study.Request) {
					cancel()
					<-ctx.Done()
					if twice {
						close(abort)
						<-q.Abort
					}
				}}
			o := b.options(dir)
			o.Abort = abort
			s, err := runStudy(ctx, smallStudy(nil), o)
			var stop *campaign.Stop
			if !errors.As(err, &stop) || stop.Reason != campaign.Interrupted || !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
			if s.Trials[2].Status != record.TrialLost || s.Status != record.Interrupted {
				t.Errorf("study %s, trial %+v", s.Status, s.Trials[2])
			}
			if s, err = Resume(t.Context(), dir, b.bench.options("")); err != nil {
				t.Fatal(err)
			}
			finished(t, dir, s, 6)
		})
	}
}

// Ctrl-C in a pause ends the pause.
func TestInterruptedWhileItSettles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(90*time.Second, cancel)
		b := newBench(simulatedtest.Target{})
		o := b.options(dir)
		o.Clock = nil
		began := time.Now()
		s, err := runStudy(ctx, smallStudy(func(s *spec.Study) { s.Settle = spec.Duration(time.Minute) }), o)
		if !errors.Is(err, context.Canceled) || s.Status != record.Interrupted {
			t.Errorf("%v, study %s", err, s.Status)
		}
		if took := time.Since(began); took != 90*time.Second || len(b.asked) != 1 {
			t.Errorf("it took %v, and %d trials were made", took, len(b.asked))
		}
	})
}

func TestDeadlinesAreLongEnough(t *testing.T) {
	c := session{plan: planOf(t, smallStudy(nil))}
	run := func(change func(*spec.Run)) spec.Run {
		s := spec.Run{Target: "null:", Load: spec.Load{Workers: 4}}
		change(&s)
		s.Load.Timeout = spec.Duration(10 * time.Second)
		return s
	}
	for name, test := range map[string]struct {
		spec spec.Run
		want time.Duration
	}{
		"duration": {run(func(s *spec.Run) {
			s.Load.Duration, s.Load.Warmup = spec.Duration(time.Hour), spec.Duration(time.Minute)
		}), 2 * 61 * time.Minute},
		"stages": {run(func(s *spec.Run) { s.Load.Stages = []spec.Stage{{Duration: spec.Duration(time.Hour)}} }),
			2 * time.Hour},
		"rate":       {run(func(s *spec.Run) { s.Load.Operations, s.Load.Rate = 3_600_000, 1000 }), 2 * time.Hour},
		"pace":       {run(func(s *spec.Run) { s.Load.Operations, s.Load.Pace = 14400, 1 }), 2 * time.Hour},
		"operations": {run(func(s *spec.Run) { s.Load.Operations = 144000 }), 2 * time.Hour},
	} {
		if got := c.deadline(test.spec); got != test.want+deadlineFloor+10*time.Second {
			t.Errorf("%s: %v, want %v and the floor", name, got, test.want)
		}
	}
	c.spec.Deadline = spec.Duration(time.Second)
	if got := c.deadline(run(func(*spec.Run) {})); got != time.Second {
		t.Errorf("a deadline of one second became %v", got)
	}
}

func planOf(t *testing.T, asked spec.Study) *study.Plan {
	t.Helper()
	p, err := study.NewPlan(*completed(t, asked), study.PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A trial that ends in the very moment in which the study is to end is lost, never failed.
func TestInterruptedAtTheSameMoment(t *testing.T) {
	for range 100 {
		ctx, cancel := context.WithCancel(t.Context())
		c := session{o: Options{Runner: runnerFunc(func(context.Context, study.Request) (study.Result, error) {
			cancel()
			return study.Result{}, context.Canceled
		})}}
		_, e := c.supervise(ctx, study.Request{}, time.Hour)
		c.Result = &record.Study{}
		var j job
		tr := &j.trial
		if err := c.conclude(&j, study.Result{}, e); tr.Status != record.TrialLost ||
			!errors.Is(err, context.Canceled) {
			t.Fatalf("trial %+v, error %v", tr, err)
		}
	}
}

type runnerFunc func(context.Context, study.Request) (study.Result, error)

func (f runnerFunc) Trial(ctx context.Context, q study.Request) (study.Result, error) {
	return f(ctx, q)
}
