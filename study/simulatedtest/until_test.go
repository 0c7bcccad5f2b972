package simulatedtest_test

import (
	"context"
	"slices"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/judge"
	"github.com/plimsoll-bench/plimsoll/study/simulatedtest"
)

// alternate performs a study until it is decided, as study/conduct does, and returns it with the number of its blocks.
func (p planned) alternate(t *testing.T, g simulatedtest.Target, seed int) (*record.Study, int) {
	t.Helper()
	s := &record.Study{Specification: p.Spec, Base: p.Base, Configurations: p.Configurations,
		Trials: slices.Clone(p.Trials)}
	runner := simulatedtest.New(g, uint64(seed))
	for i := range s.Trials {
		trial := &s.Trials[i]
		if i > 0 && trial.Block != s.Trials[i-1].Block && judge.IsLook(s) {
			if judge.Study(s); judge.Decided(s) {
				return s, trial.Block - 1
			}
		}
		got, err := runner.Trial(context.Background(), study.Request{Spec: p.specs[trial.Configuration], Trial: trial.Number})
		if err != nil {
			t.Fatal(err)
		}
		trial.Values = judge.Values(got.Run, judge.Metrics(s.Specification, got.Run))
		trial.Validity, trial.Status = got.Run.Validity, record.TrialDone
	}
	judge.Study(s)
	return s, int(p.Spec.Trials)
}

// A study that looks at its trials several times, and ends when it can tell, accuses an equal configuration in at most
// 5 % of the cases, on machines of every kind. A true difference is found, with an interval that contains it in 95 % of
// the cases, in fewer trials than a study of a fixed number needs.
func TestUntilDecided(t *testing.T) {
	const studies, most = 600, 32
	asked := sweep(2, most)
	asked.UntilDecided = true
	plans := plansOf(t, asked, orders)
	effect := func(factor float64) []simulatedtest.Effect {
		return []simulatedtest.Effect{{When: level(1), Factor: factor}}
	}
	for _, c := range []struct {
		name        string
		noise       float64
		drift, ar   float64
		truth       float64
		found       float64 // the smallest share of studies that find the difference
		equivalents float64 // and that say there is none
	}{
		{name: "equal", noise: 0.02, truth: 1, equivalents: 0.8},
		{name: "equal, noisy", noise: 0.1, truth: 1},
		{name: "equal, drift and correlation", noise: 0.02, drift: 0.3, ar: 0.7, truth: 1},
		{name: "12 % slower", noise: 0.03, truth: 0.88, found: 0.95},
		{name: "5 % faster", noise: 0.02, truth: 1.05, found: 0.95},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := cheap(simulatedtest.Target{Noise: c.noise, NoiseAR: c.ar, Drift: c.drift, Session: session(2 * most),
				Effects: effect(c.truth)})
			var wrong, right, same, covered, blocks int
			for seed := range studies {
				s, n := plans[seed%orders].alternate(t, g, seed)
				x := s.Comparisons[0]
				blocks += n
				switch claims := x.Verdict == record.Better || x.Verdict == record.Worse; {
				case claims && (c.truth == 1 || (x.Verdict == record.Better) != (c.truth > 1)):
					wrong++
				case claims:
					right++
				case x.Verdict == record.Equivalent:
					same++
				}
				if *x.Low <= c.truth && c.truth <= *x.High {
					covered++
				}
			}
			share := func(n int) float64 { return float64(n) / studies }
			t.Logf("wrong %.3f, found %.3f, equivalent %.3f, covered %.3f, %.1f blocks", share(wrong), share(right), share(same),
				share(covered), float64(blocks)/studies)
			if share(wrong) > 0.05 || share(right) < c.found || share(same) < c.equivalents || share(covered) < 0.95 {
				t.Error("these shares are not those that a study promises")
			}
		})
	}
}

// The orders of a study until decided are balanced up to each of its looks.
func TestUntilDecidedIsBalanced(t *testing.T) {
	asked := sweep(2, 8)
	asked.UntilDecided = true
	for i, p := range plansOf(t, asked, orders) {
		first := 0
		for k, trial := range p.Trials {
			if (k == 0 || trial.Block != p.Trials[k-1].Block) && trial.Configuration == p.Configurations[0].ID {
				first++
			}
			if k%8 == 7 && first != (k+1)/4 {
				t.Errorf("order %d: the baseline is first in %d of %d blocks", i, first, (k+1)/2)
			}
		}
	}
}
