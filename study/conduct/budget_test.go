package conduct

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/campaign"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/simulatedtest"
)

// purse is a budget that ends a study when its time is over.
type purse struct {
	trials int // at most
	search int // trials of procedures that there is time for
	asked  []study.Rest
}

func (p *purse) Block(r study.Rest) (int, string) {
	p.asked = append(p.asked, r)
	return min(p.trials, r.Trials), "ran late: it is five to twelve"
}

func (p *purse) Search(time.Duration) string {
	if p.search--; p.search < 0 {
		return "ran late: no time for a procedure"
	}
	return ""
}

func count(s *record.Study, status record.TrialStatus) (n int) {
	for _, t := range s.Trials {
		if t.Status == status && t.Kind != record.TrialSearch {
			n++
		}
	}
	return n
}

// A study ends after the last block that there is time for, says so, and stays so until more time is given.
func TestBudgetEndsAtABlock(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	b := newBench(simulatedtest.Target{})
	p := &purse{trials: 2}
	o := b.options(dir)
	o.Budget = p
	s, err := runStudy(t.Context(), smallStudy(func(s *spec.Study) { s.Canary = 2 }), o)
	if err != nil || s.Status != record.Complete {
		t.Fatalf("%v, %+v", err, s)
	}
	if len(p.asked) == 0 || p.asked[0].Trials != 3 || p.asked[0].Done != 1 || len(p.asked[0].Seconds) != 4 ||
		p.asked[0].Seconds[1] != 0 || p.asked[0].Seconds[3] <= p.asked[0].Seconds[2] {
		t.Errorf("asked %+v", p.asked)
	}
	compared, blocks := 0, map[int]int{}
	for _, trial := range s.Trials {
		if trial.Kind == record.TrialCompared && trial.Status == record.TrialDone {
			compared++
			blocks[trial.Block]++
		}
		if trial.Status == record.TrialLeft && (!strings.HasPrefix(trial.Problem, "ran late") || trial.Record != "") {
			t.Errorf("%+v", trial)
		}
	}
	if compared != 4 || blocks[1] != 2 || blocks[2] != 2 || count(s, record.TrialPlanned) > 0 || len(s.Comparisons) == 0 {
		t.Errorf("%d trials are done, in blocks %v: %+v", compared, blocks, s.Trials)
	}
	if i := slices.IndexFunc(s.Validity, func(f measure.Finding) bool { return f.ID == "cut-short" }); i < 0 ||
		s.Validity[i].Severity != measure.Note {
		t.Errorf("findings %+v", s.Validity)
	}
	asked := len(b.asked)
	if s, err = Resume(t.Context(), dir, b.options("")); err != nil || len(b.asked) != asked ||
		count(s, record.TrialLeft) == 0 {
		t.Errorf("%v: a resume did %d more", err, len(b.asked)-asked)
	}
	o = b.options("")
	o.TakeLeft = true
	if s, err = Resume(t.Context(), dir, o); err != nil || count(s, record.TrialLeft) > 0 ||
		slices.ContainsFunc(s.Validity, func(f measure.Finding) bool { return f.ID == "cut-short" }) {
		t.Fatalf("%v: %+v", err, s)
	}
	finished(t, dir, s, 6+4)
}

// Nobody is asked before the first block, and a study that is interrupted within a block ends that one before it asks.
func TestBudgetIsAskedBetweenBlocks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	ctx, cancel := context.WithCancel(t.Context())
	b := newBench(simulatedtest.Target{})
	b.before = func(_ context.Context, q study.Request) error {
		if q.Trial == 4 { // the second of its block
			cancel()
			return context.Canceled
		}
		return nil
	}
	p := &purse{trials: 9}
	o := b.options(dir)
	o.Budget = p
	if _, err := runStudy(ctx, smallStudy(nil), o); !errors.Is(err, context.Canceled) || len(p.asked) != 1 {
		t.Fatalf("%v, asked %d times", err, len(p.asked))
	}
	b.before = nil
	p = &purse{trials: 0}
	o = b.options("")
	o.Budget = p
	s, err := Resume(t.Context(), dir, o)
	if err != nil || len(p.asked) != 1 || p.asked[0].Done != 2 || count(s, record.TrialDone) != 4 ||
		count(s, record.TrialLeft) != 2 {
		t.Errorf("%v: asked %+v, %d trials done", err, p.asked, count(s, record.TrialDone))
	}
}

// A block of which nothing is left but a lost attempt can be left out; the attempt is kept.
func TestBudgetLeavesALostTrial(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	ctx, cancel := context.WithCancel(t.Context())
	b := newBench(simulatedtest.Target{})
	b.before = func(_ context.Context, q study.Request) error {
		if q.Trial == 3 {
			cancel()
			return context.Canceled
		}
		return nil
	}
	if _, err := runStudy(ctx, smallStudy(nil), b.options(dir)); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	b.before = nil
	o := b.options("")
	o.Budget = &purse{trials: 0}
	s, err := Resume(t.Context(), dir, o)
	if err != nil || count(s, record.TrialDone) != 2 || count(s, record.TrialLost) != 1 ||
		count(s, record.TrialLeft) != 4 {
		t.Fatalf("%v: %+v", err, s.Trials)
	}
	o.Budget, o.TakeLeft = nil, true
	if s, err = Resume(t.Context(), dir, o); err != nil || s.Status != record.Complete {
		t.Fatal(err)
	}
	finished(t, dir, s, 6)
}

// Batches have blocks of their own, and one that there is no time for is not known at all.
func TestBudgetOfBatches(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	b := newBench(simulatedtest.Target{})
	o := b.options(dir)
	p := &purse{trials: 0}
	o.Budget = p
	s, err := runStudy(t.Context(), smallStudy(func(s *spec.Study) {
		s.Order, s.Batch = spec.OrderBatched,
			[]string{"workers"}
	}), o)
	if err != nil || count(s, record.TrialDone) != 1 || count(s, record.TrialLeft) != 5 || len(p.asked) != 1 ||
		p.asked[0].Done != 0 {
		t.Fatalf("%v: %+v, asked %+v", err, s.Trials, p.asked)
	}
	i := slices.IndexFunc(s.Validity, func(f measure.Finding) bool { return f.ID == "cut-short" })
	if i < 0 || s.Validity[i].Severity != measure.Warning || !strings.Contains(s.Validity[i].Text, "There is no result for ") {
		t.Errorf("findings %+v", s.Validity)
	}
}

// Procedures end where there is no time for another of their trials, and go on when there is.
func TestBudgetOfProcedures(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	b := newBench(simulatedtest.Target{})
	o := b.options(dir)
	o.Budget = &purse{trials: 9, search: 1}
	asked := smallStudy(func(s *spec.Study) {
		s.Procedures = &spec.Procedures{Threads: &spec.Threads{Levels: []spec.Count{2, 4, 8}, Trials: 1}}
		s.Factors = []spec.Factor{{Path: "workload.name", Levels: []spec.Level{{Value: "a"}, {Value: "b"}}}}
	})
	s, err := runStudy(t.Context(), asked, o)
	var stop *campaign.Stop
	if !errors.As(err, &stop) || stop.Reason != campaign.OutOfTime || s.Status != record.Interrupted || len(b.asked) != 1 {
		t.Fatalf("%v, %d trials", err, len(b.asked))
	}
	if s, err = Resume(t.Context(), dir, b.options("")); err != nil || s.Status != record.Complete {
		t.Fatal(err)
	}
}
