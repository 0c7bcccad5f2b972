package stats

import (
	"math"
	"slices"
	"testing"
)

func TestQuantileRanks(t *testing.T) {
	for _, c := range []struct {
		n             int
		q, confidence float64
		low, high     int
	}{
		{6, 0.5, 0.95, 1, 6}, {10, 0.5, 0.95, 2, 9}, {25, 0.5, 0.90, 8, 18}, {400, 0.99, 0.95, 392, 400},
		{1000, 0.5, 0.99, 459, 542}, {5000, 0.999, 0.95, 4990, 5000},
		{1e6, 0.99999, 0.95, 999983, 999997}, {1e9, 1e-6, 0.95, 938, 1063}, {40000, 0.5, 0.95, 19804, 20197},
		{1010000, 0.99, 0.95, 999704, 1000097},
	} {
		low, high, ok := quantileRanks(c.n, c.q, c.confidence)
		if !ok || low != c.low || high != c.high {
			t.Errorf("%v of %d at %v: ranks %d and %d, %v; want %d and %d", c.q, c.n, c.confidence, low, high, ok, c.low, c.high)
		}
		// The other tail is the mirror image.
		mirrorLow, mirrorHigh, _ := quantileRanks(c.n, 1-c.q, c.confidence)
		if mirrorLow != c.n+1-c.high || mirrorHigh != c.n+1-c.low {
			t.Errorf("%v of %d: ranks %d and %d are not the mirror image of %d and %d", 1-c.q, c.n, mirrorLow, mirrorHigh, c.low, c.high)
		}
	}
}

// Where exact probabilities hand over to the normal approximation, the ranks do not jump; and no number of values is
// too large.
func TestQuantileRanksOfMany(t *testing.T) {
	for _, q := range []float64{0.5, 0.9, 0.99, 0.999} {
		n := int(exactBinomial / (q * (1 - q)))
		low, high, ok := quantileRanks(n, q, 0.95)
		lowMore, highMore, okMore := quantileRanks(n+1000, q, 0.95)
		if rise := int(1000 * q); !ok || !okMore || max(lowMore-low-rise, low+rise-lowMore, highMore-high-rise,
			high+rise-highMore) > 2 {
			t.Errorf("the %v-quantile: a thousand more than %d values move the ranks from %d, %d to %d, %d", q, n, low, high, lowMore, highMore)
		}
	}
	for _, n := range []int{1, 100, 1e6, 1e9} {
		for _, q := range []float64{1e-12, 1e-6, 0.001, 0.3, 0.5, 0.99, 1 - 1e-9} {
			low, high, ok := quantileRanks(n, q, 0.95)
			if at := float64(n) * q; ok && (low < 1 || high > n || float64(low) > at+1 || float64(high) < at) {
				t.Errorf("%v of %d: ranks %d and %d", q, n, low, high)
			}
		}
	}
}

// How many values the percentiles need at least for an interval at 95 %.
func TestQuantileRanksNeedValues(t *testing.T) {
	for q, need := range map[float64]int{0.5: 6, 0.9: 36, 0.95: 72, 0.99: 368, 0.999: 3688} {
		if _, _, ok := quantileRanks(need-1, q, 0.95); ok {
			t.Errorf("%v has an interval with %d values", q, need-1)
		}
		if _, high, ok := quantileRanks(need, q, 0.95); !ok || high != need {
			t.Errorf("%v has no interval with %d values", q, need)
		}
	}
	for _, c := range []struct {
		n             int
		q, confidence float64
	}{{0, 0.5, 0.95}, {-1, 0.5, 0.95}, {9, 0, 0.95}, {9, 1, 0.95}, {9, 0.5, 0}, {9, 0.5, 1}, {9, math.NaN(), 0.9}} {
		if low, high, ok := quantileRanks(c.n, c.q, c.confidence); ok || low != 0 || high != 0 {
			t.Errorf("%+v has the ranks %d and %d", c, low, high)
		}
	}
}

func TestMedianInterval(t *testing.T) {
	xs := []float64{9, 1, 4, 7, 2, 8}
	median, iv, ok := MedianInterval(xs, 0.95)
	if !ok || median != 5.5 || iv != (Interval{1, 9}) || xs[0] != 9 {
		t.Errorf("of %v: %v, %v, %v", xs, median, iv, ok)
	}
	for _, c := range []struct {
		xs     []float64
		median float64
	}{
		{xs[:5], 4}, {xs[:1], 9}, {nil, 0}, {[]float64{1, math.NaN(), 2, 3, 4, 5, 6}, 0},
		{[]float64{math.MaxFloat64, math.MaxFloat64}, math.MaxFloat64},
	} {
		if median, iv, ok := MedianInterval(c.xs, 0.95); ok || median != c.median || iv != (Interval{}) {
			t.Errorf("of %v: %v, %v, %v; want %v and no interval", c.xs, median, iv, ok, c.median)
		}
	}
	if median, iv, ok := MedianInterval([]float64{0, 0, 0, 0, 0, 0, 0}, 0.95); !ok || median != 0 || iv != (Interval{}) {
		t.Errorf("of zeros: %v, %v, %v", median, iv, ok)
	}
}

func TestRareBound(t *testing.T) {
	for _, c := range []struct {
		n    int
		want float64
	}{{10, 0.2588655}, {59, 0.0495076}, {1, 0.95}, {0, 1}, {-3, 1}} {
		if got := RareBound(c.n, 0.95); math.Abs(got-c.want) > 1e-7 {
			t.Errorf("after %d trials: %v, want %v", c.n, got, c.want)
		}
	}
	if got := RareBound(5, 1); got != 1 {
		t.Errorf("with certainty nothing may be claimed, got %v", got)
	}
	for share, want := range map[float64]int{0.05: 59, 0.26: 10, 0.95: 1, 0.5: 5, 0: 0, 1: 0} {
		if got := RareTrials(share, 0.95); got != want {
			t.Errorf("to claim less than %v takes %d trials, want %d", share, got, want)
		}
	}
}

func TestOutliers(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		xs   []float64
		want []bool
	}{
		{[]float64{10, 12, 11, 13, 12, 11, 30, 10, -4}, []bool{no, no, no, no, no, no, yes, no, yes}},
		{[]float64{1, 2, 100}, []bool{no, no, no}},
		{[]float64{5, 5, 5, 5, 6}, []bool{no, no, no, no, yes}},
		{[]float64{5, 5, 5, 5}, []bool{no, no, no, no}},
		{[]float64{1, 2, math.NaN(), 3, 4, math.Inf(1), 90}, []bool{no, no, no, no, no, no, yes}},
		{nil, []bool{}},
	} {
		if got := Outliers(c.xs); !slices.Equal(got, c.want) {
			t.Errorf("of %v: %v, want %v", c.xs, got, c.want)
		}
	}
}
