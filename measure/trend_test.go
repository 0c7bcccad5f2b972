package measure

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/plimsoll-bench/plimsoll/measure/stats"
)

func near(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance }

func TestTheilSen(t *testing.T) {
	for _, c := range []struct {
		name string
		x, y []float64
		want float64
	}{
		{"a line", []float64{0, 1, 2, 3}, []float64{1, 3, 5, 7}, 2},
		{"with a wild point", []float64{0, 1, 2, 3, 4}, []float64{0, 1, 2, 300, 4}, 1},
		{"flat", []float64{0, 1, 2}, []float64{4, 4, 4}, 0},
		{"one point", []float64{1}, []float64{1}, 0},
		{"the same x", []float64{1, 1}, []float64{1, 9}, 0},
		{"not a number", []float64{0, 1, 2}, []float64{0, math.NaN(), 4}, 2},
		// The slopes are −3, −1/4, 1/4, 3/7, 2/3 and 4/3.
		{"four points", []float64{1, 4, 5, 8}, []float64{2, 6, 3, 5}, 0.339285714285714},
	} {
		if got := TheilSen(c.x, c.y); !near(got, c.want, 1e-12) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// Ten rising values have S = 45 and Var S = 10·9·25/18 = 125, so z = 44/√125.
func TestMannKendall(t *testing.T) {
	rising := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	s, p := MannKendall(rising)
	if z := 44 / math.Sqrt(125); s != 45 || !near(p, math.Erfc(z/math.Sqrt2), 1e-12) {
		t.Errorf("rising: S = %d, p = %g", s, p)
	}
	tied := []float64{23, 24, 29, 6, 29, 24, 24, 29, 23}
	want := 0
	for i := range tied {
		for j := i + 1; j < len(tied); j++ {
			want += int(math.Copysign(1, tied[j]-tied[i])) * map[bool]int{true: 0, false: 1}[tied[i] == tied[j]]
		}
	}
	// Var S = (9·8·23 − 2·1·9 − 3·2·11 − 3·2·11)/18 = (1656 − 150)/18
	s, p = MannKendall(tied)
	if z := (math.Abs(float64(want)) - 1) / math.Sqrt(1506.0/18); s != want ||
		(want != 0 && !near(p, math.Erfc(z/math.Sqrt2), 1e-12)) {
		t.Errorf("tied: S = %d (want %d), p = %g", s, want, p)
	}
	for _, flat := range [][]float64{nil, {1}, {2, 2, 2, 2}} {
		if s, p := MannKendall(flat); s != 0 || p != 1 {
			t.Errorf("%v: S = %d, p = %g", flat, s, p)
		}
	}
}

// Under no trend p is uniform: 5 % of the series have p < 0.05.
func TestMannKendallKeepsItsLevel(t *testing.T) {
	const seed, runs = 11, 4000
	rng, small := rand.New(rand.NewPCG(seed, 0)), 0
	for range runs {
		y := make([]float64, 20)
		for i := range y {
			y[i] = rng.NormFloat64()
		}
		if _, p := MannKendall(y); p < 0.05 {
			small++
		}
	}
	if share := float64(small) / runs; share < 0.03 || share > 0.065 {
		t.Errorf("seed %d: p < 0.05 in %g of the series", seed, share)
	}
}

func TestMSER(t *testing.T) {
	step := append(make([]float64, 20), constant(80, 10)...)
	if cut, settled := MSER(step); cut != 20 || !settled {
		t.Errorf("a step after 20 of 100: cut %d, settled %v", cut, settled)
	}
	late := append(make([]float64, 70), constant(30, 10)...)
	if _, settled := MSER(late); settled {
		t.Error("a step after 70 of 100 counts as settled")
	}
	if cut, settled := MSER(constant(50, 3)); cut != 0 || !settled {
		t.Errorf("a constant series: cut %d, settled %v", cut, settled)
	}
	if _, settled := MSER([]float64{1, 2, 3}); settled {
		t.Error("three values count as settled")
	}
}

// An exponential warm-up of 30 % with a time constant of 60 s over 600 s in 15 s bins: the mean of the
// rest must be within 1 % of the truth.
func TestMSERFindsTheEndOfAWarmup(t *testing.T) {
	const seed = 3
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 50 {
		y := make([]float64, 40)
		for i := range y {
			y[i] = 1000*(1-0.3*math.Exp(-float64(i)*15/60)) + 5*rng.NormFloat64()
		}
		cut, _ := MSER(y)
		if cut < 5 || !near(stats.Mean(y[cut:]), 1000, 10) {
			t.Errorf("seed %d: cut %d, mean of the rest %g", seed, cut, stats.Mean(y[cut:]))
		}
	}
}

func constant(n int, x float64) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = x
	}
	return v
}

func TestMedian(t *testing.T) {
	if Median(nil) != 0 || Median([]float64{3, 1, 2}) != 2 || Median([]float64{4, 1, 2, 3}) != 2.5 {
		t.Error("medians are wrong")
	}
}
