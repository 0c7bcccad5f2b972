package judge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// madeGrid is a study of all combinations of two engines, three numbers of workers and two sizes: the workers change
// the throughput, engines do so less, sizes not at all, and each block has a level of its own.
func madeGrid(seed uint64, blocks int, noise float64, combine string, keep func(e, w, s int) bool) *record.Study {
	rng := rand.New(rand.NewPCG(seed, 11))
	s := &record.Study{Head: record.Head{Status: record.Complete},
		Specification: spec.Study{Margin: 0.03, Confidence: 0.95, Combine: combine,
			Factors: []spec.Factor{{Name: "workers"}, {Name: "engine"}, {Name: "size"}}}}
	var effects []float64
	for e := range 2 {
		for w := range 3 {
			for z := range 2 {
				if !keep(e, w, z) {
					continue
				}
				levels := map[string]string{"engine": fmt.Sprint("e", e), "workers": fmt.Sprint("w", w), "size": fmt.Sprint("s", z)}
				s.Configurations = append(s.Configurations, record.Configuration{ID: fmt.Sprintf("e%d,w%d,s%d", e, w, z),
					Levels: levels, Baseline: e+w+z == 0})
				effects = append(effects, []float64{0, -0.10}[e]+[]float64{0, 0.5, 0.8}[w])
			}
		}
	}
	for b := 1; b <= blocks; b++ {
		level := 0.3 * rng.NormFloat64()
		for i, c := range s.Configurations {
			n := len(s.Trials) + 1
			started := begin.Add(time.Duration(n) * time.Minute)
			x := 1000 * math.Exp(effects[i]+level+noise*rng.NormFloat64())
			s.Trials = append(s.Trials, record.Trial{Number: n, Attempt: 1, Block: b, Configuration: c.ID,
				Kind: record.TrialCompared, Status: record.TrialDone,
				Started: &started, Values: map[string]float64{"throughput": x, "errors": 0}})
		}
	}
	return s
}

func all(int, int, int) bool { return true }

// half is a balanced half of the grid: each level of a factor comes equally often with each level of the others.
func half(e, w, z int) bool { return (e+z)%2 == 0 || w == 1 }

func effectOf(s *record.Study, factor, level, metric string) *record.Effect {
	for i := range s.Effects {
		if e := &s.Effects[i]; e.Factor == factor && e.Level == level && e.Metric == metric {
			return e
		}
	}
	return nil
}

func TestMainEffects(t *testing.T) {
	for _, c := range []struct {
		combine, method string
		keep            func(e, w, s int) bool
		pairs           [3]int
	}{
		{spec.CombineGrid, record.EffectMatched, all, [3]int{4, 6, 6}},
		{spec.CombineFraction, record.EffectAdditive, half, [3]int{}},
	} {
		s := madeGrid(3, 6, 0.01, c.combine, c.keep)
		s.Trials[2].Status = record.TrialFailed // one pair less in its block, or one row less of the model
		Study(s)
		if len(s.Effects) != 4 || s.Effects[0].Factor != "workers" {
			t.Fatalf("%s: %+v", c.combine, s.Effects)
		}
		for i, want := range []struct {
			factor, level string
			log           float64
			verdict       record.Verdict
			pairs         int
		}{{"workers", "w2", 0.8, record.Better, c.pairs[0]}, {"engine", "e1", -0.10, record.Worse, c.pairs[1]},
			{"size", "s1", 0, record.Equivalent, c.pairs[2]}} {
			e := effectOf(s, want.factor, want.level, "throughput")
			if e == nil || e.Method != c.method || e.Verdict != want.verdict || e.Pairs != want.pairs ||
				e.Comparison.Pairs != 6 || math.Abs(math.Log(*e.Ratio)-want.log) > 0.02 {
				t.Errorf("%s %d: %+v, want %+v", c.combine, i, e, want)
				continue
			}
			if math.Log(*e.Low) > want.log || math.Log(*e.High) < want.log || e.Adjusted == nil || e.Value != nil {
				t.Errorf("%s: %+v", c.combine, e)
			}
			if c.combine == spec.CombineGrid && !(*e.Least <= *e.Ratio && *e.Ratio <= *e.Most) {
				t.Errorf("%v outside %v to %v", *e.Ratio, *e.Least, *e.Most)
			}
		}
	}
}

// Where nothing differs, main effects claim a difference in no more than the promised share of the studies.
func TestMainEffectsKeepThePromise(t *testing.T) {
	const studies = 200
	for combine, keep := range map[string]func(e, w, s int) bool{spec.CombineGrid: all, spec.CombineFraction: half} {
		alarms := 0
		for i := range studies {
			s := madeGrid(uint64(100+i), 4, 0.05, combine, keep)
			for k := range s.Trials { // take the true effects out
				c := s.Configurations[k%len(s.Configurations)]
				s.Trials[k].Values["throughput"] /= math.Exp(map[string]float64{"w1": 0.5,
					"w2": 0.8}[c.Levels["workers"]] + map[string]float64{"e1": -0.1}[c.Levels["engine"]])
			}
			Study(s)
			for _, e := range s.Effects {
				if e.Verdict == record.Better || e.Verdict == record.Worse {
					alarms++
					break
				}
			}
		}
		if share, limit := float64(alarms)/studies, 0.05+2*math.Sqrt(0.05*0.95/studies); share > limit {
			t.Errorf("%s: %.1f %% of the studies found an effect that does not exist", combine, 100*share)
		}
	}
}

// The effect of what was batched has no verdict, and one that no trial tells is silent.
func TestMainEffectsOfBatches(t *testing.T) {
	s := madeGrid(5, 4, 0.01, spec.CombineGrid, all)
	for i := range s.Trials {
		if strings.Contains(s.Trials[i].Configuration, "e1") {
			s.Trials[i].Block += 4
		}
	}
	Study(s)
	e := effectOf(s, "engine", "e1", "throughput")
	if e.Verdict != record.Inconclusive || e.Pairs != 6 || e.Least == nil || !strings.Contains(e.Note, "no block has both levels") {
		t.Errorf("%+v", e)
	}
	if e = effectOf(s, "workers", "w1", "throughput"); e.Comparison.N != 8 || strings.Contains(e.Note, "no block") {
		t.Errorf("%+v", e)
	}
	for i := range s.Trials {
		if strings.Contains(s.Trials[i].Configuration, "e1") {
			s.Trials[i].Status = record.TrialFailed
		}
	}
	Study(s)
	if e = effectOf(s, "engine", "e1", "throughput"); e.Verdict != record.Inconclusive || e.Ratio != nil || e.Note == "" {
		t.Errorf("%+v", e)
	}
	s.Specification.Combine = spec.CombineOneAtATime
	if Study(s); len(s.Effects) != 0 {
		t.Errorf("%+v", s.Effects)
	}
}

// Too few trials do not determine the model, and nothing is claimed.
func TestAdditiveModelNeedsTrials(t *testing.T) {
	s := madeGrid(6, 3, 0.01, spec.CombineFraction, func(e, w, z int) bool { return e == z })
	Study(s)
	if e := effectOf(s, "engine", "e1", "throughput"); e == nil || e.Ratio != nil || e.Verdict != record.Inconclusive {
		t.Errorf("engine and size changed together, and yet %+v", e)
	}
}
