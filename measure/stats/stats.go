// Package stats holds the statistics that results are judged with: intervals over trials, ratios within blocks,
// equivalence, corrections for many cells, sample sizes, change points, knees.
//
// It is mathematics on slices of numbers and knows nothing of runs, metrics or units: what a value means, which
// trials count and which verdict follows is decided by those who call it. Summaries of one run's histograms and the
// search for its steady state are in package measure.
//
// Everything here is deterministic: nothing is resampled, and equal input gives equal output. No function panics,
// changes what it is given, or returns NaN or an infinity. Where a question has no answer (too few values, a value that
// is not finite, a logarithm of nothing), ok is false. Values without any spread are taken at their word: the interval
// has no width.
//
// The unit of all intervals is a trial. Values of one run, such as its seconds, resemble their neighbours; only
// [BatchMeans] and [EffectiveSize] are made for those.
package stats

import (
	"math"
	"slices"
)

// Interval is a confidence interval, in the unit of the values.
type Interval struct {
	Low, High float64
}

// negligible is the relative spread that rounding alone can leave behind: below it, values count as equal. No
// measurement is as exact as this.
const negligible = 1e-12

// finite says whether all values are numbers.
func finite(xs []float64) bool {
	return !slices.ContainsFunc(xs, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) })
}

// leastPositive is the smallest number with all its digits; what is nearer to zero counts as zero, since its logarithm
// is not reliable.
const leastPositive = 0x1p-1022

// logs returns the natural logarithms, and false if a value has none or there are no values.
func logs(xs []float64) ([]float64, bool) {
	if len(xs) == 0 || !finite(xs) || slices.Min(xs) < leastPositive {
		return nil, false
	}
	l := make([]float64, len(xs))
	for i, x := range xs {
		l[i] = math.Log(x)
	}
	return l, true
}

// moments returns the mean and the sample variance (divided by n−1; 0 of one value). Spread and mean that
// rounding alone explains are not left in the variance: equal values have none. Dividing before adding keeps sums
// of huge values finite.
func moments(xs []float64) (mean, variance float64) {
	n := float64(len(xs))
	if n == 0 {
		return 0, 0
	}
	if slices.Min(xs) == slices.Max(xs) {
		return xs[0], 0
	}
	for _, x := range xs {
		mean += x / n
	}
	for _, x := range xs {
		variance += (x - mean) / (n - 1) * (x - mean)
	}
	return mean, variance
}

// validConfidence says whether a confidence level is between 0 and 1, both excluded.
func validConfidence(c float64) bool { return c > 0 && c < 1 }

// bounded says whether both ends are numbers.
func (iv Interval) bounded() bool { return finite([]float64{iv.Low, iv.High}) }
