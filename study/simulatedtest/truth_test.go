package simulatedtest_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure/stats"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/judge"
	"github.com/plimsoll-bench/plimsoll/study/simulatedtest"
)

// The tests in this file hold whole studies against what they should have found: the real plan in its real order, made
// up trials, the real judgement. All seeds are fixed, so a test that passes always passes. The command liars does the
// same for the shares of false verdicts.

// sweep is a study of one factor with so many levels. Which level it is shows in the deadline of operations, which
// changes nothing in a simulation but for the effects that it is given.
func sweep(levels, trials int) spec.Study {
	asked := spec.Study{
		Run:     spec.Run{Target: "null:", Load: spec.Load{Workers: 8, Duration: spec.Duration(30 * time.Second)}},
		Factors: []spec.Factor{{Path: "load.timeout"}}, Trials: spec.Count(trials), Metrics: []string{"throughput"}, Canary: -1,
	}
	for i := range levels {
		l := spec.Level{Value: fmt.Sprintf("%ds", 10+i)}
		asked.Factors[0].Levels = append(asked.Factors[0].Levels, l)
	}
	asked.Defaults()
	return asked
}

// level is true for runs at the i-th level of a sweep, the baseline being 0.
func level(i int) func(spec.Run) bool {
	return func(s spec.Run) bool {
		return s.Load.Timeout == spec.Duration(10+i)*spec.Duration(time.Second)
	}
}

// cheap is a target whose trials are one interval each.
func cheap(g simulatedtest.Target) simulatedtest.Target {
	g.Interval, g.Classes = time.Hour, []simulatedtest.Class{{Name: "read", Share: 1, Time: 1}}
	return g
}

// planned is a plan with the runs of its configurations.
type planned struct {
	*study.Plan
	specs map[string]spec.Run
}

// plansOf makes the plans of a study with so many orders of its trials, drawn with different seeds. Simulated studies
// take turns with them: their trials are made up with a seed for each study.
func plansOf(t *testing.T, asked spec.Study, orders int) []planned {
	t.Helper()
	var plans []planned
	for i := range orders {
		asked.Seed = uint64(i + 1)
		plan, err := study.NewPlan(asked, study.PlanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		p := planned{plan, map[string]spec.Run{}}
		for _, c := range plan.Configurations {
			if p.specs[c.ID], err = plan.RunSpec(c.ID); err != nil {
				t.Fatal(err)
			}
		}
		plans = append(plans, p)
	}
	return plans
}

// orders is how many orders the simulated studies of a test have.
const orders = 25

// perform makes all trials of a plan up, in its order, and judges them.
func (p planned) perform(t *testing.T, g simulatedtest.Target, seed int) []record.Comparison {
	t.Helper()
	s := &record.Study{Specification: p.Spec, Base: p.Base, Configurations: p.Configurations,
		Trials: slices.Clone(p.Trials)}
	runner := simulatedtest.New(g, uint64(seed))
	for i := range s.Trials {
		trial := &s.Trials[i]
		got, err := runner.Trial(context.Background(), study.Request{Spec: p.specs[trial.Configuration], Trial: trial.Number})
		if err != nil {
			t.Fatal(err)
		}
		trial.Values = judge.Values(got.Run, judge.Metrics(s.Specification, got.Run))
		trial.Validity, trial.Status = got.Run.Validity, record.TrialDone
	}
	judge.Study(s)
	return s.Comparisons
}

// session is how long a simulated study of so many trials takes, canaries apart.
func session(trials int) time.Duration { return time.Duration(trials) * 30 * time.Second }

// The 95 % intervals contain the truth in 93 to 97 % of the studies.
func TestIntervalsCoverTheTruth(t *testing.T) {
	const studies, trials = 1000, 6 // the standard error of the coverage is 0.69 %
	plans := plansOf(t, sweep(2, trials), orders)
	for _, c := range []struct {
		name            string
		drift, ar, real float64
	}{{"quiet", 0, 0, 1}, {"drift and correlation", 0.05, 0.7, 1.05}} {
		t.Run(c.name, func(t *testing.T) {
			g := cheap(simulatedtest.Target{
				Noise: 0.02, NoiseAR: c.ar, Drift: c.drift, Session: session(2 * trials),
				Effects: []simulatedtest.Effect{{When: level(1), Factor: c.real}},
			})
			covered := 0
			for seed := range studies {
				found := plans[seed%orders].perform(t, g, seed)
				if *found[0].Low <= c.real && c.real <= *found[0].High {
					covered++
				}
			}
			share := float64(covered) / studies
			t.Logf("%d of %d intervals contain the truth: %.2f %%", covered, studies, share*100)
			if share < 0.93 || share > 0.97 {
				t.Errorf("%.2f %% of the intervals contain the truth", share*100)
			}
		})
	}
}

// A change as large as the plan said it would find in four cases of five is found that often, and one of 5 % as often
// as the power of so many trials says.
func TestChangesAreFoundAsPredicted(t *testing.T) {
	const studies, cv, trials = 400, 0.03, 9 // the fewest trials with a power of 0.8 for a change of 5 %
	plans := plansOf(t, sweep(2, trials), orders)
	var promised float64
	for _, p := range plans[0].Estimate.Power {
		if p.CV == cv && p.Effect != nil {
			promised = *p.Effect
		}
	}
	if promised < 0.04 || promised > 0.05 {
		t.Fatalf("with %d trials that scatter by %v the plan promises to find %v", trials, cv, promised)
	}
	for _, c := range []struct {
		effect, power float64
	}{{promised, 0.8}, {0.05, stats.Power(cv, 0.05, 0.05, trials, true)}} {
		g := cheap(simulatedtest.Target{Noise: math.Sqrt(math.Log1p(cv * cv)),
			Effects: []simulatedtest.Effect{{When: level(1), Factor: 1 + c.effect}}})
		n := 0
		for seed := range studies {
			found := plans[seed%orders].perform(t, g, seed)
			if found[0].Verdict == record.Better {
				n++
			}
		}
		share, se := float64(n)/studies, math.Sqrt(c.power*(1-c.power)/studies)
		t.Logf("%d trials, a change of %+.2f %%: found in %.1f %% of %d studies, predicted %.1f %%", trials, c.effect*100, share*100, studies, c.power*100)
		if math.Abs(share-c.power) > 3*se {
			t.Errorf("a change of %+.2f %% was found in %.1f %% of the studies, not in %.1f %%", c.effect*100, share*100, c.power*100)
		}
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}
