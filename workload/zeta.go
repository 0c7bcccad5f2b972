package workload

import "math"

// powerSum returns the sum of i^-theta for i in [from, to], to a relative accuracy of about 1e-13.
//
// The first terms are added one by one. The rest is the Euler–Maclaurin formula
//
//	Σ f(i) = ∫ f + (f(a)+f(b))/2 + Σ B_2k/(2k)!·(f^(2k-1)(b) − f^(2k-1)(a)),  f(x) = x^-theta,
//
// over [a, b] with a ≥ 64, where the terms up to B_6 leave an error below 1e-16. So the cost does not
// grow with the number of records.
func powerSum(from, to int64, theta float64) float64 {
	const direct = 64
	sum := 0.0
	i := from
	for ; i <= to && i < max(direct, from+4); i++ {
		sum += math.Pow(float64(i), -theta)
	}
	if i > to {
		return sum
	}
	a, b := float64(i), float64(to)
	fa, fb := math.Pow(a, -theta), math.Pow(b, -theta)
	sum += powerIntegral(a, b, theta) + (fa+fb)/2
	return sum + bernoulliTerms(b, fb, theta) - bernoulliTerms(a, fa, theta)
}

// powerIntegral returns ∫ x^-theta dx over [a, b], also where theta is 1 or close to it.
func powerIntegral(a, b, theta float64) float64 {
	t := 1 - theta
	l := math.Log(b / a)
	return math.Pow(a, t) * l * expm1Ratio(t*l)
}

// bernoulliTerms returns Σ B_2k/(2k)!·f^(2k-1)(x) for k = 1, 2, 3, given fx = f(x) = x^-theta.
func bernoulliTerms(x, fx, theta float64) float64 {
	d1 := -theta * fx / x
	d3 := d1 * (theta + 1) * (theta + 2) / (x * x)
	d5 := d3 * (theta + 3) * (theta + 4) / (x * x)
	return d1/12 - d3/720 + d5/30240
}

// expm1Ratio returns (e^x − 1)/x, which tends to 1 at 0.
func expm1Ratio(x float64) float64 {
	if math.Abs(x) > 1e-8 {
		return math.Expm1(x) / x
	}
	return 1 + x/2
}

// log1pRatio returns ln(1+x)/x, which tends to 1 at 0.
func log1pRatio(x float64) float64 {
	if math.Abs(x) > 1e-8 {
		return math.Log1p(x) / x
	}
	return 1 - x/2
}
