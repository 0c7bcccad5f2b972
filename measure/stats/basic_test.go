package stats

import (
	"math"
	"testing"
)

// near says whether a value is what is wanted, to a relative error.
func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > tolerance*max(1, math.Abs(want)) && math.Abs(got-want) > tolerance*math.Abs(want) {
		t.Errorf("%s is %.12g, want %.12g", what, got, want)
	}
}

// The table of Student's t, as printed in every textbook.
func TestTQuantile(t *testing.T) {
	for _, c := range []struct{ p, df, want float64 }{
		{0.975, 1, 12.706}, {0.975, 2, 4.303}, {0.975, 4, 2.776}, {0.975, 9, 2.262}, {0.975, 30, 2.042}, {0.975, 120, 1.980},
		{0.95, 5, 2.015}, {0.995, 10, 3.169}, {0.9995, 3, 12.924}, {0.025, 4, -2.776}, {0.975, 1e9, 1.960},
	} {
		if got := TQuantile(c.p, c.df); math.Abs(got-c.want) > 0.0006 {
			t.Errorf("the %v-quantile with %v degrees of freedom is %v, want %v", c.p, c.df, got, c.want)
		}
	}
}
