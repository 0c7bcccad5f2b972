package stats

import (
	"math"
	"math/big"
	"testing"
)

// binomialAtLeast is P(B ≥ k) of a binomial distribution, in rational numbers.
func binomialAtLeast(k, n int64, p *big.Rat) float64 {
	sum, q := new(big.Rat), new(big.Rat).Sub(big.NewRat(1, 1), p)
	for i := k; i <= n; i++ {
		term := new(big.Rat).SetInt(new(big.Int).Binomial(n, i))
		for range i {
			term.Mul(term, p)
		}
		for range n - i {
			term.Mul(term, q)
		}
		sum.Add(sum, term)
	}
	f, _ := sum.Float64()
	return f
}

// I_p(k, n−k+1) is the probability of k or more successes in n trials, which rational numbers give exactly.
func TestBetaIncIsBinomial(t *testing.T) {
	for _, n := range []int64{1, 2, 5, 12, 40} {
		for k := int64(1); k <= n; k++ {
			for _, thousandths := range []int64{1, 200, 500, 850, 999} {
				p := big.NewRat(thousandths, 1000)
				x, _ := p.Float64()
				got, want := betaInc(x, float64(k), float64(n-k+1)), binomialAtLeast(k, n, p)
				if !(math.Abs(got-want) <= 1e-12*want) {
					t.Errorf("I_%v(%d, %d) is %v, want %v", x, k, n-k+1, got, want)
				}
			}
		}
	}
}

// Large parameters, the ends and closed forms.
func TestBetaIncElsewhere(t *testing.T) {
	if got := betaInc(0.5, 5e6, 5e6); math.Abs(got-0.5) > 1e-7 {
		t.Errorf("with large parameters: %v", got)
	}
	for _, c := range []struct{ x, a, b, want float64 }{
		{0, 2, 3, 0}, {1, 2, 3, 1}, {0.5, 7, 7, 0.5}, {0.25, 0.5, 0.5, 1. / 3}, {0.75, 0.5, 0.5, 2. / 3},
		{1e-10, 0.5, 0.5, 2 / math.Pi * math.Asin(1e-5)}, {0.3, 1, 4, 1 - math.Pow(0.7, 4)}, {0.3, 4, 1, math.Pow(0.3, 4)},
	} {
		if got := betaInc(c.x, c.a, c.b); !(math.Abs(got-c.want) <= 1e-12*math.Abs(c.want)) {
			t.Errorf("I_%v(%v, %v) is %v, want %v", c.x, c.a, c.b, got, c.want)
		}
	}
	for _, x := range []float64{-0.1, 1.1, math.NaN(), math.Inf(1)} {
		if got := betaInc(x, 1, 1); !math.IsNaN(got) {
			t.Errorf("I_%v is %v", x, got)
		}
	}
}
