package stats

import "math"

// Ratio is the ratio of two sides: 1.05 is five per cent more.
type Ratio struct {
	Ratio    float64 // value / base, of geometric means
	Interval         // of the ratio
	P        float64 // two-sided probability of a ratio at least as far from one if there is no difference
	SE, DF   float64 // standard error of the logarithm of the ratio, and its degrees of freedom
	N        int     // of pairs, or of the values of both sides if they are not paired
	Paired   bool
}

// BlockRatio is the ratio of two sides from the logarithms of its estimates d_r in n blocks, each from trials that ran
// close in time. An effect of a block on both sides, such as a machine that becomes slower over the hours, cancels out:
//
//	ratio = exp(d̄ ± t·s_d/√n) with n−1 degrees of freedom
//
// ok is false with fewer than two blocks, or an estimate that is not finite. For a single block the ratio is still
// returned. If all blocks have the same ratio, the interval has no width, and P is 1 if that ratio is one, otherwise 0.
func BlockRatio(d []float64, confidence float64) (Ratio, bool) {
	if len(d) == 0 || !finite(d) {
		return Ratio{P: 1, Paired: true}, false
	}
	mean, variance := moments(d)
	n := float64(len(d))
	r := Ratio{N: len(d), Paired: true, SE: math.Sqrt(variance / n), DF: n - 1}
	return r.around(mean, confidence)
}

// UnpairedRatio compares two sides without common blocks, by Welch's t on the logarithms:
//
//	ratio = exp(b̄ − ā ± t·√(s_a²/n_a + s_b²/n_b))
//	degrees of freedom = (s_a²/n_a + s_b²/n_b)² / ((s_a²/n_a)²/(n_a−1) + (s_b²/n_b)²/(n_b−1))
//
// ok is false with fewer than two values on a side, or with a value that is zero, negative or not finite. If only the
// number of values is too small, the ratio is still returned. If neither side has any spread, the interval has no
// width, and P is 1 if the ratio is one, otherwise 0. (Welch, "The generalization of 'Student's' problem", Biometrika
// 1947.)
func UnpairedRatio(base, value []float64, confidence float64) (Ratio, bool) {
	a, okA := logs(base)
	b, okB := logs(value)
	if !okA || !okB {
		return Ratio{P: 1}, false
	}
	na, nb := float64(len(a)), float64(len(b))
	ma, va := moments(a)
	mb, vb := moments(b)
	ea, eb := va/na, vb/nb
	r := Ratio{N: len(a) + len(b), SE: math.Sqrt(ea + eb)}
	if len(a) > 1 && len(b) > 1 {
		r.DF = na + nb - 2 // if neither side has any spread
		if e := ea + eb; e > 0 {
			// Shares instead of squares of variances: nothing can become too small.
			r.DF = 1 / (ea/e*ea/e/(na-1) + eb/e*eb/e/(nb-1))
			r.DF = max(r.DF, min(na, nb)-1) // smaller only by rounding
		}
	}
	return r.around(mb-ma, confidence)
}

// around completes a ratio from its logarithm, standard error and degrees of freedom.
func (r Ratio) around(log, confidence float64) (Ratio, bool) {
	if math.Abs(log) < negligible {
		log = 0
	}
	if r.SE < negligible {
		r.SE = 0
	}
	r.Ratio, r.P = math.Exp(log), 1
	if !finite([]float64{r.Ratio}) || r.Ratio == 0 {
		return Ratio{P: 1, Paired: r.Paired}, false
	}
	if r.DF < 1 {
		r.SE, r.DF = 0, 0
		return r, false
	}
	if log != 0 {
		r.P = TTail(log/r.SE, r.DF) // without spread: infinitely far from one
	}
	var ok bool
	r.Interval, ok = r.At(confidence)
	return r, ok
}

// At returns the interval of the ratio at another confidence; ok is false if the ratio has none.
func (r Ratio) At(confidence float64) (iv Interval, ok bool) {
	if !(r.Ratio > 0) || !(r.DF >= 1) || !validConfidence(confidence) {
		return Interval{}, false
	}
	t := TQuantile((1+confidence)/2, r.DF)
	factor := math.Exp(t * r.SE)
	if iv = (Interval{r.Ratio / factor, r.Ratio * factor}); !iv.bounded() {
		return Interval{}, false
	}
	return iv, true
}

// EquivalenceP is the p-value of two one-sided tests that the ratio is within the margin, 0.03 for 3 %: between
// 1/(1+margin) and 1+margin. The logarithms of the bounds have the same distance from 0, so it does not matter which
// side is the base. It is at most α exactly if the interval of the ratio with a confidence of 1−2α lies within the
// bounds. It is 1 if the ratio has no interval. (Schuirmann, "A comparison of the two one-sided tests procedure and the
// power approach", 1987.)
func EquivalenceP(r Ratio, margin float64) float64 {
	room := math.Log1p(margin) - math.Abs(math.Log(r.Ratio)) // to the nearer bound
	switch {
	case !(r.Ratio > 0) || !(r.DF >= 1) || !(room > 0):
		return 1 // beyond the bound it is above one half
	case r.SE == 0:
		return 0
	}
	return TTail(room/r.SE, r.DF) / 2
}
