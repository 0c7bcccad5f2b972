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

// ErrorOfStep is the probability of a wrong verdict of a step of 30 s or more at the limit, in each direction. If slow
// moments last for several seconds, a shorter step sees too few of them: of 10 s, up to 10 % are wrongly met.
const ErrorOfStep = 0.05

// The probability of the opposite with which a verdict is stated. It is below the error, because the dependence of the
// blocks is estimated from few of them. A step sees too few slow moments more often than too many, so met needs more.
const (
	NeededMet    = 0.3 * ErrorOfStep
	NeededMissed = 0.5 * ErrorOfStep
)

// Of returns the verdict for the probability that the objectives hold.
func Of(certainty float64) Verdict {
	switch {
	case certainty >= 1-NeededMet:
		return Met
	case certainty <= NeededMissed:
		return Missed
	}
	return Undecided
}

// Block is a short part of a step, usually a second: how many operations were due in it, and how many of them missed
// the limit of an objective.
type Block struct{ Due, Bad float64 }

// mostCloser is the most by which the clustering of few bad operations is raised to that of as many as are allowed.
const mostCloser = 4

// mostDependent bounds the estimated correlation of neighbours.
const mostDependent = 0.9

// Decide returns the probability that the share of bad operations is at most allowed, in the long run of which the
// blocks are a part.
//
// Bad operations come together: in a slow second nearly all are late. They count as as many independent ones as explain
// the scatter of the blocks and their dependence. The result is that of a Poisson count whose median is what was seen,
// with Student's t for a scatter that is estimated from few independent blocks.
func Decide(blocks []Block, allowed float64) float64 {
	due, bad := 0.0, 0.0
	for _, b := range blocks {
		due, bad = due+b.Due, bad+b.Bad
	}
	switch {
	case due <= 0:
		return 0.5
	case allowed <= 0:
		return 0
	}
	together, independent := clustering(blocks, bad/due)
	if bad > 0 && bad < allowed*due { // with more bad operations, as many as are allowed, they would be closer together
		together = 1 + (together-1)*min(mostCloser, allowed*due/bad)
	}
	z := gamma(bad/together+1.0/3, allowed*due/together)
	if independent > 0 {
		z = student(z, max(2, independent-1))
	}
	return normal(z)
}

// clustering returns how many bad operations count as one: the variance of the blocks by that of independent
// operations, at least 1. independent is how many independent blocks that is known from, 0 if it may be chance.
//
// The dependence is that of a first-order autoregression with the correlation φ of neighbours: n blocks say as much as
// n(1−φ)/(1+φ) independent ones. The estimate of φ is too low by about (1+4φ)/n (Marriott and Pope, Biometrika 1954).
func clustering(blocks []Block, share float64) (together, independent float64) {
	n := float64(len(blocks))
	if n < 2 || share <= 0 || share >= 1 {
		return 1, 0
	}
	squares, products, expected, last := 0.0, 0.0, 0.0, 0.0
	for _, b := range blocks {
		residual := b.Bad - share*b.Due
		squares += residual * residual
		products += residual * last
		expected += share * (1 - share) * b.Due
		last = residual
	}
	if squares == 0 || expected == 0 {
		return 1, 0
	}
	phi := products / squares
	if phi > 1/math.Sqrt(n) { // beyond chance
		phi += (1 + 4*phi) / n
	}
	phi = min(mostDependent, max(0, phi))
	dependence := (1 + phi) / (1 - phi)
	// The residuals have one degree of freedom less than there are blocks.
	scatter := squares / expected * n / (n - 1)
	if scatter > 1+2*math.Sqrt(2/n) {
		independent = n / dependence
	}
	return max(1, scatter*dependence), independent
}

// gamma is the normal quantile of the probability that a gamma variable of a shape is below x, by the cube root of
// Wilson and Hilferty.
func gamma(shape, x float64) float64 {
	return 3 * math.Sqrt(shape) * (math.Cbrt(x/shape) - 1 + 1/(9*shape))
}

// student is the normal quantile of the probability that Student's t with degrees of freedom is below t, by Wallace's
// approximation.
func student(t, degrees float64) float64 {
	return t * (1 - 1/(4*degrees)) / math.Sqrt(1+t*t/(2*degrees))
}

func normal(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }
