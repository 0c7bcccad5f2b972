package stats

import (
	"slices"

	moremath "github.com/aclements/go-moremath/stats"
)

// MannWhitney is the two-sided p-value of the rank test: it asks whether the values of one side tend to be larger, and
// assumes nothing about their distribution. It is exact up to 50 values a side (25 with ties), beyond that
// approximated with correction for ties and continuity. At least four values a side are needed to reach 0.05. Values that
// are all equal give 1. ok is false if a side is empty or a value is not finite. (Mann and Whitney, "On a test of whether
// one of two random variables is stochastically larger than the other", 1947.)
func MannWhitney(a, b []float64) (p float64, ok bool) {
	if len(a) == 0 || len(b) == 0 || !finite(a) || !finite(b) {
		return 1, false
	}
	all := slices.Concat(a, b)
	if slices.Min(all) == slices.Max(all) {
		return 1, true
	}
	r, err := moremath.MannWhitneyUTest(a, b, moremath.LocationDiffers)
	if err != nil {
		return 1, false
	}
	return min(1, r.P), true // twice one tail can exceed one near the middle
}
