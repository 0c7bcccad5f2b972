package measure

import (
	"math"
	"slices"

	"github.com/plimsoll-bench/plimsoll/measure/stats"
)

// TheilSen returns the median of the slopes between all pairs of points (x, y), on which up to a third of outliers has
// little effect. It returns 0 if no two points differ in x. Points that are not finite are ignored. (Sen, "Estimates of
// the regression coefficient based on Kendall's tau", JASA 1968.)
func TheilSen(x, y []float64) float64 {
	var slopes []float64
	n := min(len(x), len(y))
	for i := range n {
		for j := i + 1; j < n; j++ {
			if s := (y[j] - y[i]) / (x[j] - x[i]); x[j] != x[i] && !math.IsNaN(s) && !math.IsInf(s, 0) {
				slopes = append(slopes, s)
			}
		}
	}
	return Median(slopes)
}

// Median returns the middle value, the mean of both middle ones of an even number, 0 of none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	v := slices.Sorted(slices.Values(values))
	return v[(len(v)-1)/2]/2 + v[len(v)/2]/2
}

// MannKendall tests whether a series rises or falls. s is the number of rising pairs minus that of falling pairs. p is
// the two-sided p-value, from the normal approximation with correction for ties and continuity (good from about 8
// values). It assumes independent values; if neighbours are correlated, p is too small.
//
//	Var S = (n(n−1)(2n+5) − Σ t(t−1)(2t+5)) / 18 over groups of t equal values; z = (|S|−1)/√Var
//
// (Kendall, "Rank Correlation Methods", 1975.)
func MannKendall(y []float64) (s int, p float64) {
	for i := range y {
		for j := i + 1; j < len(y); j++ {
			switch {
			case y[j] > y[i]:
				s++
			case y[j] < y[i]:
				s--
			}
		}
	}
	pairs := func(t float64) float64 { return t * (t - 1) * (2*t + 5) }
	variance := pairs(float64(len(y)))
	v := slices.Sorted(slices.Values(y))
	for i, j := 0, 0; i < len(v); i = j { // groups of equal values
		for j = i; j < len(v) && v[j] == v[i]; j++ {
		}
		variance -= pairs(float64(j - i))
	}
	variance /= 18
	if s == 0 || variance <= 0 {
		return s, 1
	}
	z := (math.Abs(float64(s)) - 1) / math.Sqrt(variance)
	return s, min(1, math.Erfc(z/math.Sqrt2))
}

// MSER finds the end of the warm-up of a series. It cuts the number of values from the front for which the standard
// error of the mean of the rest is smallest,
//
//	d* = argmin over d of Σ (y_i − mean of y from d)² / (n−d)², i from d
//
// The last few values are not tried as a beginning, because the statistic has no meaning there. settled is false if
// more than half would be cut, or there are too few values. (White, "An effective truncation heuristic for bias
// reduction in simulation output", Simulation 1997.)
func MSER(y []float64) (cut int, settled bool) {
	n := len(y)
	ignored := min(5, n/4)
	if n < 4 {
		return 0, false
	}
	best, at := math.Inf(1), 0
	for d := range n - ignored {
		if e := squaredError(y[d:]); e < best {
			best, at = e, d
		}
	}
	return at, 2*at <= n
}

// squaredError is the squared standard error of the mean, but for a constant factor near one.
func squaredError(y []float64) float64 {
	m, sum := stats.Mean(y), 0.0
	for _, v := range y {
		sum += (v - m) * (v - m)
	}
	return sum / float64(len(y)) / float64(len(y))
}
