package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// near complains about a value that is not what is wanted, to a relative error.
func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > tolerance*math.Abs(want) {
		t.Errorf("%s is %.15g, want %.15g", what, got, want)
	}
}

// nearInterval complains about an interval that is not what is wanted.
func nearInterval(t *testing.T, what string, got Interval, low, high float64) {
	t.Helper()
	near(t, what+", low end,", got.Low, low, 1e-9)
	near(t, what+", high end,", got.High, high, 1e-9)
}

// scatter makes values around a centre with a coefficient of variation, lognormal as results of trials are.
func scatter(r *rand.Rand, n int, centre, cv float64) []float64 {
	xs := make([]float64, n)
	sigma := math.Sqrt(math.Log1p(cv * cv))
	for i := range xs {
		xs[i] = centre * math.Exp(sigma*r.NormFloat64())
	}
	return xs
}
