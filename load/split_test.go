package load

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/workload"
)

// dueTimes are those of a schedule until an end, at most.
func dueTimes(cfg Config, end time.Duration) (due []int64) {
	cfg = cfg.withDefaults()
	limit := int64(math.MaxInt64)
	if cfg.Operations > 0 {
		limit = ticketsOf(cfg)
	}
	a := newArrivals(cfg, limit)
	for at := a.next(); at < int64(end); at = a.next() {
		due = append(due, at)
	}
	return due
}

// Constant arrivals of several processes are together exactly those of one, through a warm-up, ramps and steps, and so
// is their number.
func TestSplitConstantArrivals(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for clients := 2; clients <= 7; clients++ {
		equal, weighted := make([]int, clients), make([]int, clients)
		for i := range clients {
			equal[i], weighted[i] = 1, 1+random.IntN(100)
		}
		for name, cfg := range map[string]Config{
			"one rate": {Rate: 997},
			"stages": {Rate: 100, Warmup: 700 * time.Millisecond, Stages: []Stage{{Duration: 3 * time.Second, Rate: 5003},
				{Rate: 17, Step: true}, {Duration: 2 * time.Second, Rate: 17}, {Duration: time.Second},
				{Duration: time.Second, Rate: 333}}},
			"operations": {Rate: 1000.0 / 3, Warmup: time.Second / 7, Operations: 1234},
		} {
			cfg.Workers = clients
			want := dueTimes(cfg, 10*time.Second)
			for _, parts := range [][]int{equal, weighted} {
				var got []int64
				for i, turns := range workload.TakeTurns(parts) {
					cfg.Turns = turns
					own := dueTimes(cfg, 10*time.Second)
					if slices.Equal(parts, equal) {
						for k, at := range own { // every clients-th one
							if at != want[k*clients+i] {
								t.Fatalf("%s: arrival %d of client %d of %d is due at %d, want %d", name, k, i, clients, at, want[k*clients+i])
							}
						}
					}
					got = append(got, own...)
				}
				slices.Sort(got)
				if diff := cmp.Diff(want, got); diff != "" || len(want) < 1000 {
					t.Errorf("%s for %v: %d of %d arrivals (-one process +all clients):\n%.500s", name, parts, len(got), len(want), diff)
				}
				cfg.Turns = workload.Turns{}
			}
		}
	}
}

// The virtual users of several processes are together those of one, at every moment of a ramp.
func TestSplitUsers(t *testing.T) {
	cfg := Config{Workers: 5, Stages: []Stage{{Duration: 10 * time.Second, Workers: 50},
		{Duration: 5 * time.Second, Workers: 3}, {Workers: 20, Step: true}}}
	at := func(steps []userStep, t int64) int { return (&plan{steps: steps}).usersAt(t) }
	whole := userSteps(cfg)
	for _, parts := range [][]int{{1, 1}, {1, 1, 1}, {7, 2, 1}} {
		var each [][]userStep
		most := 0
		for _, turns := range workload.TakeTurns(parts) {
			part := cfg
			part.Turns = turns
			each, most = append(each, userSteps(part)), most+part.MaxWorkers()
		}
		if most != cfg.MaxWorkers() {
			t.Errorf("parts %v have %d workers, want %d", parts, most, cfg.MaxWorkers())
		}
		for ns := int64(0); ns < int64(16*time.Second); ns += int64(7 * time.Millisecond) {
			sum := 0
			for _, steps := range each {
				sum += at(steps, ns)
			}
			if want := at(whole, ns); sum != want {
				t.Fatalf("parts %v have %d users at %s, want %d", parts, sum, fmt.Sprint(time.Duration(ns)), want)
			}
		}
	}
}

// The arrivals of several processes that share a rate are together what those of one process are: independent,
// with exponential distances. With the same seed everywhere they would come in bursts.
func TestSplitArrivalsArePoisson(t *testing.T) {
	const clients, rate, n = 3, 3000.0, 60_000
	turns := workload.TakeTurns([]int{1, 1, 1})
	union := func(seed func(client int) uint64) []float64 {
		var due []int64
		for c := range clients {
			a := newArrivals(Config{Workers: 1, Rate: rate, Arrivals: Poisson, Seed: seed(c), Turns: turns[c],
				Duration: time.Hour}.withDefaults(), math.MaxInt64)
			for range n / clients {
				due = append(due, a.next())
			}
		}
		slices.Sort(due)
		due = due[:len(due)*9/10] // all of them are in the overlap
		var gaps []float64
		for i := 1; i < len(due); i++ {
			gaps = append(gaps, float64(due[i]-due[i-1])/1e9*rate)
		}
		slices.Sort(gaps)
		return gaps
	}
	// 1 % of the Kolmogorov-Smirnov test
	if d := distanceFromExponential(union(func(c int) uint64 {
		return 1 + uint64(c)*0x9e3779b97f4a7c15
	})); d > 1.63/math.Sqrt(n*0.9) {
		t.Errorf("the distances of the arrivals are %.4f away from an exponential distribution", d)
	}
	if d := distanceFromExponential(union(func(int) uint64 { return 1 })); d < 0.3 {
		t.Errorf("arrivals in bursts are only %.4f away from an exponential distribution, so this test sees nothing", d)
	}
}

// distanceFromExponential is the statistic of Kolmogorov and Smirnov for sorted values and mean 1.
func distanceFromExponential(sorted []float64) (d float64) {
	n := float64(len(sorted))
	for i, x := range sorted {
		p := -math.Expm1(-x)
		d = max(d, math.Abs(p-float64(i)/n), math.Abs(p-float64(i+1)/n))
	}
	return d
}
