package conduct

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/campaign"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/simulatedtest"
)

// searching is a study that finds workers, length and capacity before it compares two record sizes.
func searching() spec.Study {
	return spec.Study{
		Run: spec.Run{
			Target: "null:", Workload: spec.Workload{Name: "a", Records: 100},
			Load: spec.Load{Workers: 2, Duration: spec.Duration(10 * time.Second)},
		},
		Procedures: &spec.Procedures{
			Threads: &spec.Threads{Levels: []spec.Count{1, 4, 8, 16}, Trials: 1, Duration: spec.Duration(5 * time.Second)},
			Steady:  &spec.Steady{From: 4, To: 16, Cycle: spec.Duration(time.Second), Tolerance: 0.1},
			Capacity: &spec.CapacitySearch{From: 1000, To: 2000, Growth: 2, Precision: 0.2, Confirm: 1,
				Duration: spec.Duration(4 * time.Second)},
		},
		Factors:    []spec.Factor{{Path: "workload.records", Levels: []spec.Level{{Value: 100}, {Value: 200}}}},
		Objectives: []string{"p99<50ms", "errors<1%"},
		Trials:     2, Canary: -1,
	}
}

func searchTarget() simulatedtest.Target {
	return simulatedtest.Target{Servers: 8, Service: time.Millisecond, Interval: time.Second}
}

func TestProceduresAreFixedInTheBase(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	b := newBench(searchTarget())
	s, err := runStudy(t.Context(), searching(), b.options(dir))
	if err != nil {
		t.Fatal(err)
	}
	finished(t, dir, s, 4)
	if len(s.Procedures) != 2 || s.Procedures[0].Name != "threads" || s.Procedures[1].Name != "steady" || s.Capacity == nil {
		t.Fatalf("procedures %+v, capacity %+v", s.Procedures, s.Capacity)
	}
	workers, length := s.Procedures[0].Chosen, s.Procedures[1].Chosen
	if workers < 4 || length < 4 {
		t.Errorf("chosen: %v workers, %v seconds", workers, length)
	}
	if float64(s.Base.Load.Workers) != workers || s.Base.Load.Duration.Std().Seconds() != length {
		t.Errorf("the base has %v workers for %v, chosen were %v and %v s", s.Base.Load.Workers, s.Base.Load.Duration, workers, length)
	}
	if s.Specification.Run.Load.Workers != 2 {
		t.Errorf("the specification was changed: %v workers", s.Specification.Run.Load.Workers)
	}
	for _, q := range b.asked[len(b.asked)-4:] {
		if float64(q.Spec.Load.Workers) != workers || q.Spec.Load.Duration != s.Base.Load.Duration {
			t.Errorf("trial %d has the load %+v", q.Trial, q.Spec.Load)
		}
	}
	searches := 0
	for i, tr := range s.Trials {
		if tr.Kind == record.TrialSearch {
			searches++
			if i != searches-1 || !strings.HasPrefix(tr.Record, "procedures/") || tr.Values["throughput"] <= 0 {
				t.Errorf("trial of a procedure, at place %d: %+v", i, tr)
			}
		}
	}
	if searches != len(b.asked)-4 {
		t.Errorf("%d trials of procedures are listed, %d were made", searches, len(b.asked)-4)
	}
}

func TestInterruptedProcedure(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	b := newBench(searchTarget())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b.before = func(context.Context, study.Request) error {
		if len(b.asked) == 3 {
			cancel()
			return context.Canceled
		}
		return nil
	}
	s, err := runStudy(ctx, searching(), b.options(dir))
	var stop *campaign.Stop
	if !errors.As(err, &stop) || stop.Reason != campaign.Interrupted || s.Status != record.Interrupted {
		t.Fatalf("error %v, study %+v", err, s)
	}
	again := newBench(searchTarget())
	if s, err = Resume(t.Context(), dir, again.options("")); err != nil {
		t.Fatal(err)
	}
	finished(t, dir, s, 4)
	if s.Trials[2].Status != record.TrialLost || s.Trials[3].Attempt != 2 || s.Trials[3].Record != "procedures/threads-0003-2" {
		t.Errorf("the lost trial of the procedure: %+v", s.Trials[2:4])
	}
}

// A trial that fails is a result of the procedure; three in a row end the study.
func TestFailuresInProcedures(t *testing.T) {
	target := searchTarget()
	target.Trouble = func(n int, _ study.Request) simulatedtest.Trouble {
		if n == 2 {
			return simulatedtest.Trouble{Err: errors.New("it fell over")}
		}
		return simulatedtest.Trouble{}
	}
	dir := filepath.Join(t.TempDir(), "study")
	s, err := runStudy(t.Context(), searching(), newBench(target).options(dir))
	if err != nil {
		t.Fatal(err)
	}
	finished(t, dir, s, 4)
	if s.Trials[1].Status != record.TrialFailed || !strings.Contains(s.Procedures[0].Points[1].Note, "it fell over") {
		t.Errorf("trial %+v, point %+v", s.Trials[1], s.Procedures[0].Points[1])
	}
	target.Trouble = func(int, study.Request) simulatedtest.Trouble {
		return simulatedtest.Trouble{Err: errors.New("it fell over")}
	}
	dir = filepath.Join(t.TempDir(), "study")
	b := newBench(target)
	s, err = runStudy(t.Context(), searching(), b.options(dir))
	var stop *campaign.Stop
	if !errors.As(err, &stop) || stop.Reason != campaign.TooManyFail || len(b.asked) != maxFailures ||
		s.Status != record.Interrupted {
		t.Errorf("%v, after %d trials, study %s", err, len(b.asked), s.Status)
	}
}
