package capacity

import "math"

// USL is the Universal Scalability Law: throughput at N nodes (or members, clients, workers) is
//
//	X(N) = λN / (1 + σ(N−1) + κN(N−1)).
//
// Lambda is what one alone would do, in operations per second; Sigma is contention, the share of the work that
// cannot be done side by side (0…1); Kappa is coherency, what each pair costs because it must agree (≥ 0).
type USL struct{ Lambda, Sigma, Kappa float64 }

// At returns the throughput of n, in operations per second.
func (u USL) At(n float64) float64 {
	return u.Lambda * n / (1 + u.Sigma*(n-1) + u.Kappa*n*(n-1))
}

// Peak returns the N of the highest throughput, N* = sqrt((1−σ)/κ), at least 1. ok is false where there is none:
// without coherency cost throughput rises for ever, towards λ/σ.
func (u USL) Peak() (n float64, ok bool) {
	if u.Kappa <= 0 {
		return math.Inf(1), false
	}
	return max(1, math.Sqrt(max(0, 1-u.Sigma)/u.Kappa)), true
}

// LatencyAt returns the mean response time R = N/X in seconds at which the throughput x is reached, on the stable
// branch, left of the peak. ok is false if the model never reaches x.
//
// With N = RX in the law, R is the smaller root of κX²R² − (λ−(σ−κ)X)R + (1−σ) = 0:
//
//	R = [A − sqrt(A² − 4κ(1−σ)X²)] / (2κX²),  A = λ−(σ−κ)X,
//
// rewritten with the sum of the other root in the denominator, which also holds for κ = 0.
func (u USL) LatencyAt(x float64) (seconds float64, ok bool) {
	a := u.Lambda - (u.Sigma-u.Kappa)*x
	root := a*a - 4*u.Kappa*(1-u.Sigma)*x*x
	if !(x >= 0) || !(a > 0) || root < 0 {
		return math.NaN(), false
	}
	return 2 * (1 - u.Sigma) / (a + math.Sqrt(root)), true
}

// NodesFor returns the smallest N, not rounded, at which the model reaches x. ok is false if it never does.
func (u USL) NodesFor(x float64) (n float64, ok bool) {
	r, ok := u.LatencyAt(x)
	return r * x, ok
}
