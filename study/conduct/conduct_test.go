package conduct

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/campaign"
	"github.com/plimsoll-bench/plimsoll/internal/mac"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/simulatedtest"
)

// smallStudy has two configurations and three blocks: six trials, and canaries where they are asked for.
func smallStudy(change func(*spec.Study)) spec.Study {
	s := spec.Study{
		Run: spec.Run{
			Target: "null:", Workload: spec.Workload{Name: "a", Records: 100},
			Load: spec.Load{Workers: 4, Duration: spec.Duration(2 * time.Second)},
		},
		Factors: []spec.Factor{{Path: "load.workers", Levels: []spec.Level{{Value: 4}, {Value: 8}}}},
		Trials:  3, Canary: -1,
	}
	if change != nil {
		change(&s)
	}
	return s
}

// runStudy completes a study and performs it, as the command does.
func runStudy(ctx context.Context, asked spec.Study, o Options) (*record.Study, error) {
	complete, err := study.Complete(asked)
	if err != nil {
		return nil, campaign.Wrong(err)
	}
	if asked.Scale != nil {
		o.Asked = &asked
	}
	return Run(ctx, complete, o)
}

// completed is a study as [Options.Spec] has it.
func completed(t *testing.T, asked spec.Study) *spec.Study {
	t.Helper()
	complete, err := study.Complete(asked)
	if err != nil {
		t.Fatal(err)
	}
	return &complete
}

// bench is a simulated target that leaves records, and counts which trials it was asked for.
type bench struct {
	*simulatedtest.Runner
	target simulatedtest.Target
	alike  bool // a trial gives the same result whichever trials came before
	mu     sync.Mutex
	asked  []study.Request
	before func(ctx context.Context, q study.Request) error // nil for nothing
	after  func(q study.Request)
}

func newBench(t simulatedtest.Target) *bench {
	if t.Interval == 0 {
		t.Interval = 2 * time.Second
	}
	b := &bench{Runner: simulatedtest.New(t, 1), target: t}
	b.Write = true
	return b
}

func (b *bench) Trial(ctx context.Context, q study.Request) (study.Result, error) {
	b.mu.Lock()
	b.asked = append(b.asked, q)
	b.mu.Unlock()
	if b.before != nil {
		if err := b.before(ctx, q); err != nil {
			return study.Result{}, err
		}
	}
	trial := b.Runner
	if b.alike {
		trial = simulatedtest.New(b.target, uint64(q.Trial))
		trial.Write = true
	}
	r, err := trial.Trial(ctx, q)
	if b.after != nil {
		b.after(q)
	}
	return r, err
}

// numbers are the trials that were asked for, in order.
func (b *bench) numbers() []int {
	var list []int
	for _, q := range b.asked {
		list = append(list, q.Trial)
	}
	return list
}

// testKey is the key of the user of all studies.
var testKey = &mac.Key{}

func (b *bench) options(dir string) Options {
	return Options{Key: testKey, Runner: b, Clock: b.Clock(), Dir: dir, Tool: record.Tool{Name: "plimsoll", Version: "1.0"}}
}

// finished checks that every trial of a study was done once, and has its record.
func finished(t *testing.T, dir string, s *record.Study, trials int) {
	t.Helper()
	if s == nil {
		t.Fatal("got no study")
	}
	if s.Status != record.Complete || s.Ended == nil || s.Problem != "" {
		t.Errorf("status %s (%s), ended %v", s.Status, s.Problem, s.Ended)
	}
	done := map[int]int{}
	records := map[string]bool{}
	for _, tr := range s.Trials {
		if tr.Kind == record.TrialSearch {
			continue
		}
		if tr.Record == "" || records[tr.Record] {
			t.Errorf("trial %d.%d has the record %q, which is absent or that of another", tr.Number, tr.Attempt, tr.Record)
		}
		records[tr.Record] = true
		if tr.Status != record.TrialDone {
			continue
		}
		done[tr.Number]++
		r, err := record.OpenRun(filepath.Join(dir, tr.Record))
		if err != nil || r.Status != record.Complete {
			t.Errorf("the record of trial %d: %v", tr.Number, err)
		} else if got := r.Phase("measure").Rates.Achieved; tr.Values["throughput"] != got {
			t.Errorf("trial %d has a throughput of %v, its record %v", tr.Number, tr.Values["throughput"], got)
		}
	}
	for n := 1; n <= trials; n++ {
		if done[n] != 1 {
			t.Errorf("trial %d is done %d times", n, done[n])
		}
	}
	if len(done) != trials {
		t.Errorf("%d trials are done, want %d", len(done), trials)
	}
	onDisk, err := record.OpenStudy(dir)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(onDisk, s); d != "" {
		t.Errorf("the returned study differs from the written one:\n%s", d)
	}
}

func TestStudyIsDone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	b := newBench(simulatedtest.Target{Noise: 0.01})
	var seen []string
	o := b.options(dir)
	o.Progress = &watch{begin: func(s Status) {
		seen = append(seen, fmt.Sprintf("%d of %d, block %d of %d, %v", s.Done+1, s.Total, s.Trial.Block, s.Blocks, s.Left > 0))
	}}
	s, err := runStudy(t.Context(), smallStudy(nil), o)
	if err != nil {
		t.Fatal(err)
	}
	finished(t, dir, s, 6)
	want := []string{"1 of 6, block 1 of 3, false", "2 of 6, block 1 of 3, true", "3 of 6, block 2 of 3, true", "4 of 6, block 2 of 3, true", "5 of 6, block 3 of 3, true", "6 of 6, block 3 of 3, true"}
	if d := cmp.Diff(want, seen); d != "" {
		t.Errorf("progress (-want +got):\n%s", d)
	}
	if len(s.Comparisons) == 0 {
		t.Error("nothing was compared")
	}
	if _, held := record.Holder(dir); held {
		t.Error("the directory is still held")
	}
	if _, err := runStudy(t.Context(), smallStudy(nil), o); err == nil || !strings.Contains(err.Error(), "already holds a study") {
		t.Errorf("a second study in the directory: %v", err)
	}
}

// watch is a progress made of functions.
type watch struct {
	begin func(Status)
	end   func(record.Trial)
	notes []string
}

func (w *watch) Begin(s Status) {
	if w.begin != nil {
		w.begin(s)
	}
}

func (w *watch) End(t record.Trial) {
	if w.end != nil {
		w.end(t)
	}
}

func (w *watch) Note(text string) { w.notes = append(w.notes, text) }

func TestInterruptedStudyGoesOn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	b := newBench(simulatedtest.Target{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b.before = func(ctx context.Context, q study.Request) error {
		if q.Trial == 3 {
			cancel()
			return fmt.Errorf("cut short: %w", context.Canceled)
		}
		return nil
	}
	s, err := runStudy(ctx, smallStudy(nil), b.options(dir))
	var stop *campaign.Stop
	if !errors.As(err, &stop) || stop.Reason != campaign.Interrupted || !strings.Contains(err.Error(), "plimsoll study resume "+dir) {
		t.Fatalf("error %v", err)
	}
	if s.Status != record.Interrupted || s.Ended != nil || s.Trials[2].Status != record.TrialLost ||
		s.Trials[3].Status != record.TrialPlanned {
		t.Errorf("status %s, trials %+v", s.Status, s.Trials)
	}
	again := newBench(simulatedtest.Target{})
	if s, err = Resume(t.Context(), dir, again.options("")); err != nil {
		t.Fatal(err)
	}
	finished(t, dir, s, 6)
	if d := cmp.Diff([]int{3, 4, 5, 6}, again.numbers()); d != "" {
		t.Errorf("trials of the second session (-want +got):\n%s", d)
	}
	if s.Trials[2].Status != record.TrialLost || s.Trials[3].Attempt != 2 || s.Trials[3].Number != 3 {
		t.Errorf("the lost attempt is not kept: %+v", s.Trials[2:4])
	}
	// A study that is complete has nothing to resume.
	third := newBench(simulatedtest.Target{})
	if _, err := Resume(t.Context(), dir, third.options("")); err != nil || len(third.asked) != 0 {
		t.Errorf("a complete study: %v, trials %v", err, third.numbers())
	}
}

func TestFailedTrialsAreKeptAndRepeatedOnRequest(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	b := newBench(simulatedtest.Target{Trouble: func(n int, _ study.Request) simulatedtest.Trouble {
		if n == 2 || n == 4 {
			return simulatedtest.Trouble{Err: errors.New("the target fell over")}
		}
		return simulatedtest.Trouble{}
	}})
	s, err := runStudy(t.Context(), smallStudy(nil), b.options(dir))
	if err != nil || s.Status != record.Complete {
		t.Fatalf("%v, status %s", err, s.Status)
	}
	for _, i := range []int{1, 3} {
		if s.Trials[i].Status != record.TrialFailed || s.Trials[i].Problem != "the target fell over" {
			t.Errorf("trial %+v", s.Trials[i])
		}
	}
	again := newBench(simulatedtest.Target{})
	o := again.options("")
	if _, err = Resume(t.Context(), dir, o); err != nil || len(again.asked) != 0 {
		t.Fatalf("without being asked to, trials %v were repeated (%v)", again.numbers(), err)
	}
	o.RetryFailed = true
	if s, err = Resume(t.Context(), dir, o); err != nil {
		t.Fatal(err)
	}
	finished(t, dir, s, 6)
	if d := cmp.Diff([]int{2, 4}, again.numbers()); d != "" {
		t.Errorf("repeated trials (-want +got):\n%s", d)
	}
	if s.Trials[1].Status != record.TrialFailed || s.Trials[2].Number != 2 || s.Trials[2].Attempt != 2 {
		t.Errorf("the failed attempt is not kept: %+v", s.Trials[1:3])
	}
}

func TestStudyStopsAfterFailuresInARow(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	b := newBench(simulatedtest.Target{Trouble: func(n int, _ study.Request) simulatedtest.Trouble {
		if n > 1 {
			return simulatedtest.Trouble{Err: errors.New("it fell over")}
		}
		return simulatedtest.Trouble{}
	}})
	s, err := runStudy(t.Context(), smallStudy(nil), b.options(dir))
	var stop *campaign.Stop
	if !errors.As(err, &stop) || stop.Reason != campaign.TooManyFail || !strings.Contains(err.Error(), "3 trials failed in a row, the last one with: it fell over") {
		t.Fatalf("error %v", err)
	}
	if len(b.asked) != 1+maxFailures || s.Status != record.Interrupted || s.Problem != err.Error() {
		t.Errorf("%d trials, status %s: %s", len(b.asked), s.Status, s.Problem)
	}
	again := newBench(simulatedtest.Target{})
	if s, err = Resume(t.Context(), dir, again.options("")); err != nil || s.Status != record.Complete ||
		!slices.Equal(again.numbers(), []int{5, 6}) {
		t.Errorf("resume: %v, trials %v", err, again.numbers())
	}
}

func has(findings []measure.Finding, id string) bool {
	return slices.ContainsFunc(findings, func(f measure.Finding) bool { return f.ID == id })
}
