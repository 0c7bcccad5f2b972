package stats

import (
	"math"
	"testing"
)

// From tables of the exact binomial interval.
func TestBinomialInterval(t *testing.T) {
	for _, c := range []struct {
		k, n      int
		low, high float64
	}{{0, 1, 0, 0.975}, {1, 1, 0.025, 1}, {0, 2, 0, 0.8419}, {2, 2, 0.1581, 1}, {1, 10, 0.0025, 0.4450},
		{5, 10, 0.1871, 0.8129}, {0, 59, 0, 0.0606}, {0, 0, 0, 1}} {
		if iv := BinomialInterval(c.k, c.n, 0.95); math.Abs(iv.Low-c.low) > 5e-5 || math.Abs(iv.High-c.high) > 5e-5 {
			t.Errorf("%d of %d: [%.4f, %.4f], want [%.4f, %.4f]", c.k, c.n, iv.Low, iv.High, c.low, c.high)
		}
	}
}
