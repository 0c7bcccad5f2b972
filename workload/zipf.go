package workload

import "math"

// zipf draws ranks 0, 1, … n-1 with probability proportional to (rank+1)^-theta, for any theta > 0.
//
// The method is rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to generate variates
// from monotone discrete distributions", 1996): it inverts the integral of the density, rounds, and
// rejects the few draws that rounding would make too frequent. It needs no table and no sum, so start
// and memory do not depend on n, and n may change at any time.
type zipf struct {
	theta float64
	n     int64
	low   float64 // integral(1.5) - 1: the start of the area of rank 0
	span  float64 // integral(n+0.5) - low
	sure  float64 // draws this close to their rank need no further test
}

func newZipf(n int64, theta float64) zipf {
	z := zipf{theta: theta}
	z.low = z.integral(1.5) - 1
	z.sure = 2 - z.inverse(z.integral(2.5)-math.Pow(2, -theta))
	z.resize(n)
	return z
}

// resize changes the number of ranks to n ≥ 1.
func (z *zipf) resize(n int64) {
	z.n = n
	z.span = z.integral(float64(n)+0.5) - z.low
}

// next returns a rank in [0, n).
func (z *zipf) next(r *random) int64 {
	for {
		u := z.low + r.float()*z.span
		x := min(z.inverse(u), float64(z.n))
		k := min(max(int64(x+0.5), 1), z.n)
		fk := float64(k)
		if fk-x <= z.sure || u >= z.integral(fk+0.5)-math.Exp(-z.theta*math.Log(fk)) {
			return k - 1
		}
	}
}

// integral returns ∫ t^-theta dt from 1 to x.
func (z *zipf) integral(x float64) float64 {
	l := math.Log(x)
	return l * expm1Ratio((1-z.theta)*l)
}

// inverse returns the x whose integral is y.
func (z *zipf) inverse(y float64) float64 {
	t := (1 - z.theta) * y
	if t < -1 {
		t = -1 // only by rounding at the far end, where theta > 1
	}
	return math.Exp(y * log1pRatio(t))
}
