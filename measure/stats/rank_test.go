package stats

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestMannWhitney(t *testing.T) {
	steps := func(n int, from float64) []float64 {
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = from + float64(i)
		}
		return xs
	}
	tiedA, tiedB := make([]float64, 40), make([]float64, 45)
	for i := range tiedA {
		tiedA[i] = float64(i*7%31) / 2
	}
	for i := range tiedB {
		tiedB[i] = float64(i*11%37)/2 + 1.5
	}
	for _, c := range []struct {
		name string
		a, b []float64
		want float64
		off  float64 // relative
	}{
		{"paired values taken apart", baseValues, pairedValues, 0.0021645021645021645, 1e-12},
		{"sides of different size", baseValues, otherValues, 0.2571428571428571, 1e-12},
		{"12 and 14 values", steps(12, 0), steps(14, 2.5), 0.04635389378423434, 1e-12},
		{"30 and 20 values", steps(30, 0), steps(20, 5.25), 0.8521744062196825, 1e-12},
		{"40 and 45 values with ties, approximated", tiedA, tiedB, 0.01913254989697062, 1e-9},
		{"ties", []float64{1, 2, 2, 3}, []float64{2, 3, 3, 4, 5}, 0.1111111111111111, 1e-12},
		{"ties on one side only", []float64{1, 1, 2}, []float64{3, 3, 3, 3}, 0.02857142857142857, 1e-12},
		{"symmetric ties", []float64{5, 5, 6, 7, 7}, []float64{7, 8, 8, 9, 9}, 0.023809523809523808, 1e-12},
		// The least that so few values can reach.
		{"3 a side, apart", steps(3, 0), steps(3, 10), 0.1, 1e-12},
		{"4 a side, apart", steps(4, 0), steps(4, 10), 0.02857142857142857, 1e-12},
		{"5 a side, apart", steps(5, 0), steps(5, 10), 0.007936507936507936, 1e-12},
		{"equal values", []float64{1, 1}, []float64{1, 1, 1}, 1, 0},
		{"one value each", []float64{1}, []float64{2}, 1, 0},
		{"many equal values", make([]float64, 40), make([]float64, 50), 1, 0},
	} {
		for _, sides := range [][2][]float64{{c.a, c.b}, {c.b, c.a}} {
			before := slices.Concat(sides[0], sides[1])
			p, ok := MannWhitney(sides[0], sides[1])
			if !ok {
				t.Errorf("%s: no answer", c.name)
			}
			near(t, c.name+": p", p, c.want, c.off)
			if !slices.Equal(before, slices.Concat(sides[0], sides[1])) {
				t.Errorf("%s: the values were changed", c.name)
			}
		}
	}
	for name, xs := range map[string][]float64{"nothing": nil, "not a number": {1, math.NaN()}, "infinite": {math.Inf(-1), 2}} {
		if p, ok := MannWhitney(xs, baseValues); ok || p != 1 {
			t.Errorf("%s: p is %v, %v", name, p, ok)
		}
	}
}

// Every division of a few values, counted one by one.
func TestMannWhitneyCountsAllDivisions(t *testing.T) {
	const seed = 3
	r := rand.New(rand.NewPCG(seed, 0))
	for range 100 {
		na, nb := 1+r.IntN(5), 1+r.IntN(6)
		xs := make([]float64, na+nb)
		for i := range xs {
			xs[i] = float64(r.IntN(8))
		}
		got, _ := MannWhitney(xs[:na], xs[na:])
		if want := allDivisions(xs, na); math.Abs(got-want) > 1e-12 {
			t.Fatalf("seed %d: p of %v and %v is %v, counted %v", seed, xs[:na], xs[na:], got, want)
		}
	}
}

// allDivisions is the share of the ways to choose na of the values whose U is at least as far from its mean.
func allDivisions(xs []float64, na int) float64 {
	far := func(chosen uint) float64 {
		u := 0.0
		for i, x := range xs {
			for j, y := range xs {
				if chosen>>i&1 == 1 && chosen>>j&1 == 0 {
					switch {
					case x > y:
						u++
					case x == y:
						u += 0.5
					}
				}
			}
		}
		return math.Abs(u - float64(na*(len(xs)-na))/2)
	}
	beyond, all, observed := 0.0, 0.0, far(1<<na-1)
	for chosen := uint(0); chosen < 1<<len(xs); chosen++ {
		if bits.OnesCount(chosen) == na {
			all++
			if far(chosen) >= observed {
				beyond++
			}
		}
	}
	return beyond / all
}

// Where the exact test ends and the approximation begins, they agree.
func TestRankApproximationAgrees(t *testing.T) {
	const seed = 5
	r := rand.New(rand.NewPCG(seed, 0))
	for range 20 {
		a, b := scatter(r, 25, 100, 0.1), scatter(r, 25, 104, 0.1)
		for i := range a {
			a[i], b[i] = math.Round(a[i]), math.Round(b[i])
		}
		exact, _ := MannWhitney(a, b)
		all := slices.Concat(a, b)
		slices.Sort(all)
		ranks, ties := doubledRanks(all)
		sum := 0
		for _, x := range a {
			at, _ := slices.BinarySearch(all, x)
			sum += ranks[at]
		}
		if got := approximateRankP(25, 25, float64(sum)/2, ties); math.Abs(got-exact) > 0.01 {
			t.Errorf("seed %d: approximately %v, exactly %v", seed, got, exact)
		}
	}
}
