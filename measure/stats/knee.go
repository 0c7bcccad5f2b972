package stats

import (
	"math"
	"slices"
)

// Kneedle finds the knee of a curve that rises and flattens, such as throughput over workers: the index of the point
// farthest above the straight line between the ends of the range. With x and y scaled to 0…1,
//
//	D_i = y_i − x_i; a local maximum of D is the knee if D falls below D_max − S·mean(Δx) before D rises to the next one
//
// and the first such is returned, with S = 1. The knee depends on the measured range: use it as a mark in a chart,
// never as a claim. ok is false if there is no knee, there are fewer than three points, x does not rise, or a value is
// not finite. (Satopää and others, "Finding a 'Kneedle' in a Haystack", 2011.)
func Kneedle(x, y []float64) (index int, ok bool) {
	n := len(x)
	if n < 3 || len(y) != n || !finite(x) || !finite(y) {
		return 0, false
	}
	for i := 1; i < n; i++ {
		if x[i] <= x[i-1] {
			return 0, false
		}
	}
	bottom, top := slices.Min(y), slices.Max(y)
	if top == bottom {
		return 0, false
	}
	scaled := func(v, low, high float64) float64 { // halves keep the differences of huge values finite
		return (v/2 - low/2) / (high/2 - low/2)
	}
	d := make([]float64, n)
	for i := range d {
		d[i] = scaled(y[i], bottom, top) - scaled(x[i], x[0], x[n-1])
	}
	fall, candidate := 1/float64(n-1), -1
	for i := 1; i < len(d); i++ {
		last := i == len(d)-1
		switch {
		case !last && d[i] >= d[i-1] && d[i] > d[i+1] && d[i] > math.Sqrt(negligible):
			candidate = i
		case candidate >= 0 && d[i] < d[candidate]-fall:
			return candidate, true
		}
	}
	return 0, false
}
