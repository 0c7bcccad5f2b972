package stats

import (
	"math"
	"slices"
)

// whiten returns values without what they keep from the one before, x_i − φ·x_(i−1), and (1−φ)·x_0 for the first. If
// the values are autoregressive with φ around a level, the results are independent, and around a level too.
func whiten(xs []float64, phi float64) []float64 {
	white := make([]float64, len(xs))
	for i, x := range xs {
		white[i] = (1 - phi) * x
		if i > 0 {
			white[i] = x - phi*xs[i-1]
		}
	}
	return white
}

// resemblance estimates the correlation φ of neighbours from the squared differences of neighbours and of values two
// apart, which for an autoregressive series have the ratio 1+φ. A change of the level is in one of the former and two
// of the latter, and the largest 15 % of both are left out, so changes do not look like correlation. (1 + lg
// histories)/√n is added, because in short histories the estimate is often too low, in one of several more often. (As
// the median in Chakar and others, "A robust approach for estimating change-points in the mean of an AR(1) process",
// Bernoulli 2017; the limits are from simulations.)
func resemblance(xs []float64, histories int) float64 {
	const kept, most = 0.85, 0.95
	squares := func(apart int) float64 {
		var list []float64
		for i := apart; i < len(xs); i++ {
			list = append(list, (xs[i]-xs[i-apart])*(xs[i]-xs[i-apart]))
		}
		slices.Sort(list)
		return Mean(list[:int(kept*float64(len(list)))])
	}
	near, far := squares(1), squares(2)
	if !(near > 0) {
		return 0
	}
	return min(most, max(0, far/near-1+(1+math.Log10(float64(histories)))/math.Sqrt(float64(len(xs)))))
}

const (
	// mostOfStep is the share of its variance that a line explains of a single step, if that is in the middle: 3/4.
	// What a line explains better has a trend.
	mostOfStep = 0.8
	// curved is the degree of a trend. A program that becomes slower at a steady pace has a latency that grows faster and
	// faster, so a trend is a line only in one of the two.
	curved = 3
)

// beyondTrend is the two-sided p-value of a step between two sides beyond a trend of all values: t of the step in a
// regression on both. The trend is a line, or a cubic if a line explains more than of a step.
func beyondTrend(before, after []float64) float64 {
	xs := slices.Concat(before, after)
	step := make([]float64, len(xs))
	for i := len(before); i < len(xs); i++ {
		step[i] = 1
	}
	degree := 1
	if line := squares(detrended(xs, 1)); line < (1-mostOfStep)*squares(detrended(xs, 0)) {
		degree = curved
	}
	step, xs = detrended(step, degree), detrended(xs, degree)
	df := float64(len(xs) - degree - 2)
	if df < 1 {
		return 1
	}
	height := product(step, xs) / squares(step)
	rest := 0.0
	for i, s := range step {
		rest += (xs[i] - height*s) * (xs[i] - height*s)
	}
	return TTail(height/math.Sqrt(rest/df/squares(step)), df)
}

// detrended returns the values without their polynomial trend of a degree, by orthogonal polynomials (Gram and
// Schmidt).
func detrended(xs []float64, degree int) []float64 {
	rest := slices.Clone(xs)
	var before [][]float64
	for d := range min(degree, len(xs)-1) + 1 {
		p := make([]float64, len(xs))
		for i := range p {
			p[i] = math.Pow(2*float64(i)/float64(max(1, len(xs)-1))-1, float64(d))
		}
		for _, q := range before {
			remove(p, q)
		}
		before = append(before, p)
		remove(rest, p)
	}
	return rest
}

// remove takes the part along p out of xs.
func remove(xs, p []float64) {
	share := product(xs, p) / squares(p)
	for i := range xs {
		xs[i] -= share * p[i]
	}
}

func squares(xs []float64) float64 { return product(xs, xs) }

func product(xs, ys []float64) (sum float64) {
	for i, x := range xs {
		sum += x * ys[i]
	}
	return sum
}
