package stats

import (
	"math"
	"slices"
)

// exactRanks is the largest product of the sizes of both sides for which the rank test is exact: 25 on each side, which
// takes a few milliseconds. Beyond it the error of the normal approximation is a few per mille.
const exactRanks = 25 * 25

// MannWhitney is the two-sided p-value of the rank test: whether the values of one side tend to be larger, for any
// distribution. Up to about 25 values on each side it is exact, also with ties: the share of all divisions of the
// values whose rank sums are at least as far apart. Beyond that it is the normal approximation with correction for ties
// and continuity. A p-value of 0.05 needs at least four values on each side. Equal values give 1. ok is false if a side
// is empty or a value is not finite. (Mann and Whitney, "On a test of whether one of two random variables is
// stochastically larger than the other", 1947; ties as in Streitberg and Röhmel, "Exact distributions for permutation
// and rank tests", 1986.)
func MannWhitney(a, b []float64) (p float64, ok bool) {
	if len(a) == 0 || len(b) == 0 || !finite(a) || !finite(b) {
		return 1, false
	}
	if len(b) < len(a) {
		a, b = b, a // both give the same result; the smaller side is faster
	}
	all := slices.Concat(a, b)
	slices.Sort(all)
	ranks, ties := doubledRanks(all)
	sum := 0
	for _, x := range a {
		at, _ := slices.BinarySearch(all, x)
		sum += ranks[at]
	}
	if len(a)*len(b) <= exactRanks {
		return exactRankP(ranks, len(a), sum), true
	}
	return approximateRankP(float64(len(a)), float64(len(b)), float64(sum)/2, ties), true
}

// doubledRanks returns twice the ranks of sorted values, which are whole numbers (equal values have the middle of their
// ranks), and Σ(t³−t) over groups of t equal values.
func doubledRanks(sorted []float64) (ranks []int, ties float64) {
	ranks = make([]int, len(sorted))
	for i := 0; i < len(sorted); {
		j := i
		for j < len(sorted) && sorted[j] == sorted[i] {
			j++
		}
		for k := i; k < j; k++ {
			ranks[k] = i + 1 + j
		}
		t := float64(j - i)
		ties += t*t*t - t
		i = j
	}
	return ranks, ties
}

// exactRankP counts the ways in which n of the ranks have each sum, and returns the share of the ways whose sum is at
// least as far from the mean as the observed one.
func exactRankP(ranks []int, n, observed int) float64 {
	// For a smaller table, count from the lowest rank, and by twos if all distances are even.
	unit, lowest, total := 2, ranks[0], 0
	for _, r := range ranks {
		if (r-lowest)%2 != 0 {
			unit = 1
		}
	}
	steps := make([]int, len(ranks))
	for i, r := range ranks {
		steps[i] = (r - lowest) / unit
		total += steps[i]
	}
	observed = (observed - n*lowest) / unit
	most := 0
	for _, s := range steps[len(steps)-n:] {
		most += s
	}
	ways := make([][]float64, n+1)
	for j := range ways {
		ways[j] = make([]float64, most+1)
	}
	ways[0][0] = 1
	reach := 0 // the largest sum until now
	for i, step := range steps {
		reach = min(most, reach+step)
		for j := min(n, i+1); j > 0; j-- {
			to, from := ways[j][:reach+1], ways[j-1]
			for s := step; s < len(to); s++ {
				to[s] += from[s-step]
			}
		}
	}
	// The distances from the mean, n·total/len(ranks), are compared as whole numbers.
	far := func(s int) int { d := s*len(ranks) - n*total; return max(d, -d) }
	beyond, all := 0.0, 0.0
	for s, w := range ways[n] {
		all += w
		if far(s) >= far(observed) {
			beyond += w
		}
	}
	return beyond / all
}

// approximateRankP uses the normal approximation of the rank sum of the first side.
func approximateRankP(na, nb, sum, ties float64) float64 {
	n := na + nb
	variance := na * nb / 12 * (n + 1 - ties/(n*(n-1)))
	far := math.Abs(sum-na*(n+1)/2) - 0.5
	if variance <= 0 || far <= 0 {
		return 1
	}
	return math.Erfc(far / math.Sqrt(2*variance))
}
