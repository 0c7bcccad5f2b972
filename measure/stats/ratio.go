package stats

import "math"

// Ratio is how much larger one side is than the other: 1.05 is five per cent more.
type Ratio struct {
	// Ratio is value / base, a ratio of geometric means.
	Ratio float64
	// Interval is that of the ratio at the confidence asked for.
	Interval
	// P is the two-sided probability of a ratio at least as far from one if there is no difference.
	P float64
	// SE is the standard error of the logarithm of the ratio, and DF its degrees of freedom, of which Welch's are not
	// whole.
	SE, DF float64
	// N is the number of pairs, or of the values of both sides together if they are not paired.
	N      int
	Paired bool
}

// PairedRatio compares two sides whose values at the same index come from the same block. What a block does to both
// sides alike, such as a machine that gets slower over the hours, cancels out:
//
//	d_r = ln(value_r / base_r),  ratio = exp(d̄ ± t·s_d/√n) with n−1 degrees of freedom
//
// ok is false with fewer than two pairs, sides of different length, or a value that is zero, negative or not finite;
// of a single pair the ratio is still given. Pairs that all have the same ratio leave an interval without width, and
// P is 1 if that ratio is one and 0 otherwise.
func PairedRatio(base, value []float64, confidence float64) (Ratio, bool) {
	a, okA := logs(base)
	b, okB := logs(value)
	if !okA || !okB || len(a) != len(b) {
		return Ratio{P: 1, Paired: true}, false
	}
	d := make([]float64, len(a))
	for i := range a {
		d[i] = b[i] - a[i]
	}
	mean, variance := moments(d)
	n := float64(len(d))
	r := Ratio{N: len(d), Paired: true, SE: math.Sqrt(variance / n), DF: n - 1}
	return r.around(mean, confidence)
}

// UnpairedRatio compares two sides that have no blocks in common, by Welch's t on the logarithms:
//
//	ratio = exp(b̄ − ā ± t·√(s_a²/n_a + s_b²/n_b))
//	degrees of freedom = (s_a²/n_a + s_b²/n_b)² / ((s_a²/n_a)²/(n_a−1) + (s_b²/n_b)²/(n_b−1))
//
// ok is false with fewer than two values on a side, or with one that is zero, negative or not finite; the ratio is
// still given where only the number of values is too small. Two sides without spread leave an interval without width,
// and P is 1 if the ratio is one and 0 otherwise. (Welch, "The generalization of 'Student's' problem", Biometrika
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
		r.DF = na + nb - 2 // where neither side has any spread
		if e := ea + eb; e > 0 {
			// Shares instead of squares of variances: nothing can become too small.
			r.DF = 1 / (ea/e*ea/e/(na-1) + eb/e*eb/e/(nb-1))
			r.DF = max(r.DF, min(na, nb)-1) // which it is never below but for rounding
		}
	}
	return r.around(mb-ma, confidence)
}

// around fills in what follows from the logarithm of the ratio, its standard error and degrees of freedom.
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
		r.P = TTail(log/r.SE, r.DF) // no spread: infinitely far from one
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

// equivalenceLevel is the error rate of [Equivalent].
const equivalenceLevel = 0.05

// Equivalent says whether the ratio is shown to be within the margin, 0.03 for 3 %: two one-sided tests, both at 5 %,
// which is whether the 90 % interval lies between 1/(1+margin) and 1+margin. The bounds are the same distance from one
// on the scale of logarithms, so that it does not matter which side is called the base. (Schuirmann, "A comparison of
// the two one-sided tests procedure and the power approach", 1987.)
func Equivalent(r Ratio, margin float64) bool {
	iv, ok := r.At(1 - 2*equivalenceLevel)
	return ok && margin > 0 && iv.Low >= 1/(1+margin) && iv.High <= 1+margin
}
