package load

import (
	"math"
	"slices"
	"testing"
	"time"
)

// The arrivals of several processes that share a rate are together what those of one process are: independent,
// with exponential distances. With the same seed everywhere they would come in bursts.
func TestSplitArrivalsArePoisson(t *testing.T) {
	const clients, rate, n = 3, 3000.0, 60_000
	union := func(seed func(client int) uint64) []float64 {
		var due []int64
		for c := range clients {
			a := newArrivals(Config{Workers: 1, Rate: rate / clients, Arrivals: Poisson, Seed: seed(c),
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
