package stats

import (
	"math"
	"slices"
	"testing"
)

func TestNext(t *testing.T) {
	// φ̂ is negative, so the values count as independent: s = √2.5, n = 5.
	e, ok := Next([]float64{1, 5, 2, 4, 3})
	if !ok || e.DF != 4 {
		t.Fatalf("%+v, %v", e, ok)
	}
	near(t, "mean", e.Mean, 3, 1e-12)
	near(t, "standard error", e.SE, math.Sqrt(2.5*1.2), 1e-12)
	iv := e.Range(0.95)
	near(t, "p at the end of the range", e.Differs(iv.High), 0.05, 1e-9)
	near(t, "p within a margin as far as the end of the range of 90 %", e.Within(3, e.Range(0.90).High-3), 0.05, 1e-9)
	rising, _ := Next([]float64{1, 2, 3, 4, 5})
	if rising.DF >= 4 || rising.SE <= e.SE {
		t.Errorf("%+v: values that resemble their neighbours are as good as fewer", rising)
	}
	same, ok := Next([]float64{2, 2, 2})
	if !ok || same.Differs(2) != 1 || same.Differs(2.1) != 0 || same.Within(2, 0.1) != 0 || same.Within(2.1, 0.05) != 1 {
		t.Errorf("%+v without spread", same)
	}
	for _, xs := range [][]float64{nil, {1, 2}, {1, 2, math.NaN()}} {
		if _, ok := Next(xs); ok {
			t.Errorf("%v predicts", xs)
		}
	}
}

func TestAlternations(t *testing.T) {
	for _, c := range []struct {
		order  string
		blocks []int
	}{
		{"ABBA", []int{1, 1, 1, 1}}, {"BABA", []int{1, 1, 1, 1}}, {"ABABBAAB", []int{1, 1, 1, 1, 2, 2, 2, 2}},
		{"AABB", []int{0, 0, 0, 0}}, {"AAABABBB", []int{0, 0, 1, 1, 1, 1, 0, 0}}, {"ABB", []int{0, 0, 0}}, {"", nil},
	} {
		var second []bool
		for _, side := range c.order {
			second = append(second, side == 'B')
		}
		block, weights := Alternations(second)
		if !slices.Equal(block, c.blocks) && len(c.order) > 0 {
			t.Errorf("%s: blocks %v, want %v", c.order, block, c.blocks)
		}
		// In each block a difference of one counts as one, and neither a level nor a linear drift counts.
		for n := 1; n <= slices.Max(append(block, 0)); n++ {
			var level, drift, difference float64
			for i, w := range weights {
				if block[i] == n {
					level, drift = level+w, drift+w*float64(i)
					if second[i] {
						difference += w
					}
				}
			}
			if level != 0 || drift != 0 || difference != 1 {
				t.Errorf("%s, block %d: level %v, drift %v, difference %v", c.order, n, level, drift, difference)
			}
		}
	}
}
