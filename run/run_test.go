package run

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/embedded"
	"github.com/plimsoll-bench/plimsoll/store/null"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// small is a run of 2,000 operations on 400 records in a directory, changed as a test needs it.
func small(dir string, change func(*spec.Run)) spec.Run {
	asked := spec.Run{
		Target:    "embedded:" + dir,
		Workload:  spec.Workload{Name: "a", Records: 400, Params: map[string]string{"fieldlength": "10"}},
		Load:      spec.Load{Workers: 3, Operations: 2000},
		LoadPhase: spec.LoadPhase{Batch: 50, Parallel: 2},
	}
	asked.Durability.Name = "balanced" // waiting for the disk proves nothing here
	if change != nil {
		change(&asked)
	}
	asked.Defaults()
	return asked
}

// do executes a run with a record of its own.
func do(t *testing.T, asked spec.Run) (result *record.Run, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "record")
	result, err := Execute(t.Context(), asked, Options{Dir: dir, Command: []string{"plimsoll", "run"}})
	if err != nil {
		t.Fatalf("Execute: %v", err)
	}
	return result, dir
}

// stageOf returns in which stage a run failed, and checks that it left no result.
func stageOf(t *testing.T, asked spec.Run, opts Options) (Stage, error) {
	t.Helper()
	opts.Dir = orElse(opts.Dir, filepath.Join(t.TempDir(), "record"))
	_, err := Execute(t.Context(), asked, opts)
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("Execute: %v, want an error with its stage", err)
	}
	return e.Stage, err
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func has(findings []measure.Finding, id string) bool {
	return slices.ContainsFunc(findings, func(f measure.Finding) bool { return f.ID == id })
}

func TestCompleteRun(t *testing.T) {
	result, dir := do(t, small(t.TempDir(), func(s *spec.Run) { s.Objectives = []string{"errors<1%", "read.p50>1h"} }))
	if result.Status != record.Complete || result.Course.EndedBy != "operations" || result.Course.Sent != 2000 {
		t.Errorf("status %s, course %+v", result.Status, result.Course)
	}
	if f := result.Fill; f == nil || f.Inserted != 400 || f.Counted != 400 {
		t.Errorf("load phase: %+v", f)
	}
	p := result.Phase(load.PhaseMeasure)
	if p.Counts.Succeeded != 2000 || p.Class("read").Counts.Succeeded+p.Class("update").Counts.Succeeded != 2000 {
		t.Errorf("counts %+v of classes %+v", p.Counts, p.Classes)
	}
	if len(result.Objectives) != 2 || !result.Objectives[0].Met || result.Objectives[1].Met {
		t.Errorf("objectives %+v", result.Objectives)
	}
	if !has(result.Validity, "embedded") || measure.Worst(result.Validity) == measure.Invalid {
		t.Errorf("findings %+v", result.Validity)
	}
	if !slices.Equal(result.Command, []string{"plimsoll", "run"}) {
		t.Errorf("command %q", result.Command)
	}
	again, err := record.OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(result.Phases, again.Phases); diff != "" {
		t.Errorf("the record holds something else than was returned:\n%s", diff)
	}
	rebuilt, err := record.Rebuild(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(result.Phases, rebuilt); diff != "" {
		t.Errorf("the intervals add up to something else than the result:\n%s", diff)
	}
}

// TestOneTimeline: load phase, warm-up, window, drain and events follow each other in one time.
func TestOneTimeline(t *testing.T) {
	asked := small(t.TempDir(), func(s *spec.Run) {
		s.Load = spec.Load{Workers: 3, Rate: 300, Warmup: spec.Duration(300 * time.Millisecond),
			Duration: spec.Duration(time.Second)}
	})
	result, dir := do(t, asked)
	fill, warmup, measured := result.Phase(load.PhaseLoad), result.Phase(load.PhaseWarmup), result.Phase(load.PhaseMeasure)
	if fill.Start != 0 || warmup.Start < fill.End || measured.Start != warmup.End ||
		measured.End-measured.Start != int64(time.Second) {
		t.Errorf("load phase %d to %d, warm-up %d to %d, measured %d to %d", fill.Start, fill.End, warmup.Start, warmup.End, measured.Start, measured.End)
	}
	if warmup.Seconds != 0.3 {
		t.Errorf("the warm-up took %v s, want 0.3", warmup.Seconds)
	}
	if c := result.Course; c.WindowStart != measured.Start || c.WindowEnd != measured.End ||
		c.Offered != measured.Offered {
		t.Errorf("course %+v, measured from %d to %d with %d offered", c, measured.Start, measured.End, measured.Offered)
	}
	events, err := record.Events(dir)
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]int64{}
	last := time.Duration(-1)
	for _, e := range events {
		if e.Kind == load.EventPhase {
			at[e.Text] = int64(e.At)
		}
		if e.At < last {
			t.Errorf("event %+v is before the one ahead of it", e)
		}
		last = e.At
	}
	want := map[string]int64{load.PhaseLoad: 0, load.PhaseWarmup: warmup.Start, load.PhaseMeasure: measured.Start,
		load.PhaseDrain: measured.End}
	if diff := cmp.Diff(want, at); diff != "" {
		t.Errorf("phases begin elsewhere in the events (-intervals +events):\n%s", diff)
	}
}

func TestSecondRunUsesTheData(t *testing.T) {
	dir := t.TempDir()
	do(t, small(dir, nil))
	result, _ := do(t, small(dir, nil))
	if f := result.Fill; f.Inserted != 0 || f.Present != 400 || result.Phase(load.PhaseLoad) != nil {
		t.Errorf("load phase: %+v", f)
	}
	dropped, _ := do(t, small(dir, func(s *spec.Run) { s.LoadPhase.Drop, s.LoadPhase.Only = true, true }))
	if f := dropped.Fill; f.Inserted != 400 || dropped.Phase(load.PhaseMeasure) != nil {
		t.Errorf("load phase after dropping: %+v", f)
	}
}

func TestLoadPhaseGoesOn(t *testing.T) {
	dir := t.TempDir()
	do(t, small(dir, func(s *spec.Run) { s.Workload.Records, s.LoadPhase.Only = 150, true }))
	result, _ := do(t, small(dir, nil))
	if f := result.Fill; f.Inserted != 250 || f.Counted != 400 || result.Phase(load.PhaseMeasure).Counts.NotFound != 0 {
		t.Errorf("load phase: %+v, counts %+v", f, result.Phase(load.PhaseMeasure).Counts)
	}
}

func TestSkippedDataAreMissed(t *testing.T) {
	result, _ := do(t, small(t.TempDir(), func(s *spec.Run) { s.LoadPhase.Skip = true }))
	p := result.Phase(load.PhaseMeasure)
	if p.Counts.NotFound != 2000 || p.Counts.Succeeded != 0 || p.Rates.Achieved != 0 {
		t.Errorf("counts %+v, rates %+v", p.Counts, p.Rates)
	}
	if !has(result.Validity, "short-data") || result.Validity[0].ID != "nothing-succeeded" {
		t.Errorf("findings %+v", result.Validity)
	}
}

// watcher cancels a run when it sees an interval of a phase.
type watcher struct {
	silent
	phase  string
	cancel context.CancelFunc
}

func (w *watcher) Interval(_ measure.Dims, iv *measure.Interval) {
	if iv.Phase == w.phase {
		w.cancel()
	}
}

func TestInterruptedRun(t *testing.T) {
	asked := small(t.TempDir(), func(s *spec.Run) {
		s.Load = spec.Load{Workers: 2, Rate: 200, Duration: spec.Duration(time.Hour)}
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	opts := Options{Dir: filepath.Join(t.TempDir(), "record"), Progress: &watcher{phase: load.PhaseMeasure, cancel: cancel}}
	result, err := Execute(ctx, asked, opts)
	if !errors.Is(err, context.Canceled) || result == nil {
		t.Fatalf("Execute: %v", err)
	}
	p := result.Phase(load.PhaseMeasure)
	if result.Status != record.Interrupted || result.Course.EndedBy != "interrupt" || !has(result.Validity, "interrupted") {
		t.Errorf("status %s, course %+v, findings %+v", result.Status, result.Course, result.Validity)
	}
	if p.Counts.Attempted != result.Course.Sent || result.Course.Offered != result.Course.Sent+result.Course.Unsent {
		t.Errorf("%d operations counted, course %+v", p.Counts.Attempted, result.Course)
	}
	if again, err := record.OpenRun(opts.Dir); err != nil || again.Status != record.Interrupted {
		t.Errorf("the record: %v", err)
	}
}

// TestInterruptWhileNobodyAnswers: a server that hangs cannot keep a run from ending, nor make an
// interrupt look like something else.
func TestInterruptWhileNobodyAnswers(t *testing.T) {
	for _, client := range []string{ClientWire, ClientDriver} {
		r, err := null.Listen(null.Options{Fail: func(uint64, string) *null.Failure {
			return &null.Failure{Form: null.NoAnswer}
		}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		asked := small("", func(s *spec.Run) {
			s.Target, s.Client, s.Load.Timeout = r.URI(), client, spec.Duration(time.Hour)
		})
		time.AfterFunc(200*time.Millisecond, cancel)
		if _, err := Execute(ctx, asked, Options{Dir: filepath.Join(t.TempDir(), "record")}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: Execute: %v, want only that it was interrupted", client, err)
		}
		r.Close()
	}
}

func TestAbortDoesNotWait(t *testing.T) {
	for _, client := range []string{ClientWire, ClientDriver} {
		ctx, cancel := context.WithCancel(t.Context())
		abort := make(chan struct{})
		var asked atomic.Int64
		r, err := null.Listen(null.Options{Count: 400, Fail: func(_ uint64, name string) *null.Failure {
			if name != "find" && name != "update" { // not an operation: somebody looks at the server
				return nil
			}
			n := asked.Add(1)
			if n == 303 { // all three workers wait
				cancel()
				close(abort)
			}
			if n <= 300 {
				return nil
			}
			return &null.Failure{Form: null.NoAnswer}
		}})
		if err != nil {
			t.Fatal(err)
		}
		want := small("", func(s *spec.Run) {
			s.Target, s.Client, s.LoadPhase.Skip = r.URI(), client, true
			s.Load.Timeout = spec.Duration(time.Hour)
		})
		result, err := Execute(ctx, want, Options{Dir: filepath.Join(t.TempDir(), "record"), Abort: abort})
		if !errors.Is(err, context.Canceled) || result == nil || result.Course.Abandoned != 3 {
			t.Errorf("%s: Execute: %v, %+v", client, err, result)
		} else if c := result.Phase(load.PhaseMeasure).Counts; c.Succeeded < 290 || c.Failed+c.Indeterminate != 3 {
			t.Errorf("%s: counts %+v; what was under way failed or is unknown", client, c)
		}
		r.Close()
	}
}

// TestForeignDataAreRefused: nothing is measured on documents of others, and nothing of theirs is touched.
func TestForeignDataAreRefused(t *testing.T) {
	sized, other, grown := t.TempDir(), t.TempDir(), t.TempDir()
	do(t, small(sized, func(s *spec.Run) { s.Workload.Params["fieldlength"], s.LoadPhase.Only = "200", true }))
	insertForeign(t, other)
	do(t, small(grown, func(s *spec.Run) { s.Workload.Name, s.Workload.Records, s.Load.Operations = "d", 100, 9000 }))
	for name, c := range map[string]struct{ dir, want string }{
		"documents of another size":            {sized, "has documents of"},
		"documents of somebody else":           {other, "did not load"},
		"inserts of a run in place of records": {grown, "without record 400 of 400"},
	} {
		stage, err := stageOf(t, small(c.dir, nil), Options{})
		if stage != Filling || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "--load skip") {
			t.Errorf("%s: %s: %v", name, stage, err)
		}
	}
}

func insertForeign(t *testing.T, dir string) {
	t.Helper()
	st, err := embedded.Open(t.Context(), dir, store.Config{Database: "plimsoll", Sessions: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	session, err := st.Session(0)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	doc := []byte("\x11\x00\x00\x00\x02_id\x00\x03\x00\x00\x00me\x00\x00") // {_id: "me"}
	var res store.Result
	session.Do(time.Now().Add(10*time.Minute), &workload.Request{Verb: workload.Insert, Collection: "usertable",
		Docs: [][]byte{doc}}, &res)
	if res.Outcome != store.OK {
		t.Fatalf("inserting: %+v", res)
	}
}

// TestCeiling: a result near what the client can do at most says so, whatever the target is.
func TestCeiling(t *testing.T) {
	r, err := null.Listen(null.Options{Count: 400})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	asked := small("", func(s *spec.Run) { s.Target, s.LoadPhase.Skip = r.URI(), true })
	for rate, want := range map[float64]bool{1: true, 1e9: false} {
		opts := Options{Dir: filepath.Join(t.TempDir(), "record"),
			Ceiling: &Ceiling{Clients: map[string]ClientCeiling{ClientWire: {Rate: rate}}}}
		result, err := Execute(t.Context(), asked, opts)
		if err != nil {
			t.Fatal(err)
		}
		if has(result.Validity, "client-limited") != want {
			t.Errorf("ceiling of %v/s: findings %+v", rate, result.Validity)
		}
	}
}

func TestErrorsNameTheirStage(t *testing.T) {
	taken := t.TempDir()
	if _, err := Execute(t.Context(), small(t.TempDir(), nil), Options{Dir: taken}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want   Stage
		change func(*spec.Run)
		opts   Options
	}{
		{Specification, func(s *spec.Run) { s.Workload.Name = "z" }, Options{}},
		{Specification, func(s *spec.Run) { s.Target = "mongo:x" }, Options{}},
		{Reaching, func(s *spec.Run) {
			s.Target, s.Load.Timeout = "mongodb://127.0.0.1:1/", spec.Duration(time.Second)
		}, Options{}},
		{Recording, func(s *spec.Run) { s.Target = "null:" }, Options{Dir: taken}},
	} {
		if stage, err := stageOf(t, small(t.TempDir(), c.change), c.opts); stage != c.want {
			t.Errorf("stage %q, want %q: %v", stage, c.want, err)
		}
	}
}
