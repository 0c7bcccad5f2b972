package search_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/study/search"
)

// target is a simulated target whose capacity is known: the highest rate at which at most 1 % of the operations are
// late.
type target struct {
	capacity float64
	cliff    bool    // late operations pile up above the capacity; otherwise they become more and more
	noise    float64 // standard deviation of the capacity from step to step
	drift    float64 // change of the capacity per step
	slow     float64 // share of the seconds in which all are late
	period   int     // seconds between checkpoints, 0 for none
	r        *rand.Rand
	second   int // since the begin
	step     int
}

const (
	allowed   = 0.01
	perStep   = 20 // seconds
	perTrial  = 60 // seconds of a confirming trial
	pause     = 4  // seconds between steps
	dipsBy    = 0.06
	dipsFor   = 3 // seconds
	steepness = 14
)

// late is the share of late operations at a rate, in second t of a step.
func (g *target) late(rate, capacity float64, t int) float64 {
	x := rate / capacity
	if g.cliff {
		if x <= 1 {
			return 0.002 * math.Pow(x, 8)
		}
		return min(1, max(0.002, (x-1)*float64(t+1)*20)) // 20 ms is a fiftieth of a second
	}
	return min(1, allowed*math.Pow(x, steepness))
}

// carries is what the target carries in a second without noise.
func (g *target) carries(second int) float64 {
	c := g.capacity * math.Exp(g.drift*float64(g.step))
	if g.period > 0 && second%g.period < dipsFor {
		c *= 1 - dipsBy
	}
	return c
}

// run makes a step at a rate.
func (g *target) run(rate float64, seconds int) search.Outcome {
	c, blocks := math.Exp(g.noise*g.r.NormFloat64()), []search.Block{}
	wave := 0.0 // what is late scatters, and depends on the second before
	for t := range seconds {
		wave = 0.5*wave + 0.3*g.r.NormFloat64()
		share := min(1, g.late(rate, g.carries(g.second)*c, t)*math.Exp(wave))
		if g.r.Float64() < g.slow {
			share = 1
		}
		bad := share*rate + math.Sqrt(share*(1-share)*rate)*g.r.NormFloat64()
		blocks = append(blocks, search.Block{Due: rate, Bad: math.Round(min(rate, max(0, bad)))})
		g.second++
	}
	g.second += pause
	g.step++
	return search.Outcome{Certainty: search.Decide(blocks, allowed)}
}

// truth is the highest rate of which at most the allowed share is late in the long run, at the last step.
func (g *target) truth() float64 {
	g.step--
	defer func() { g.step++ }()
	low, high := g.capacity/3, g.capacity*3
	for high/low > 1.0001 {
		rate, sum, n := math.Sqrt(low*high), 0.0, 0
		for s := range max(1, g.period) {
			for t := range perTrial {
				sum += g.slow + (1-g.slow)*g.late(rate, g.carries(s), t)
				n++
			}
		}
		if sum/float64(n) <= allowed {
			low = rate
		} else {
			high = rate
		}
	}
	return low
}

var options = search.Options{Growth: 1.5, Precision: 0.05, Confirm: 4, Least: 13, Most: 24}

// find searches with the closed loop of a target at a certain multiple of its capacity, with the pace and the time of
// procedure. It returns the answer, the outcomes and the time.
func find(g *target, within time.Duration, first float64) (search.Answer, []search.Outcome, time.Duration) {
	o := options
	o.From, o.Most = g.capacity*first, 100
	pace := search.PaceWithin(within, pause*time.Second)
	o.Least = pace.Least(within)
	took := pace.Step + pace.Around // of the closed loop
	s := search.New(o)
	var all []search.Outcome
	for {
		each := pace.Step
		if s.Confirmed() > 0 {
			each = pace.Trial
		}
		s.Limit(len(all) + int((within-took)/(each+pace.Around)))
		step, more := s.Next()
		if !more {
			return s.Answer(), all, took
		}
		seconds := pace.Step
		if step.Phase == search.Confirm {
			seconds = max(pace.Step, min(pace.Trial, within-took-pace.Around))
		}
		out := g.run(step.Rate, int(seconds.Seconds()))
		out.Step = step
		all, took = append(all, out), took+seconds+pace.Around
		s.Add(out)
	}
}

func (g *target) String() string {
	return fmt.Sprintf("capacity %.0f, cliff %v, noise %.3f, drift %.4f, slow %.4f, checkpoints every %d s", g.capacity, g.cliff, g.noise,
		g.drift, g.slow, g.period)
}

// drawn is the i-th target of [TestTruth], and its kind.
func drawn(i int, r *rand.Rand) (*target, string) {
	g := &target{capacity: math.Exp(5 + 6*r.Float64()), cliff: i%2 == 0, noise: 0.01 + 0.09*r.Float64(), r: r}
	kind := map[bool]string{true: "cliff", false: "knee"}[g.cliff]
	switch i / 2 % 5 {
	case 1:
		kind, g.drift = kind+" drift", 0.01*(2*r.Float64()-1)
	case 2:
		kind, g.slow = kind+" slow seconds", 1/(200+600*r.Float64())
	case 3:
		kind, g.period = kind+" checkpoints", 60
	case 4:
		kind, g.noise = kind+" quiet", 0.01
	}
	return g, kind
}

// truths are what the searches of simulated targets showed.
type truths struct {
	n, found, right   int // answers; right are those within 5 % of the truth, or with an interval that contains it
	wrong, stated     int // answers that are wrong by more than 5 %, and as many as are stated
	sure, sureWrong   int // answers that are stated to be wrong with 5 % at most
	planned           int // searches whose time is within 25 % of the plan
	steps, quietSteps int // medians; quiet are targets with a noise of at most 2 %
}

// searched searches simulated targets.
func searched(t *testing.T, targets int, within time.Duration) (sum truths) {
	seed := uint64(44)
	if text := os.Getenv("PLIMSOLL_TEST_SEED"); text != "" { // to try others
		seed, _ = strconv.ParseUint(text, 10, 64)
	}
	r := rand.New(rand.NewPCG(seed, 1))
	plan := search.PaceWithin(within, pause*time.Second).Time(within)
	kinds, stated := map[string]int{}, 0.0
	var steps, quiet []int
	sum.n = targets
	for i := range targets {
		g, kind := drawn(i, r)
		a, outcomes, took := find(g, within, 0.3+0.4*r.Float64())
		truth := g.truth()
		near := math.Abs(a.Rate/truth-1) <= 0.05
		found := a.State == search.Found
		count := func(n *int, is bool) {
			if is {
				*n++
			}
		}
		count(&sum.found, found)
		count(&sum.wrong, !near)
		count(&sum.sure, found && a.Sure())
		count(&sum.sureWrong, found && a.Sure() && !near)
		count(&sum.planned, math.Abs(took.Seconds()/plan.Seconds()-1) <= 0.25)
		stated += a.Wrong
		steps = append(steps, len(outcomes))
		if g.noise <= 0.02 {
			quiet = append(quiet, len(outcomes))
		}
		if found && (near || a.Low <= truth && truth <= a.High) {
			sum.right++
			continue
		}
		kinds[kind]++
		t.Logf("%s: %s %.0f (%.0f to %.0f), the truth is %.0f, %d steps", g, a.State, a.Rate, a.Low, a.High, truth,
			len(outcomes))
	}
	slices.Sort(steps)
	slices.Sort(quiet)
	sum.stated, sum.steps, sum.quietSteps = int(math.Round(stated)), steps[targets/2], quiet[len(quiet)/2]
	t.Logf("seed %d, within %s: %+v, not right by kind: %v", seed, within, sum, kinds)
	return sum
}

// TestTruth searches simulated targets, 400 of them in 15 minutes. The answer is within 5 % of the truth or its
// interval contains it in at least 95 %, with a median of at most 14 steps where there is little noise. No more answers
// are wrong by more than 5 % than their probabilities add up to, also where the search ended because it was sure, and
// the time is within 25 % of the plan in at least 95 %.
func TestTruth(t *testing.T) {
	targetsOf := map[time.Duration]int{5 * time.Minute: 200, 15 * time.Minute: 400, 40 * time.Minute: 200}
	for within, targets := range targetsOf {
		t.Run(within.String(), func(t *testing.T) {
			t.Parallel()
			sum := searched(t, targets, within)
			if sum.wrong > sum.stated || float64(sum.sureWrong) > search.ErrorOfAnswer*float64(sum.sure) {
				t.Errorf("%d answers are wrong by more than 5 %%, and %d are stated; %d of %d that are sure", sum.wrong, sum.stated,
					sum.sureWrong, sum.sure)
			}
			if sum.right < targets*95/100 {
				t.Errorf("%d of %d answers are right", sum.right, targets)
			}
			if sum.quietSteps > 14 && within == 15*time.Minute {
				t.Errorf("a median of %d steps where there is little noise", sum.quietSteps)
			}
			if sum.planned < targets*95/100 {
				t.Errorf("the time is within 25 %% of the plan for %d of %d", sum.planned, targets)
			}
		})
	}
}
