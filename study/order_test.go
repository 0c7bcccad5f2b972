package study

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// someStudy makes up a study whose configurations are only labels.
func someStudy(rng *rand.Rand) spec.Study {
	asked := spec.Study{
		Trials: spec.Count(1 + rng.IntN(7)), Seed: rng.Uint64() | 1, Canary: spec.Count(rng.IntN(9) - 1),
		Combine: []string{spec.CombineOneAtATime, spec.CombineGrid}[rng.IntN(2)],
	}
	asked.Run.Target = "null:"
	for i := range 1 + rng.IntN(3) {
		f := spec.Factor{Name: fmt.Sprintf("f%d", i), Path: fmt.Sprintf("labels.f%d", i)}
		for l := range 2 + rng.IntN(3) {
			f.Levels = append(f.Levels, spec.Level{Value: l})
		}
		asked.Factors = append(asked.Factors, f)
	}
	return asked
}

func mustPlan(t *testing.T, asked spec.Study) *Plan {
	t.Helper()
	p, err := newPlan(asked, PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestOrderOfBlocks(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 0))
	for i := range 30 {
		spec := someStudy(rng)
		p := mustPlan(t, spec)
		where := fmt.Sprintf("seed %d, study %d", seed, i)
		checkBlocks(t, where, p)
		checkCanaries(t, where, p, spec.Canary)
		if diff := cmp.Diff(p.Trials, mustPlan(t, spec).Trials); diff != "" {
			t.Errorf("%s: the same study has another order the second time:\n%s", where, diff)
		}
	}
}

// checkBlocks makes sure that each block has every configuration once, that no block begins before the one before it
// has ended, and that trials are numbered.
func checkBlocks(t *testing.T, where string, p *Plan) {
	t.Helper()
	var all []string
	for _, c := range p.Configurations {
		all = append(all, c.ID)
	}
	slices.Sort(all)
	blocks, last := map[int][]string{}, 0
	for i, trial := range p.Trials {
		if trial.Number != i+1 || trial.Attempt != 1 || trial.Status != record.TrialPlanned {
			t.Errorf("%s: trial %d is %+v", where, i+1, trial)
		}
		if trial.Kind == record.TrialCanary {
			continue
		}
		if trial.Block < last {
			t.Errorf("%s: trial %d of block %d comes after block %d", where, trial.Number, trial.Block, last)
		}
		last = trial.Block
		blocks[trial.Block] = append(blocks[trial.Block], trial.Configuration)
	}
	if len(blocks) != int(p.Spec.Trials) {
		t.Errorf("%s: %d blocks, want %d", where, len(blocks), p.Spec.Trials)
	}
	for b, ids := range blocks {
		if slices.Sort(ids); !slices.Equal(ids, all) {
			t.Errorf("%s: block %d has %v, want each of %v once", where, b, ids, all)
		}
	}
}

// checkCanaries makes sure that the baseline is run in time.
func checkCanaries(t *testing.T, where string, p *Plan, asked spec.Count) {
	t.Helper()
	since, canaries := 0, 0
	for i, trial := range p.Trials {
		if trial.Kind != record.TrialCanary {
			since++
			continue
		}
		canaries++
		if trial.Configuration != "baseline" || trial.Block != 0 || asked > 0 && i > 0 && since != int(asked) || since > 20 {
			t.Errorf("%s: canary %+v comes after %d trials, asked for %d", where, trial, since, asked)
		}
		since = 0
	}
	if (canaries == 0) != (asked < 0) || canaries > 0 && p.Trials[0].Kind != record.TrialCanary {
		t.Errorf("%s: %d canaries, asked for %d", where, canaries, asked)
	}
	if asked == 0 && canaries > 2+len(p.Trials)/5 {
		t.Errorf("%s: %d of %d trials are canaries", where, canaries, len(p.Trials))
	}
}

// Each block is drawn afresh, and another seed draws another order.
func TestOrderIsDrawn(t *testing.T) {
	spec := read(t, withTarget("canary: -1\ntrials: 20\nfactors: [{path: labels.x, levels: [1, 2, 3, 4, 5, 6]}]"))
	orders := func(seed uint64) map[string]bool {
		spec.Seed = seed
		blocks := map[string]bool{}
		for block := range slices.Chunk(mustPlan(t, spec).Trials, 6) {
			var ids []string
			for _, trial := range block {
				ids = append(ids, trial.Configuration)
			}
			blocks[strings.Join(ids, " ")] = true
		}
		return blocks
	}
	one, two := orders(1), orders(2)
	if len(one) < 18 {
		t.Errorf("of 20 blocks only %d have orders of their own", len(one))
	}
	if maps.Equal(one, two) {
		t.Error("seeds 1 and 2 draw the same order")
	}
}

// Every configuration is as often first in its block as any other: chi square over 6 places, 3000 blocks. The limit
// is the 99.9 % quantile of five degrees of freedom, and the seed is fixed.
func TestOrderIsFair(t *testing.T) {
	spec := read(t, withTarget("canary: -1\ntrials: 3000\nfactors: [{path: labels.x, levels: [1, 2, 3, 4, 5, 6]}]"))
	first := map[string]float64{}
	for block := range slices.Chunk(mustPlan(t, spec).Trials, 6) {
		first[block[0].Configuration]++
	}
	chi := 0.0
	for _, n := range first {
		chi += (n - 500) * (n - 500) / 500
	}
	if len(first) != 6 || chi > 20.5 {
		t.Errorf("chi square %v: %v", chi, first)
	}
}

func TestOrderOfBatches(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 0))
	for i := range 25 {
		asked := someStudy(rng)
		asked.Order, asked.Batch = spec.OrderBatched, []string{"f0"}
		checkBatches(t, fmt.Sprintf("seed %d, study %d", seed, i), mustPlan(t, asked))
	}
}

func checkBatches(t *testing.T, where string, p *Plan) {
	t.Helper()
	level := map[string]string{}
	for _, c := range p.Configurations {
		level[c.ID] = c.Levels["f0"]
	}
	var batches []string                // in their order
	blocks := map[int]map[string]bool{} // configurations by block
	runs := map[string]int{}            // by configuration
	for _, trial := range p.Trials {
		if trial.Kind == record.TrialCanary {
			continue
		}
		l := level[trial.Configuration]
		if len(batches) == 0 || batches[len(batches)-1] != l {
			if slices.Contains(batches, l) {
				t.Errorf("%s: batch %s comes twice", where, l)
			}
			batches = append(batches, l)
		}
		if blocks[trial.Block] == nil {
			blocks[trial.Block] = map[string]bool{}
		}
		for other := range blocks[trial.Block] {
			if level[other] != l || other == trial.Configuration {
				t.Errorf("%s: block %d has %s and %s", where, trial.Block, other, trial.Configuration)
			}
		}
		blocks[trial.Block][trial.Configuration] = true
		runs[trial.Configuration]++
	}
	for _, c := range p.Configurations {
		if runs[c.ID] != int(p.Spec.Trials) {
			t.Errorf("%s: %s is run %d times, want %d", where, c.ID, runs[c.ID], p.Spec.Trials)
		}
	}
	if len(batches) != len(p.Spec.Factors[0].Levels) {
		t.Errorf("%s: batches %v of %d levels", where, batches, len(p.Spec.Factors[0].Levels))
	}
	if text := strings.Join(p.Order, "\n"); !strings.Contains(text, "limitation: ") {
		t.Errorf("%s: the limitation is missing: %s", where, text)
	}
}

func TestBatchedCanaries(t *testing.T) {
	text := withTarget("trials: 2\norder: batched\nbatch: [x]\nfactors: [{path: labels.x, levels: [1, 2, 3]}]\ncanary: ")
	for canary, want := range map[string]int{"0": 4, "-1": 0, "2": 4} {
		p := plan(t, text+canary)
		n := 0
		for i, trial := range p.Trials {
			if trial.Kind == record.TrialCanary {
				n++
				if i > 0 && p.Trials[i-1].Kind == record.TrialCanary {
					t.Errorf("canary %s: two in a row", canary)
				}
			}
		}
		if n != want {
			t.Errorf("canary %s: %d, want %d", canary, n, want)
		}
	}
}

// Of two configurations each comes first in half of the blocks.
func TestOrderIsBalanced(t *testing.T) {
	for seed := range uint64(20) {
		first := 0
		for _, order := range balanced(rand.New(rand.NewPCG(seed, 1)), []int{1, 2, 3}, 6) {
			if slices.Index(order, 1) < slices.Index(order, 2) {
				first++
			}
		}
		if first != 3 {
			t.Errorf("seed %d: first in %d of 6 blocks", seed, first)
		}
	}
}
