package measure

import (
	"math"
	"slices"

	"github.com/plimsoll-bench/plimsoll/measure/stats"
)

// TheilSen returns the median of the slopes between all pairs of points (x, y): a trend that a third of
// wild points cannot move. It returns 0 if no two points differ in x. Points that are not finite are
// left out. (Sen, "Estimates of the regression coefficient based on Kendall's tau", JASA 1968.)
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
	v := slices.Clone(values)
	slices.Sort(v)
	if m := len(v) / 2; len(v)%2 == 0 {
		return v[m-1]/2 + v[m]/2
	} else {
		return v[m]
	}
}

// MannKendall tests whether a series rises or falls. s is the number of rising pairs minus that of
// falling ones; p is the two-sided probability of one at least as large in a series without trend, from
// the normal approximation with correction for ties and continuity (good from about 8 values). It
// assumes independent values; where neighbours are alike, p is too small.
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
	for _, t := range ties(y) {
		variance -= pairs(float64(t))
	}
	variance /= 18
	if s == 0 || variance <= 0 {
		return s, 1
	}
	z := (math.Abs(float64(s)) - 1) / math.Sqrt(variance)
	return s, min(1, math.Erfc(z/math.Sqrt2))
}

// ties returns the sizes of the groups of equal values.
func ties(y []float64) []int {
	v := slices.Clone(y)
	slices.Sort(v)
	var groups []int
	for i := 0; i < len(v); {
		j := i
		for j < len(v) && v[j] == v[i] {
			j++
		}
		groups = append(groups, j-i)
		i = j
	}
	return groups
}

// MSER finds where a series settles: it cuts so many values from the front, in batches of m, that the
// standard error of the mean of the rest is smallest,
//
//	d* = argmin over d of Σ (Y_i − mean of Y from d)² / (n−d)², i from d
//
// where Y are the means of the batches. The last few batches are not tried as a beginning, since the
// statistic means nothing there. cut is in values, not batches. settled is false if more than half
// would have to go (or there are too few values): the series then has not been seen to settle.
// (White, "An effective truncation heuristic for bias reduction in simulation output", Simulation 1997.)
func MSER(values []float64, m int) (cut int, settled bool) {
	y := batchMeans(values, max(1, m))
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
	return at * max(1, m), 2*at <= n
}

func batchMeans(values []float64, m int) []float64 {
	var means []float64
	for i := 0; i+m <= len(values); i += m {
		means = append(means, stats.Mean(values[i:i+m]))
	}
	return means
}

// squaredError is the squared standard error of the mean, but for a constant factor near one.
func squaredError(y []float64) float64 {
	m, sum := stats.Mean(y), 0.0
	for _, v := range y {
		sum += (v - m) * (v - m)
	}
	return sum / float64(len(y)) / float64(len(y))
}
