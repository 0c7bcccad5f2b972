package search_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

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
	pause     = 3  // seconds between steps
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

var options = search.Options{Growth: 1.5, Precision: 0.05, Confirm: 4, Least: 11, Most: 24}

// find searches with the closed loop of a target at a certain multiple of its capacity.
func find(g *target, o search.Options, first float64) (search.Answer, []search.Outcome) {
	o.From = g.capacity * first
	s := search.New(o)
	var all []search.Outcome
	for {
		step, more := s.Next()
		if !more {
			return s.Answer(), all
		}
		seconds := perStep
		if step.Phase == search.Confirm {
			seconds = perTrial
		}
		out := g.run(step.Rate, seconds)
		out.Step = step
		all = append(all, out)
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

// TestTruth searches 400 simulated targets. The answer is within 5 % of the truth or its interval contains it in at
// least 95 %, with a median of at most 14 steps, and the planned time is within 15 % of the time of the steps in at
// least 90 %. No more answers are wrong by more than 5 % than their probabilities add up to.
func TestTruth(t *testing.T) {
	const targets = 400
	const trials = 7
	const plan = (search.Planned-trials)*perStep + trials*perTrial + search.Planned*pause // as procedure plans
	seed := uint64(44)
	if text := os.Getenv("PLIMSOLL_TEST_SEED"); text != "" { // to try others
		seed, _ = strconv.ParseUint(text, 10, 64)
	}
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	type tally struct{ n, right, near, contains int }
	kinds := map[string]*tally{}
	var steps []int
	right, planned, found, wrong, sure, stated := 0, 0, 0, 0, 0, 0.0
	var widths []float64
	for i := range targets {
		g, kind := drawn(i, r)
		a, outcomes := find(g, options, 0.3+0.4*r.Float64())
		truth := g.truth()
		near := math.Abs(a.Rate/truth-1) <= 0.05
		contains := a.Low <= truth && truth <= a.High
		if kinds[kind] == nil {
			kinds[kind] = &tally{}
		}
		k := kinds[kind]
		k.n++
		if near {
			k.near++
		} else {
			wrong++
		}
		stated += a.Wrong
		if a.Wrong <= 0.05 {
			sure++
		}
		if contains {
			k.contains++
		}
		if a.State == search.Found {
			found++
		}
		if a.State == search.Found && (near || contains) {
			right++
			k.right++
		} else {
			t.Logf("%s: %s %.0f (%.0f to %.0f), the truth is %.0f, %d steps", g, a.State, a.Rate, a.Low, a.High, truth, len(outcomes))
		}
		steps = append(steps, len(outcomes))
		widths = append(widths, a.High/a.Low-1)
		took := 0.0
		for _, o := range outcomes {
			took += pause + map[bool]float64{true: perTrial, false: perStep}[o.Phase == search.Confirm]
		}
		if math.Abs(took/plan-1) <= 0.15 {
			planned++
		}
	}
	slices.Sort(steps)
	slices.Sort(widths)
	for kind, k := range kinds {
		t.Logf("%-20s %3d: within 5 %% %3d, in the interval %3d, right %3d", kind, k.n, k.near, k.contains, k.right)
	}
	t.Logf("right %d, found %d, steps %d to %d, median %d, 95 %% %d; planned %d; width of the interval: median %.3f, 95 %% %.3f", right, found,
		steps[0], steps[targets-1], steps[targets/2], steps[targets*95/100], planned, widths[targets/2],
		widths[targets*95/100])
	t.Logf("wrong by more than 5 %%: %d, stated %.0f, of %d at most 5 %% is stated", wrong, stated, sure)
	if float64(wrong) > stated {
		t.Errorf("%d answers are wrong by more than 5 %%, and %.0f are stated", wrong, stated)
	}
	if right < targets*95/100 {
		t.Errorf("%d of %d answers are right", right, targets)
	}
	if steps[targets/2] > 14 {
		t.Errorf("a median of %d steps", steps[targets/2])
	}
	if planned < targets*90/100 {
		t.Errorf("the planned time is within 15 %% for %d of %d", planned, targets)
	}
}
