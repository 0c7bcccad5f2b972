package stats

import (
	"math"
	"sort"
)

// Holm corrects the p-values of a family of tests so that the chance of any false alarm stays below the level: the
// k-th smallest is multiplied by the number of those that are not smaller, and none may be below one before it. The
// order is kept. Values that are not numbers count as tests that found nothing, 1. (Holm, "A simple sequentially
// rejective multiple test procedure", 1979.)
func Holm(p []float64) []float64 {
	adjusted, order := ranked(p)
	running := 0.0
	for k, i := range order {
		running = max(running, adjusted[i]*float64(len(p)-k))
		adjusted[i] = min(1, running)
	}
	return adjusted
}

// ranked returns a copy with all values between 0 and 1, and the indices in ascending order of value.
func ranked(p []float64) (values []float64, order []int) {
	values, order = make([]float64, len(p)), make([]int, len(p))
	for i, v := range p {
		if values[i], order[i] = min(1, max(0, v)), i; math.IsNaN(v) {
			values[i] = 1
		}
	}
	sort.SliceStable(order, func(i, j int) bool { return values[order[i]] < values[order[j]] })
	return values, order
}
