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

// beyondTrend is the two-sided p-value of a step between two sides beyond a linear trend of all values: t of the step
// in a regression on both.
func beyondTrend(before, after []float64) float64 {
	xs := slices.Concat(before, after)
	step := make([]float64, len(xs))
	for i := len(before); i < len(xs); i++ {
		step[i] = 1
	}
	step, xs = detrended(step), detrended(xs)
	var squares, both, rest float64
	for i, s := range step {
		squares, both = squares+s*s, both+s*xs[i]
	}
	height := both / squares
	for i, s := range step {
		rest += (xs[i] - height*s) * (xs[i] - height*s)
	}
	df := float64(len(xs) - 3)
	return TTail(height/math.Sqrt(rest/df/squares), df)
}

// detrended returns the values without their linear trend and mean.
func detrended(xs []float64) []float64 {
	mean, middle := Mean(xs), float64(len(xs)-1)/2
	var squares, both float64
	for i, x := range xs {
		at := float64(i) - middle
		squares, both = squares+at*at, both+at*(x-mean)
	}
	rest := make([]float64, len(xs))
	for i, x := range xs {
		rest[i] = x - mean - both/squares*(float64(i)-middle)
	}
	return rest
}
