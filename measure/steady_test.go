//go:build !race

package measure

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// noise is stationary with a standard deviation and a memory: how much of a deviation is left a second later. Half of
// its variance may be that of single seconds, which hides the memory.
type noise struct {
	deviation, memory float64
	single            bool
}

// run is a run of so many seconds around a course.
func (n noise) run(rng *rand.Rand, seconds int, course func(second int) float64) *Summary {
	s := NewSummary(testDims(false), "measure")
	x := rng.NormFloat64()
	for i := range seconds {
		x = n.memory*x + rng.NormFloat64()*math.Sqrt(1-n.memory*n.memory)
		v := x
		if n.single {
			v = (x + rng.NormFloat64()) / math.Sqrt2
		}
		rate := 10_000 * max(0.05, 1+n.deviation*v) * course(i)
		s.Points = append(s.Points, Point{Start: time.Duration(i) * time.Second, End: time.Duration(i+1) * time.Second,
			Tally: Tally{Attempted: int64(rate), Succeeded: int64(rate)}, ResponseSum: 16e9})
	}
	s.End = time.Duration(seconds) * time.Second
	return s
}

// unsteady is the share of such runs that are called unsteady.
func (n noise) unsteady(rng *rand.Rand, runs, seconds int, course func(second int) float64) float64 {
	found := 0
	for range runs {
		for _, f := range checkSteady(n.run(rng, seconds, course), Circumstances{Cycle: time.Minute}) {
			if f.ID != "too-short" {
				found++
				break
			}
		}
	}
	return float64(found) / float64(runs)
}

func checkpoints(second int) float64 {
	if second%60 < 6 {
		return 0.85
	}
	return 1
}

// At most 5 % of stationary runs are called unsteady, however large their noise is, also if a deviation lasts: with a
// memory of 0.9 a tenth is left after 22 s. The bound has an allowance of two standard errors.
func TestSteadyRunsAreCalledSteady(t *testing.T) {
	const seed, runs = 21, 60
	rng := rand.New(rand.NewPCG(seed, 0))
	flat := func(int) float64 { return 1 }
	noises := []noise{{0.02, 0, false}, {0.15, 0, false}, {0.15, 0.5, false}, {0.15, 0.8, true}, {0.15, 0.9, false}}
	for _, n := range noises {
		for _, seconds := range []int{240, 600} {
			for name, course := range map[string]func(int) float64{"flat": flat, "checkpoints": checkpoints} {
				if wrong := n.unsteady(rng, runs, seconds, course); wrong > 0.05+2*math.Sqrt(0.05*0.95/runs) {
					t.Errorf("seed %d: %.0f %% of steady runs of %d s are called unsteady (%+v, %s)", seed, 100*wrong, seconds, n, name)
				}
			}
		}
	}
}

// Trends and warm-ups that are larger than the noise are found.
func TestUnsteadyRunsAreFound(t *testing.T) {
	const seed, runs = 22, 40
	rng := rand.New(rand.NewPCG(seed, 0))
	rising := func(by float64, seconds int) func(int) float64 {
		return func(i int) float64 { return (1 + by*float64(i)/float64(seconds)) * checkpoints(i) }
	}
	warming := func(i int) float64 { return 1 - 0.3*math.Exp(-float64(i)/60) }
	for _, c := range []struct {
		name    string
		noise   noise
		seconds int
		course  func(int) float64
		least   float64
	}{
		{"5 %", noise{0.02, 0, false}, 240, rising(0.05, 240), 0.9},
		{"10 %", noise{0.02, 0.5, false}, 240, rising(0.1, 240), 0.9},
		{"20 %", noise{0.1, 0.5, false}, 600, rising(0.2, 600), 0.9},
		{"warm-up", noise{0.03, 0.5, false}, 240, warming, 0.75},
		{"warm-up", noise{0.03, 0.5, false}, 600, warming, 0.9},
	} {
		if found := c.noise.unsteady(rng, runs, c.seconds, c.course); found < c.least {
			t.Errorf("seed %d: %s of %+v in %d s is found in %.0f %% of the runs, want %.0f %%", seed, c.name, c.noise, c.seconds,
				100*found, 100*c.least)
		}
	}
}
