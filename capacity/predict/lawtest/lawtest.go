// Package lawtest makes levels whose throughput follows a law with known parameters, and predicts other levels from
// them, for tests and the campaign of known liars. It is not in the program, and its laws share no code with it.
package lawtest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/plimsoll-bench/plimsoll/capacity"
	"github.com/plimsoll-bench/plimsoll/capacity/predict"
)

// law is throughput in operations per second by size.
type law func(n float64) float64

// Kind is a kind of laws, with random parameters for levels between two sizes.
type Kind struct {
	Name string // as a phrase
	draw func(r *rand.Rand, first, last float64) law
}

// Kinds are all kinds of laws. What changes a law abruptly lies anywhere from the first level to twice the last one, so
// that the levels show it, or do not.
var Kinds = []Kind{
	{"linear", func(r *rand.Rand, _, _ float64) law {
		a, b := 1000*r.Float64(), 200+800*r.Float64()
		return func(n float64) float64 { return a + b*n }
	}},
	{"Amdahl's law", func(r *rand.Rand, _, _ float64) law { return usl(between(r, 0.01, 0.3), 0) }},
	{"the scalability law with a peak", func(r *rand.Rand, first, last float64) law {
		sigma, peak := between(r, 0.005, 0.1), between(r, math.Sqrt(first*last), 2*last)
		return usl(sigma, (1-sigma)/(peak*peak))
	}},
	{"saturation", func(r *rand.Rand, first, last float64) law {
		limit, below := between(r, math.Sqrt(first*last), 2*last), usl(between(r, 0.001, 0.05), 0)
		return func(n float64) float64 { return below(min(n, limit)) }
	}},
	{"a cliff", func(r *rand.Rand, first, last float64) law {
		limit, left, below := between(r, first, 2*last), between(r, 0.1, 0.6), usl(between(r, 0.001, 0.1), 0)
		return func(n float64) float64 {
			if n > limit {
				return left * below(n)
			}
			return below(n)
		}
	}},
}

// Jump is throughput that rises abruptly, such as that of data which fit into memory from some size on. No verdict
// claims to find a jump beyond the levels.
var Jump = Kind{"a jump up", func(r *rand.Rand, first, last float64) law {
	limit, more, below := between(r, last, 2*last), between(r, 1.5, 5), usl(between(r, 0.001, 0.1), 0)
	return func(n float64) float64 {
		if n > limit {
			return more * below(n)
		}
		return below(n)
	}
}}

// usl is the Universal Scalability Law.
func usl(sigma, kappa float64) law {
	return func(n float64) float64 { return 900 * n / (1 + sigma*(n-1) + kappa*n*(n-1)) }
}

// between draws from a range, evenly over its logarithm.
func between(r *rand.Rand, low, high float64) float64 {
	return low * math.Pow(high/low, r.Float64())
}

// sizes of measured levels, as people choose them.
var sizes = [][]float64{
	{1, 2, 4, 8, 16, 32, 64}, {2, 4, 8, 16, 32}, {1, 2, 3, 4, 5, 6, 8}, {8, 16, 32, 64, 96, 128},
	{1, 2, 4, 8, 12, 16, 24, 32, 48, 64},
}

// noise are standard deviations of logarithms: of levels around the law, and of trials around their level.
var noise = []struct{ level, trial float64 }{{0, 0.03}, {0.02, 0.03}, {0.05, 0.05}, {0, 0.10}}

// Outcome is that of one prediction.
type Outcome struct {
	Refused string // why nothing was predicted, "" otherwise
	// Held: the true throughput is in the interval, or below the limit. Wide is the ratio of its ends, or of the limit to
	// the true throughput.
	Held bool
	Wide float64
	Text string
}

// Size measures sizes of a law in three to five trials, and asks how many nodes do what the law does at another size:
// between them, or beyond the last one and up to twice as large.
func (k Kind) Size(r *rand.Rand, beyond bool) Outcome {
	at, spread := sizes[r.IntN(len(sizes))], noise[r.IntN(len(noise))]
	first, last, trials := at[0], at[len(at)-1], 3+r.IntN(3)
	x := k.draw(r, first, last)
	var points []capacity.ScalePoint
	for _, n := range at {
		p := capacity.ScalePoint{N: n}
		for range trials {
			p.Throughput = append(p.Throughput, x(n)*math.Exp(spread.trial*r.NormFloat64()))
		}
		points = append(points, p)
	}
	n := between(r, first, last)
	if beyond {
		n = between(r, last, 2*last)
	}
	need, truth := x(n), n
	for m := first; m < n; m += (last - first) / 1000 { // the smallest size that does it
		if x(m) >= need {
			truth = m
			break
		}
	}
	s, err := capacity.NewScaling(points, 1)
	if err != nil {
		return Outcome{Refused: err.Error()}
	}
	e, err := s.Nodes(need)
	switch {
	case err != nil:
		return Outcome{Refused: err.Error()}
	case !e.Known:
		return Outcome{Refused: "there is no interval"}
	}
	return Outcome{Held: e.Low <= truth && truth <= e.High, Wide: e.High / e.Low,
		Text: fmt.Sprintf("%.0f/s by sizes %v, %d trials: truly %.4g nodes, stated %.4g to %.4g (%s)", need, at, trials, truth, e.Low, e.High, e.Assumption)}
}

// Try measures levels of a law in one to five trials, and predicts another size: between them, or beyond the last one
// and up to twice as large.
func (k Kind) Try(r *rand.Rand, beyond bool) Outcome {
	at, spread := sizes[r.IntN(len(sizes))], noise[r.IntN(len(noise))]
	first, last, trials := at[0], at[len(at)-1], []int{1, 3, 5}[r.IntN(3)]
	x := k.draw(r, first, last)
	true1 := func(n float64) float64 { return x(n) * math.Exp(spread.level*r.NormFloat64()) }
	var levels []predict.Level
	for _, n := range at {
		l := predict.Level{Name: fmt.Sprint(n), Size: n, Facts: predict.Facts{Workers: n}}
		level := true1(n)
		for range trials {
			l.Throughput = append(l.Throughput, level*math.Exp(spread.trial*r.NormFloat64()))
		}
		levels = append(levels, l)
	}
	n := last * (1.1 + 0.9*r.Float64())
	if !beyond {
		i := r.IntN(len(at) - 1)
		n = between(r, at[i], at[i+1])
	}
	truth := true1(n)
	c, err := predict.Choose(levels)
	if err != nil {
		return Outcome{Refused: err.Error()}
	}
	p, err := c.Predict(&predict.Level{Size: n, Facts: predict.Facts{Workers: n}}, 0)
	switch {
	case err != nil:
		return Outcome{Refused: err.Error()}
	case p.Beyond != beyond:
		return Outcome{Text: fmt.Sprintf("size %v of %v is beyond: %v", n, at, p.Beyond)}
	}
	o := Outcome{Held: p.Low <= truth && truth <= p.High, Wide: p.High / p.Low,
		Text: fmt.Sprintf("size %.3g of %v, %d trials: true %.0f, predicted %.0f to %.0f by %s", n, at, trials, truth, p.Low, p.High, c.Name)}
	if beyond {
		o.Wide = p.High / truth
	}
	return o
}
