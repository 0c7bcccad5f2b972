package simulatedtest_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/internal/mac"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/conduct"
	"github.com/plimsoll-bench/plimsoll/study/simulatedtest"
)

// whole is a study with everything in it: procedures that find the baseline, a capacity, a factor.
func whole() spec.Study {
	return spec.Study{
		Name: "whole",
		Run:  spec.Run{Target: "null:", Workload: spec.Workload{Records: 1000}},
		Procedures: &spec.Procedures{
			Threads:  &spec.Threads{To: 128, Trials: 2, Duration: spec.Duration(10 * time.Second)},
			Steady:   &spec.Steady{Cycle: spec.Duration(10 * time.Second), Tolerance: 0.05},
			Capacity: &spec.CapacitySearch{},
		},
		Factors: []spec.Factor{{Name: "deadline", Path: "load.timeout", Levels: []spec.Level{{Value: "10s"}, {Value: "11s"}, {Value: "12s"}}}},
		Trials:  6, Objectives: []string{"p99<20ms"}, Metrics: []string{"throughput"}, Canary: -1,
	}
}

// store is a target with 8 servers that checkpoints every ten seconds; a deadline of 12 s makes it a tenth faster.
func store() simulatedtest.Target {
	return simulatedtest.Target{
		Servers: 8, Think: time.Millisecond, Noise: 0.01, SecondNoise: 0.02, Checkpoint: 0.1, Cycle: 10 * time.Second,
		Interval: 2500 * time.Millisecond,
		Classes:  []simulatedtest.Class{{Name: "read", Share: 1, Time: 1}},
		Effects:  []simulatedtest.Effect{{When: level(2), Factor: 1.1}},
	}
}

// perform completes a study and performs it, as the command does.
func perform(ctx context.Context, asked spec.Study, o conduct.Options) (*record.Study, error) {
	complete, err := study.Complete(asked)
	if err != nil {
		return nil, err
	}
	return conduct.Run(ctx, complete, o)
}

func conducted(t *testing.T, g simulatedtest.Target) (conduct.Options, *simulatedtest.Runner) {
	r := simulatedtest.New(g, 1)
	r.Write = true
	return conduct.Options{Runner: r, Clock: r.Clock(), Dir: t.TempDir() + "/study", Tool: record.Tool{Name: "plimsoll"}}, r
}

// A whole study, through everything but a real load, finds what was programmed.
func TestWholeStudy(t *testing.T) {
	g := store()
	o, r := conducted(t, g)
	s, err := perform(context.Background(), whole(), o)
	if err != nil {
		t.Fatal(err)
	}
	if s.Status != record.Complete || len(s.Procedures) != 2 || s.Capacity == nil {
		t.Fatalf("status %s, %d procedures, capacity %+v", s.Status, len(s.Procedures), s.Capacity)
	}
	for _, p := range s.Procedures {
		if !p.Settled {
			t.Errorf("%s did not settle: %s", p.Name, p.Reason)
		}
	}
	if w := int(s.Base.Load.Workers); float64(w) != s.Procedures[0].Chosen || w < 16 || w > 64 {
		t.Errorf("the base has %d workers, chosen were %v", w, s.Procedures[0].Chosen)
	}
	if d := s.Base.Load.Duration.Std(); d.Seconds() != s.Procedures[1].Chosen || d%(10*time.Second) != 0 ||
		d < 40*time.Second {
		t.Errorf("the base takes %v, chosen were %v s", d, s.Procedures[1].Chosen)
	}
	// Checkpoints take a tenth of the throughput for a second in ten: the queue that builds up then decides p99.
	if c := s.Capacity; !c.Confirmed || c.Rate < 0.8*g.Limit() || c.Rate > g.Capacity(0.99, 20*time.Millisecond) {
		t.Errorf("capacity %+v", s.Capacity)
	}
	if len(s.Comparisons) != 2 {
		t.Fatalf("%d comparisons", len(s.Comparisons))
	}
	for _, c := range s.Comparisons {
		want := map[string]record.Verdict{"deadline=11s": record.Equivalent, "deadline=12s": record.Better}[c.Configuration]
		if c.Verdict != want || c.Pairs != 6 {
			t.Errorf("%s, %s: %s (ratio %v, %d pairs), want %s", c.Configuration, c.Metric, c.Verdict, *c.Ratio, c.Pairs, want)
		}
	}
	if took := r.Clock().Now().Sub(simulatedtest.Epoch); took < 20*time.Minute {
		t.Errorf("the study took %v of virtual time", took)
	}
}

// A study that is cut off in the middle of a search and resumed measures nothing twice, and finds the same as one that
// was not. The target does not scatter, so that it does not matter which runner makes which trial.
func TestWholeStudyResumed(t *testing.T) {
	g := store()
	g.Noise, g.SecondNoise, g.Checkpoint, g.Interval = 0, 0, 0, 10*time.Second
	asked := whole()
	asked.Procedures.Threads.Levels, asked.Procedures.Threads.To, asked.Procedures.Threads.Trials = []spec.Count{4, 8, 32,
		64, 128}, 0, 1
	asked.Procedures.Capacity.From, asked.Trials = 5000, 2
	o, all := conducted(t, g)
	want, err := perform(context.Background(), asked, o)
	if err != nil {
		t.Fatal(err)
	}
	const after = 15 // in the search for the capacity
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	cut := g
	cut.Trouble = func(n int, _ study.Request) simulatedtest.Trouble {
		if n == after {
			cancel()
			return simulatedtest.Trouble{Hang: true}
		}
		return simulatedtest.Trouble{}
	}
	key, err := mac.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	o, first := conducted(t, cut)
	o.Key = key
	half, err := perform(ctx, asked, o)
	if !errors.Is(err, context.Canceled) || len(half.Procedures) != 2 || half.Capacity != nil {
		t.Fatalf("cut off in trial %d: %v", after, err)
	}
	second := simulatedtest.New(g, 1)
	second.Write = true
	if err := second.Clock().Sleep(context.Background(), first.Clock().Now().Sub(simulatedtest.Epoch)); err != nil {
		t.Fatal(err)
	}
	o.Runner, o.Clock = second, second.Clock()
	got, err := conduct.Resume(context.Background(), o.Dir, o)
	if err != nil {
		t.Fatal(err)
	}
	if n := first.Trials() - 1 + second.Trials(); n != all.Trials() {
		t.Errorf("%d trials were finished in both sessions, %d in one", n, all.Trials())
	}
	if d := cmp.Diff(chosen(want), chosen(got)); d != "" {
		t.Errorf("cut off and resumed, the study found something else:\n%s", d)
	}
}

// chosen is what a study found, without when and where.
func chosen(s *record.Study) []float64 {
	done := 0
	for _, t := range s.Trials {
		done += count(t.Status == record.TrialDone)
	}
	list := []float64{float64(done), s.Capacity.Rate, float64(len(s.Capacity.Steps))}
	for _, p := range s.Procedures {
		list = append(list, p.Chosen, float64(len(p.Points)))
	}
	for _, c := range s.Comparisons {
		list = append(list, math.Round(*c.Ratio*1e6))
	}
	return list
}
