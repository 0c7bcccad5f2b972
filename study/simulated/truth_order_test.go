package simulated_test

import (
	"math"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study/simulated"
)

// batched is a study of two factors whose trials are batched by the first, which is the deadline of operations, as in
// sweep. The second is how many load the data at once, which changes nothing either.
func batched(trials int) spec.Study {
	asked := sweep(2, trials)
	asked.Factors = append(asked.Factors, spec.Factor{Path: "load_phase.parallel", Levels: []spec.Level{{Value: 1}, {Value: 2}}})
	asked.Order, asked.Batch, asked.Margin = spec.OrderBatched, []string{"timeout"}, 0.001
	return asked
}

// What is batched by is compared between batches, where drift counts as an effect; the plan says so, and here it is
// seen. What is compared within a batch keeps the promise of blocks.
func TestBatchedOrderIsAsSureAsItSays(t *testing.T) {
	const studies, trials = 400, 6
	plans := plansOf(t, batched(trials), orders)
	g := cheap(simulated.Target{Noise: 0.01, NoiseAR: 0.7, Drift: 0.05, Session: session(3 * trials)})
	within, between := 0, 0
	for seed := range studies {
		found := plans[seed%orders].perform(t, g, seed)
		if len(found) != 2 {
			t.Fatalf("seed %d: %+v", seed, found)
		}
		for _, c := range found {
			switch c.Pairs {
			case trials:
				within += count(different(c.Verdict))
			case 0:
				between += count(different(c.Verdict))
			default:
				t.Fatalf("seed %d: %d pairs of %s", seed, c.Pairs, c.Configuration)
			}
		}
	}
	atMost(t, "A/A comparisons within a batch with a difference", within, studies, 0.05)
	t.Logf("between batches: %d of %d", between, studies)
	if between < studies/4 {
		t.Errorf("between batches only %d of %d A/A comparisons found a difference: the warning of the plan is wrong", between, studies)
	}
}

// Intervals of response times, percentiles among them, contain the truth as often as those of the throughput do. In a
// closed loop a target that is faster by a factor answers in so much less time.
func TestIntervalsOfLatenciesCoverTheTruth(t *testing.T) {
	const studies, trials, faster = 400, 6, 1.05
	spec := sweep(2, trials)
	spec.Metrics = []string{"read.p99", "mean", "throughput"}
	plans := plansOf(t, spec, orders)
	g := cheap(simulated.Target{
		Noise: 0.02, TailNoise: 0.05, NoiseAR: 0.7, Drift: 0.05, Session: session(2 * trials),
		Effects: []simulated.Effect{{When: level(1), Factor: faster}},
	})
	covered, wrong := map[string]int{}, 0
	for seed := range studies {
		for _, c := range plans[seed%orders].perform(t, g, seed) {
			truth := faster
			if c.Metric != "throughput" {
				truth = 1 / faster
			}
			covered[c.Metric] += count(*c.Low <= truth && truth <= *c.High)
			wrong += count(c.Verdict == record.Worse)
		}
	}
	for _, metric := range spec.Metrics {
		share, se := float64(covered[metric])/studies, math.Sqrt(0.95*0.05/studies)
		t.Logf("%s: %.2f %% of the intervals contain the truth", metric, share*100)
		if share < 0.93-se || share > 0.97+se {
			t.Errorf("%s: %.2f %% of the intervals contain the truth", metric, share*100)
		}
	}
	if wrong > studies/20 {
		t.Errorf("%d of %d verdicts are worse, although it is faster", wrong, 3*studies)
	}
}

// A stall of the target that comes once a minute, whatever runs, makes no configuration look different.
func TestStallsAreNobodysEffect(t *testing.T) {
	const studies, trials = 100, 6
	spec := sweep(2, trials)
	spec.Metrics, spec.Margin = []string{"throughput", "p99"}, 0.001
	plans := plansOf(t, spec, orders)
	g := cheap(simulated.Target{Noise: 0.01, Checkpoint: 0.6, Cycle: time.Minute, Session: session(2 * trials)})
	g.Interval = 5 * time.Second
	alarms := map[string]int{}
	for seed := range studies {
		for _, c := range plans[seed%orders].perform(t, g, seed) {
			alarms[c.Metric] += count(different(c.Verdict))
		}
	}
	for _, metric := range spec.Metrics {
		atMost(t, "A/A comparisons of "+metric+" with a difference", alarms[metric], studies, 0.05)
	}
}
