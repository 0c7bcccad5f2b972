package stats

import "math"

// Power is the probability that a study with n trials of each of two configurations finds a change of size effect
// (0.05 for 5 %) at the level alpha. cv is the coefficient of variation of single trials; for pairs, within a block.
//
// Both are converted to logarithms, on which the tests work, and the power follows exactly from the noncentral t
// distribution:
//
//	σ = √ln(1+cv²),  δ = |ln(1+effect)| / (σ·√(2/n)),  n−1 (pairs) or 2(n−1) degrees of freedom
//
// It returns 0 if an argument is invalid or n is below two. Without scatter every effect is found.
func Power(cv, effect, alpha float64, n int, paired bool) float64 {
	if !finite([]float64{cv, effect}) || cv < 0 || effect <= -1 || effect == 0 || !validConfidence(alpha) || n < 2 {
		return 0
	}
	// The change in standard deviations of one trial, infinite without scatter.
	delta := math.Abs(math.Log1p(effect)) / math.Sqrt(math.Log1p(cv*cv))
	df := float64(n - 1)
	if !paired {
		df *= 2
	}
	return noncentralPower(delta*math.Sqrt(float64(n)/2), alpha, df)
}

// noncentralPower is the probability that |T| exceeds the critical value of Student's t at alpha, for noncentral t with
// noncentrality delta. Given the ratio s of the estimated to the true standard deviation, T is normal:
//
//	∫ [Φ(δ − t·s) + Φ(−δ − t·s)] f(s) ds,  f(s) = 2·(ν/2)^{ν/2}/Γ(ν/2) · s^{ν−1}·exp(−ν·s²/2)
//
// by Simpson's rule over the range with all of f except 1e-12, as far as the first Φ is not negligible.
func noncentralPower(delta, alpha, df float64) float64 {
	if math.IsInf(delta, 1) {
		return 1
	}
	t := TQuantile(1-alpha/2, df)
	lg, _ := math.Lgamma(df / 2)
	scale := math.Ln2 + df/2*math.Log(df/2) - lg
	width := 9 / math.Sqrt(2*df)
	low, high := max(0, 1-width), min(1+width, (delta+9)/t)
	if high <= low {
		return 0
	}
	const steps = 600 // even
	sum, step := 0.0, (high-low)/steps
	for i := range steps + 1 {
		s := low + float64(i)*step
		weight := 2.0
		switch {
		case i == 0 || i == steps:
			weight = 1
		case i%2 == 1:
			weight = 4
		}
		density := math.Exp(scale - df*s*s/2)
		if df > 1 {
			density = math.Exp(scale + (df-1)*math.Log(s) - df*s*s/2)
		}
		sum += weight * density * (normalCDF(delta-t*s) + normalCDF(-delta-t*s))
	}
	return min(1, sum*step/3)
}
