package stats

import (
	"math"
	"slices"
	"testing"
)

func TestHolm(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct{ p, holm []float64 }{
		{
			[]float64{0.01, 0.04, 0.03, 0.005, 0.2, 0.04},
			[]float64{0.05, 0.12, 0.12, 0.03, 0.2, 0.12},
		},
		{[]float64{0.03}, []float64{0.03}},
		{[]float64{0.9, 0.8}, []float64{1, 1}},
		{[]float64{nan, 0.01}, []float64{1, 0.02}},
		{[]float64{0, -1, 2}, []float64{0, 0, 1}},
		{nil, []float64{}},
	} {
		before := slices.Clone(c.p)
		if got := Holm(c.p); !slices.EqualFunc(got, c.holm, func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }) {
			t.Errorf("Holm of %v is %v, want %v", c.p, got, c.holm)
		}
		if !slices.EqualFunc(before, c.p, func(a, b float64) bool { return a == b || a != a && b != b }) {
			t.Errorf("%v was changed to %v", before, c.p)
		}
	}
}
