package stats

import (
	"math"
)

// manyDF is the number of degrees of freedom above which the normal distribution replaces Student's t. The relative
// error of a p-value of 0.001 is then below 1e-5.
const manyDF = 1e7

// TTail is the two-sided p-value of a t statistic with df degrees of freedom, which need not be whole. It is 1 if df is
// not positive or t is not a number.
func TTail(t, df float64) float64 {
	t = math.Abs(t)
	switch {
	case math.IsNaN(t) || !(df > 0):
		return 1
	case math.IsInf(t, 1):
		return 0
	case df > manyDF:
		return math.Erfc(t / math.Sqrt2)
	}
	// With x = df/(df+t²), the probability is I_x(df/2, 1/2) = 1 − I_{1−x}(1/2, df/2). The form with the small argument
	// keeps its precision. (Abramowitz and Stegun, 26.5.27 and 26.7.1.)
	if r := t / math.Sqrt(df); r < 1 && t < 1 {
		return 1 - betaInc(r*r/(1+r*r), 0.5, df/2)
	} else {
		return betaInc(1/(1+r*r), df/2, 0.5)
	}
}

// TQuantile returns the quantile p of Student's t with df degrees of freedom: 2.776 for 0.975 and 4. It returns 0 if p
// is not between 0 and 1 or df is not positive.
func TQuantile(p, df float64) float64 {
	if !(p > 0 && p < 1) || !(df > 0) || p == 0.5 {
		return 0
	}
	if p < 0.5 {
		return -upperT(2*p, df)
	}
	return upperT(2*(1-p), df)
}

// upperT returns the t whose two-sided p-value is tail, by Newton's method. For t > 0 the tail falls and is convex, so
// steps from the left are never too long.
func upperT(tail, df float64) float64 {
	low := 0.0
	for next := 1.0; next < math.MaxFloat64/4 && TTail(next, df) > tail; next *= 2 {
		low = next
	}
	for range 1000 { // about ten are needed
		step := (TTail(low, df) - tail) / (2 * tDensity(low, df))
		if !(step > 1e-15*low) || math.IsInf(low+step, 0) {
			break
		}
		low += step
	}
	return low
}

// tDensity is the density of Student's t: Γ((ν+1)/2)/(Γ(ν/2)·√(νπ)) · (1+t²/ν)^(−(ν+1)/2).
func tDensity(t, df float64) float64 {
	if df > manyDF {
		return math.Exp(-t*t/2) / math.Sqrt(2*math.Pi)
	}
	above, _ := math.Lgamma((df + 1) / 2)
	below, _ := math.Lgamma(df / 2)
	r := t / math.Sqrt(df)
	return math.Exp(above-below-(df+1)/2*math.Log1p(r*r)) / math.Sqrt(df*math.Pi)
}

// normalCDF is the probability that a standard normal value is at most z.
func normalCDF(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }
