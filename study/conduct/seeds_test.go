package conduct

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study/simulatedtest"
)

func openStudy(change func(*spec.Study)) spec.Study {
	return smallStudy(func(s *spec.Study) {
		s.Run.Load.Rate, s.Canary = 200, 2
		if change != nil {
			change(s)
		}
	})
}

// Each block has arrivals of its own, the same for all its configurations, and its records say which.
func TestArrivalsOfBlocks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	b := newBench(simulatedtest.Target{})
	s, err := runStudy(t.Context(), openStudy(nil), b.options(dir))
	if err != nil {
		t.Fatal(err)
	}
	blocks, seen := map[int]uint64{}, map[uint64]int{}
	for _, tr := range s.Trials {
		r, err := record.OpenRun(filepath.Join(dir, tr.Record))
		if err != nil {
			t.Fatal(err)
		}
		seed := r.Specification.Load.Seed
		if seed == 0 || seed >= 1<<53 {
			t.Errorf("trial %d has the seed %d", tr.Number, seed)
		}
		if first, known := blocks[tr.Block]; known && tr.Block > 0 && first != seed {
			t.Errorf("trial %d of block %d has the seed %d, another one %d", tr.Number, tr.Block, seed, first)
		}
		blocks[tr.Block] = seed
		if tr.Block == 0 {
			seen[seed]++
		}
	}
	for block, seed := range blocks {
		if block > 0 {
			seen[seed]++
		}
	}
	for seed, n := range seen {
		if n != 1 {
			t.Errorf("the seed %d belongs to %d blocks or canaries", seed, n)
		}
	}
	if len(seen) < 5 {
		t.Errorf("only %d seeds: %v", len(seen), seen)
	}
}

// A seed that is given stays, and loads without chance get none.
func TestArrivalsAsAskedFor(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*spec.Load)
		want   uint64
	}{
		"given":       {func(l *spec.Load) { l.Seed = 7 }, 7},
		"constant":    {func(l *spec.Load) { l.Arrivals = "constant" }, 0},
		"closed loop": {func(l *spec.Load) { l.Rate = 0 }, 0},
	} {
		b := newBench(simulatedtest.Target{})
		_, err := runStudy(t.Context(), openStudy(func(s *spec.Study) { c.change(&s.Run.Load) }),
			b.options(filepath.Join(t.TempDir(), "study")))
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range b.asked {
			if q.Spec.Load.Seed != c.want {
				t.Errorf("%s: trial %d has the seed %d, want %d", name, q.Trial, q.Spec.Load.Seed, c.want)
			}
		}
	}
}

// Trials of a search have arrivals of their own as well, and its resumption finds what was measured with them.
func TestArrivalsOfProcedures(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	b := newBench(searchTarget())
	if _, err := runStudy(t.Context(), searching(), b.options(dir)); err != nil {
		t.Fatal(err)
	}
	seen, open := map[uint64]bool{}, 0
	for _, q := range b.asked {
		if q.Spec.Load.Rate > 0 {
			open++
			seen[q.Spec.Load.Seed] = true
		}
	}
	if open < 3 || len(seen) != open || seen[0] {
		t.Errorf("%d trials with a rate have %d seeds", open, len(seen))
	}
}

// Real open loops of unlike blocks do not have the same number of arrivals.
func TestArrivalsDiffer(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	asked := openStudy(func(s *spec.Study) {
		s.Run.Load.Rate, s.Run.Load.Duration, s.Canary, s.Trials = 4000, spec.Duration(250*time.Millisecond), -1, 4
	})
	s, err := runStudy(t.Context(), asked, Options{Runner: &Runs{Options: run.Options{}}, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	offered := map[int64]bool{}
	for _, tr := range s.Trials {
		r, err := record.OpenRun(filepath.Join(dir, tr.Record))
		if err != nil {
			t.Fatal(err)
		}
		offered[r.Course.Offered] = true
	}
	if len(offered) < 2 {
		t.Errorf("all trials had the same arrivals: %v", offered)
	}
}
