package stats

import (
	"math"
	"testing"
)

func TestKneedle(t *testing.T) {
	var hyperbolaX, hyperbolaY, brokenX, brokenY, lineX []float64
	for i := range 101 {
		x := float64(i) / 10
		hyperbolaX, hyperbolaY = append(hyperbolaX, x), append(hyperbolaY, -1/(x+0.1)+5)
		brokenX, brokenY = append(brokenX, float64(i)), append(brokenY, min(float64(i), 30)+0.01*max(0, float64(i)-30))
		lineX = append(lineX, float64(i))
	}
	workers := []float64{1, 2, 4, 8, 16, 32, 64, 128}
	throughput := []float64{900, 1780, 3400, 6100, 8300, 9000, 9050, 8900}
	for _, c := range []struct {
		name string
		x, y []float64
		want int
		ok   bool
	}{
		{"a hyperbola", hyperbolaX, hyperbolaY, 9, true},
		{"two straight lines", brokenX, brokenY, 30, true},
		{"throughput over workers", workers, throughput, 4, true},
		{"a straight line", lineX, lineX, 0, false},
		{"a curve that only gets steeper", []float64{1, 2, 3, 4}, []float64{1, 2, 4, 8}, 0, false},
		{"a flat curve", []float64{1, 2, 3}, []float64{5, 5, 5}, 0, false},
		{"two points", []float64{1, 2}, []float64{1, 2}, 0, false},
		{"x that does not rise", []float64{1, 1, 2}, []float64{1, 2, 2}, 0, false},
		{"different lengths", []float64{1, 2, 3}, []float64{1, 2}, 0, false},
		{"not a number", []float64{1, 2, 3}, []float64{1, math.NaN(), 2}, 0, false},
		{"huge values", []float64{-math.MaxFloat64, 0, math.MaxFloat64 / 2, math.MaxFloat64},
			[]float64{-math.MaxFloat64, math.MaxFloat64, math.MaxFloat64, math.MaxFloat64}, 1, true},
	} {
		if got, ok := Kneedle(c.x, c.y); got != c.want || ok != c.ok {
			t.Errorf("%s: %d, %v; want %d, %v", c.name, got, ok, c.want, c.ok)
		}
	}
}
