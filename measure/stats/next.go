package stats

import "math"

// Expected is what one more value of a series is expected to be, if nothing changed: Mean ± t·SE with DF degrees of
// freedom.
type Expected struct{ Mean, SE, DF float64 }

// Next predicts one more value of a series of n values. Independent values give
//
//	SE = s·√(1 + 1/n),  DF = n−1
//
// (Hahn and Meeker, "Statistical Intervals", 1991, 4.7). Values that resemble their neighbours are as good as fewer
// independent ones. With the correlation φ of neighbours, the mean has the variance V·σ²,
//
//	V = (1 + 2·Σ(1−k/n)·φᵏ) / n,  SE = s·√((1+V)·(n−1)/(n·(1−V))),  DF = 1/V − 1
//
// which is the same for φ = 0. φ is that of the values, r, corrected for its bias: r + (1+3r)/n, at least 0. (Marriott
// and Pope, "Bias in the estimation of autocorrelations", Biometrika 1954.) ok is false with fewer than three values,
// or one that is not finite.
func Next(xs []float64) (e Expected, ok bool) {
	if len(xs) < 3 || !finite(xs) {
		return e, false
	}
	mean, variance := moments(xs)
	n, near, squares := float64(len(xs)), 0.0, 0.0
	for i, x := range xs {
		squares += (x - mean) * (x - mean)
		if i > 0 {
			near += (x - mean) * (xs[i-1] - mean)
		}
	}
	const most = 0.9 // of φ and V: what few values cannot show
	phi := 0.0
	if squares > 0 {
		r := near / squares
		phi = min(most, max(0, r+(1+3*r)/n))
	}
	v, power := 1/n, 1.0
	for k := 1.0; k < n; k++ {
		power *= phi
		v += 2 * (1 - k/n) * power / n
	}
	v = min(most, v)
	return Expected{mean, math.Sqrt(variance * (1 + v) * (n - 1) / (n * (1 - v))), max(1, 1/v-1)}, true
}

// Differs is the two-sided p-value of a value at least as far from the expected one, if nothing changed.
func (e Expected) Differs(x float64) float64 {
	if math.Abs(x-e.Mean) <= negligible*math.Abs(e.Mean) {
		return 1
	}
	return TTail((x-e.Mean)/e.SE, e.DF)
}

// Within is the p-value of two one-sided tests that the level from which a value comes is within a margin of the
// expected one.
func (e Expected) Within(x, margin float64) float64 {
	room := margin - math.Abs(x-e.Mean)
	if !(room > 0) {
		return 1
	}
	return TTail(room/e.SE, e.DF) / 2
}

// Range is where one more value is expected with the confidence.
func (e Expected) Range(confidence float64) Interval {
	half := TQuantile((1+confidence)/2, e.DF) * e.SE
	return Interval{e.Mean - half, e.Mean + half}
}
