// Package search finds the highest rate that holds objectives, from the outcomes of steps at rates that it chooses. It
// has no clock and does no I/O: the same outcomes lead to the same steps.
//
// A step is decided by a test on its blocks ([Decide]). The search keeps the probability of every rate being the
// highest one that holds ([Search]): each step changes it, so an undecided step counts less than a decided one, and
// neither a disturbed step nor a lucky one decides.
package search

import "math"

// Verdict is the verdict of a step.
type Verdict string

const (
	Met       Verdict = "met"
	Missed    Verdict = "missed"
	Undecided Verdict = "undecided"
)

// ErrorOfStep is the probability of a wrong verdict of a step at the limit, in each direction. Where slow moments last
// for several seconds, up to twice as many are wrongly met: a step sees too few of them.
const ErrorOfStep = 0.05

// needed is the probability of the opposite with which a verdict is stated: half of the error, because the dependence
// of the blocks is estimated from few of them.
const needed = ErrorOfStep / 2

// Of returns the verdict for the probability that the objectives hold.
func Of(certainty float64) Verdict {
	switch {
	case certainty >= 1-needed:
		return Met
	case certainty <= needed:
		return Missed
	}
	return Undecided
}

// Block is a short part of a step, usually a second: how many operations were due in it, and how many of them missed
// the limit of an objective.
type Block struct{ Due, Bad float64 }

// lags is how many blocks back the dependence of blocks is estimated: a slow moment lasts some seconds.
const lags = 3

// mostCloser is the most by which the clustering of few bad operations is raised to that of as many as are allowed.
const mostCloser = 4

// Decide returns the probability that the share of bad operations is at most allowed, in the long run of which the
// blocks are a part.
//
// Bad operations come together: in a slow second nearly all are late. They count as as many independent ones as explain
// the scatter of the blocks, including what is left of it from block to block. The result is that of a Poisson count
// whose median is what was seen.
func Decide(blocks []Block, allowed float64) float64 {
	due, bad := 0.0, 0.0
	for _, b := range blocks {
		due, bad = due+b.Due, bad+b.Bad
	}
	if due <= 0 {
		return 0.5
	}
	together := clustering(blocks, bad/due)
	if bad > 0 && bad < allowed*due { // with more bad operations, as many as are allowed, they would be closer together
		together = 1 + (together-1)*min(mostCloser, allowed*due/bad)
	}
	return gammaBelow(bad/together+1.0/3, allowed*due/together)
}

// clustering returns how many bad operations count as one: the variance of the blocks by that of independent
// operations, at least 1.
func clustering(blocks []Block, share float64) float64 {
	n := len(blocks)
	if n < 2 || share <= 0 || share >= 1 {
		return 1
	}
	residuals := make([]float64, n)
	squares, expected := 0.0, 0.0
	for i, b := range blocks {
		residuals[i] = b.Bad - share*b.Due
		squares += residuals[i] * residuals[i]
		expected += share * (1 - share) * b.Due
	}
	if squares == 0 || expected == 0 {
		return 1
	}
	dependence := 1.0
	for lag := 1; lag <= min(lags, n/4); lag++ {
		product := 0.0
		for i := lag; i < n; i++ {
			product += residuals[i] * residuals[i-lag]
		}
		if product <= 0 {
			break
		}
		dependence += 2 * product / squares
	}
	// The residuals have one degree of freedom less than there are blocks.
	return max(1, squares/expected*float64(n)/float64(n-1)*dependence)
}

// gammaBelow is the probability that a gamma variable of a shape is below x, by the cube root of Wilson and Hilferty.
func gammaBelow(shape, x float64) float64 {
	if x <= 0 {
		return 0
	}
	return normal(3 * math.Sqrt(shape) * (math.Cbrt(x/shape) - 1 + 1/(9*shape)))
}

func normal(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }
