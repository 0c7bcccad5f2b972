//go:build !race

package measure

import (
	"math/rand/v2"
	"testing"
	"time"
)

// A steady noisy run must not be called unsteady: with four checkpoint cycles and dips, at most one run
// in twenty is.
func TestSteadyRunsAreCalledSteady(t *testing.T) {
	const seed, runs = 21, 200
	rng, wrong := rand.New(rand.NewPCG(seed, 0)), 0
	for range runs {
		s := NewSummary(testDims(false), "measure")
		noise := 0.0
		for i := range 600 {
			noise = 0.5*noise + 13*rng.NormFloat64()
			rate := 1000 + noise
			if i%60 < 6 {
				rate *= 0.85
			}
			s.Points = append(s.Points, Point{Start: time.Duration(i) * time.Second, End: time.Duration(i+1) * time.Second,
				Tally: Tally{Attempted: int64(rate), Succeeded: int64(rate)}, ResponseSum: int64(rate) * 1e6})
		}
		s.End = 600 * time.Second
		if len(checkSteady(s, Circumstances{Cycle: time.Minute})) > 0 {
			wrong++
		}
	}
	if wrong > runs/20 {
		t.Errorf("seed %d: %d of %d steady runs were called unsteady", seed, wrong, runs)
	}
}
