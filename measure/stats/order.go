package stats

import (
	"math"
	"slices"
	"sort"
)

// MedianInterval returns the median of trials and the interval between two of them that includes the true median with
// at least the confidence, for any distribution: 95 % need six values. ok is false with too few values, but the median
// is still returned. With a value that is not finite it is 0.
func MedianInterval(xs []float64, confidence float64) (median float64, iv Interval, ok bool) {
	if len(xs) == 0 || !finite(xs) {
		return 0, Interval{}, false
	}
	sorted := slices.Clone(xs)
	slices.Sort(sorted)
	median = sortedQuantile(sorted, 0.5)
	low, high, ok := quantileRanks(len(xs), 0.5, confidence)
	if !ok {
		return median, Interval{}, false
	}
	return median, Interval{sorted[low-1], sorted[high-1]}, true
}

// quantileRanks returns the ranks (1 to n, ascending) of the two values between which the q-quantile of the
// distribution is with at least the confidence. Both sides outside have the same probability:
//
//	low  = the largest  l with P(B < l) ≤ (1−confidence)/2
//	high = the smallest h with P(B ≥ h) ≤ (1−confidence)/2,   B binomial (n, q)
//
// ok is false if n values are too few: 95 % need 6 for the median, 368 for the 99th percentile. It assumes independent
// values. (David and Nagaraja, "Order Statistics", section 7.1.)
func quantileRanks(n int, q, confidence float64) (low, high int, ok bool) {
	if n < 1 || !(q > 0 && q < 1) || !validConfidence(confidence) {
		return 0, 0, false
	}
	tail := (1 - confidence) / 2
	// P(B < l) rises with l: low is one before the first l with too much.
	low = sort.Search(n+1, func(l int) bool { return binomialBelow(l, n, q) > tail }) - 1
	high = sort.Search(n+1, func(h int) bool { return binomialBelow(n-h+1, n, 1-q) <= tail })
	if low < 1 || high > n {
		return 0, 0, false
	}
	return low, high, true
}

// exactBinomial is the largest variance n·p·(1−p) with exact binomial probabilities, for which the library's continued
// fraction converges. Beyond it the normal approximation with correction for continuity is at most one rank off, of 400
// and more between the ends of an interval.
const exactBinomial = 10_000

// binomialBelow is the probability of fewer than k successes in n trials of probability p.
func binomialBelow(k, n int, p float64) float64 {
	mean := float64(n) * p
	variance := mean * (1 - p)
	far := float64(k) - 0.5 - mean
	switch {
	case k <= 0:
		return 0
	case k > n:
		return 1
	case math.Abs(far) > 100+40*math.Sqrt(variance):
		return max(0, math.Copysign(1, far))
	case variance > exactBinomial:
		return normalCDF(far / math.Sqrt(variance))
	}
	return betaInc(1-p, float64(n-k+1), float64(k))
}

// RareBound returns the upper bound, with the confidence, of the probability of a trial beyond m, after n trials none
// of which was beyond m:
//
//	1 − (1−confidence)^(1/n)
//
// which is 26 % after 10 trials and 5 % after 59, at 95 %. Without trials it returns 1.
func RareBound(n int, confidence float64) float64 {
	if n < 1 || !validConfidence(confidence) {
		return 1
	}
	return -math.Expm1(math.Log1p(-confidence) / float64(n))
}

// RareTrials is the number of trials for which [RareBound] is the share. It returns 0 if share or confidence is not
// between 0 and 1.
func RareTrials(share, confidence float64) int {
	if !validConfidence(share) || !validConfidence(confidence) {
		return 0
	}
	n := math.Ceil(math.Log1p(-confidence)/math.Log1p(-share) - 1e-9)
	return int(min(max(n, 1), math.MaxInt32))
}

// Outliers marks the values that are more than 1.5 times the distance between the quartiles below the lower or above
// the upper quartile. They are shown and never dropped. Nothing is marked among fewer than four values; values that are
// not finite are ignored. (Tukey, "Exploratory Data Analysis", 1977; quartiles are interpolated.)
func Outliers(xs []float64) []bool {
	marks := make([]bool, len(xs))
	var sorted []float64
	for _, x := range xs {
		if finite([]float64{x}) {
			sorted = append(sorted, x)
		}
	}
	if len(sorted) < 4 {
		return marks
	}
	slices.Sort(sorted)
	q1, q3 := sortedQuantile(sorted, 0.25), sortedQuantile(sorted, 0.75)
	fence := 1.5*q3 - 1.5*q1
	for i, x := range xs {
		marks[i] = !math.IsNaN(x) && !math.IsInf(x, 0) && (x < q1-fence || x > q3+fence)
	}
	return marks
}

// sortedQuantile interpolates between the values: the smallest is the 0-quantile and the largest the 1-quantile (type 7
// of Hyndman and Fan, "Sample Quantiles in Statistical Packages", 1996).
func sortedQuantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	part := at - float64(i)
	if part == 0 || i+1 == len(sorted) {
		return sorted[i]
	}
	return sorted[i]*(1-part) + sorted[i+1]*part
}
