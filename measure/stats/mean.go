package stats

import (
	"math"
	"slices"
)

// Mean returns the arithmetic mean, 0 without values.
func Mean(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum / float64(max(1, len(xs)))
}

// GeoMean returns the geometric mean of trials and its t interval on the logarithms, exp(x̄ ± t·s/√n). Results of
// trials are skewed and their logarithms are not. With few trials this interval is correct and a bootstrap is not. ok
// is false with fewer than two values; the mean of a single value is still returned. With a value that is zero,
// negative or not finite, the mean is 0 too.
func GeoMean(xs []float64, confidence float64) (mean float64, iv Interval, ok bool) {
	l, valid := logs(xs)
	if !valid {
		return 0, Interval{}, false
	}
	m, variance := moments(l)
	// By rounding, the mean could be outside of the values.
	mean = min(max(math.Exp(m), slices.Min(xs)), slices.Max(xs))
	if len(xs) < 2 || !validConfidence(confidence) {
		return mean, Interval{}, false
	}
	n := float64(len(xs))
	t := TQuantile((1+confidence)/2, n-1)
	half := t * math.Sqrt(variance/n)
	if half == 0 {
		return mean, Interval{mean, mean}, true
	}
	iv = Interval{math.Exp(m - half), math.Exp(m + half)}
	if !iv.bounded() {
		return mean, Interval{}, false
	}
	return mean, iv, true
}
