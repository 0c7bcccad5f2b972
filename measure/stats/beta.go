package stats

import "math"

// betaInc is the regularized incomplete beta function I_x(a, b) for positive a and b. It is not a number if x is not
// between 0 and 1. The relative error is about 1e-13, and 1e-7 for parameters of some millions, whose gamma functions
// nearly cancel. (NIST Digital Library of Mathematical Functions, 8.17.22, evaluated by the modified method of Lentz.)
func betaInc(x, a, b float64) float64 {
	switch {
	case !(x >= 0 && x <= 1):
		return math.NaN()
	case x == 0 || x == 1:
		return x
	case x > (a+1)/(a+b+2): // where the fraction converges slowly
		return 1 - betaInc(1-x, b, a)
	}
	all, _ := math.Lgamma(a + b)
	one, _ := math.Lgamma(a)
	other, _ := math.Lgamma(b)
	front := math.Exp(all-one-other+a*math.Log(x)+b*math.Log1p(-x)) / a
	// The fraction is 1 + d₁/(1 + d₂/(1 + …)).
	fraction, c, d := 1.0, 1.0, 0.0
	for i := 1; i < mostTerms; i++ {
		m := float64(i / 2)
		term := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		if i%2 == 1 {
			term = -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		}
		d = 1 / notZero(1+term*d)
		c = notZero(1 + term/c)
		fraction *= c * d
		if math.Abs(c*d-1) < 1e-15 {
			break
		}
	}
	return front / fraction
}

// mostTerms bounds a fraction. One with 1e7 degrees of freedom needs some thousand terms.
const mostTerms = 100_000

// notZero keeps a divisor from being zero.
func notZero(x float64) float64 {
	if math.Abs(x) < 1e-300 {
		return 1e-300
	}
	return x
}
