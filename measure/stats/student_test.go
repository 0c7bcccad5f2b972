package stats

import (
	"fmt"
	"math"
	"testing"
)

// The table of Student's t, as printed in every textbook.
func TestTQuantileTable(t *testing.T) {
	for _, c := range []struct{ p, df, want float64 }{
		{0.975, 1, 12.706}, {0.975, 2, 4.303}, {0.975, 4, 2.776}, {0.975, 9, 2.262}, {0.975, 30, 2.042}, {0.975, 120, 1.980},
		{0.95, 5, 2.015}, {0.995, 10, 3.169}, {0.9995, 3, 12.924}, {0.025, 4, -2.776}, {0.975, 1e9, 1.960},
	} {
		if got := TQuantile(c.p, c.df); math.Abs(got-c.want) > 0.0006 {
			t.Errorf("the %v-quantile with %v degrees of freedom is %v, want %v", c.p, c.df, got, c.want)
		}
	}
}

// Values computed independently, to all digits: degrees of freedom that are not whole, far tails.
func TestTQuantileExact(t *testing.T) {
	for _, c := range []struct{ p, df, want float64 }{
		{0.975, 1, 12.706204736174694},
		{0.975, 0.5, 164.55767348048818},
		{0.975, 3.7, 2.8675207071911895},
		{0.9999995, 6, 20.04785611088263},
		{0.6, 2, 0.2886751345948128},
		{0.2, 11, -0.8755299780738814},
		{0.999, 1e5, 3.0903138094272378},
		{1e-8, 5, -62.4045061109673},
	} {
		near(t, fmt.Sprintf("the %v-quantile with %v degrees of freedom", c.p, c.df), TQuantile(c.p, c.df), c.want, 1e-8)
	}
}

func TestTTail(t *testing.T) {
	for _, c := range []struct{ t, df, cdf, tail float64 }{
		{0.01, 3, 0.503675444293574, 0.992649111412852},
		{0.5, 1, 0.6475836176504333, 0.7048327646991335},
		{1, 2.5, 0.7979694863608632, 0.40406102727827364},
		{2, 4, 0.9419417382415922, 0.11611652351681556},
		{-3, 7.3, 0.009490275511566748, 0.018980551023133497},
		{5, 30, 0.9999883516572665, 2.32966854670078e-05},
		{12, 9, 0.9999996150056889, 7.699886222985653e-07},
		{40, 9, 0.9999999999905085, 1.8982998449339822e-11},
		{0.001, 1000, 0.5003988424907736, 0.9992023150184528},
		{4, 1e6, 0.9999683264829949, 6.33470340100481e-05},
		{8, 200, 0.9999999999999506, 9.879200909330596e-14},
	} {
		near(t, fmt.Sprintf("P(T ≤ %v; %v)", c.t, c.df), cdf(c.t, c.df), c.cdf, 1e-9)
		near(t, fmt.Sprintf("P(|T| ≥ %v; %v)", c.t, c.df), TTail(c.t, c.df), c.tail, 1e-8)
	}
}

// cdf is the probability of a t statistic of at most t.
func cdf(t, df float64) float64 {
	if t > 0 {
		return 1 - TTail(t, df)/2
	}
	return TTail(t, df) / 2
}

// The quantile is the inverse of the distribution over everything that can be asked for.
func TestTQuantileInverts(t *testing.T) {
	for _, df := range []float64{0.7, 1, 2, 3.3, 9, 50, 1e3, 1e5, 1e6, 2e7} {
		for _, p := range []float64{1e-9, 1e-4, 0.01, 0.3, 0.499, 0.501, 0.8, 0.99, 0.9999} {
			q := TQuantile(p, df)
			near(t, fmt.Sprintf("P(T ≤ the %v-quantile; %v)", p, df), cdf(q, df), p, 1e-8)
		}
	}
}

func TestTDistributionBadInput(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct{ p, df float64 }{{0, 3}, {1, 3}, {-1, 3}, {nan, 3}, {0.9, 0}, {0.9, -1}, {0.9, nan},
		{0.5, 3}} {
		if got := TQuantile(c.p, c.df); got != 0 {
			t.Errorf("TQuantile(%v, %v) is %v, want 0", c.p, c.df, got)
		}
	}
	for _, c := range []struct{ t, df, want float64 }{{nan, 3, 1}, {1, 0, 1}, {1, nan, 1}, {inf, 3, 0}, {-inf, 3, 0},
		{0, 3, 1}} {
		if got := TTail(c.t, c.df); got != c.want {
			t.Errorf("TTail(%v, %v) is %v, want %v", c.t, c.df, got, c.want)
		}
	}
}
