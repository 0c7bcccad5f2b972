// Package stats has the statistics for judging results: intervals over trials, ratios within blocks, equivalence,
// correction for many comparisons, sample sizes, change points, knees.
//
// It works on slices of numbers without runs, metrics or units. Callers decide what a value means, which trials count
// and which verdict follows. Package measure has the summaries of histograms and the search for the steady state of a
// run.
//
// All functions are deterministic: nothing is resampled. No function panics, changes its arguments, or returns NaN or
// an infinity. If there is no answer (too few values, a value that is not finite, the logarithm of zero), ok is false.
// Values without spread give an interval without width.
//
// The unit of all intervals is a trial. Values of one run, such as its seconds, resemble their neighbours and must not
// be used.
package stats

import (
	"math"
	"slices"
)

// Interval is a confidence interval, in the unit of the values.
type Interval struct {
	Low, High float64
}

// negligible is the relative spread that rounding can cause. Below it, values count as equal.
const negligible = 1e-12

// finite reports whether no value is NaN or infinite.
func finite(xs []float64) bool {
	return !slices.ContainsFunc(xs, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) })
}

// leastPositive is the smallest number with full precision. Smaller ones count as zero, because their logarithms are
// not reliable.
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

// moments returns the mean and the sample variance (divided by n−1; 0 of one value). Equal values have no variance, not
// even by rounding. Division before addition keeps sums of huge values finite.
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

// validConfidence reports whether a confidence level is between 0 and 1, both excluded.
func validConfidence(c float64) bool { return c > 0 && c < 1 }

func (iv Interval) bounded() bool { return finite([]float64{iv.Low, iv.High}) }
