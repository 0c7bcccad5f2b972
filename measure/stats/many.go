package stats

import (
	"math"
	"sort"
)

// Holm corrects the p-values of a family of tests so that the probability of any false alarm is below the level: the
// k-th smallest is multiplied by the number of p-values that are not smaller, and is at least the one before it. NaN
// counts as 1. (Holm, "A simple sequentially rejective multiple test procedure", 1979.)
func Holm(p []float64) []float64 {
	adjusted, order := make([]float64, len(p)), make([]int, len(p))
	for i, v := range p {
		if adjusted[i], order[i] = min(1, max(0, v)), i; math.IsNaN(v) {
			adjusted[i] = 1
		}
	}
	sort.SliceStable(order, func(i, j int) bool { return adjusted[order[i]] < adjusted[order[j]] })
	running := 0.0
	for k, i := range order {
		running = max(running, adjusted[i]*float64(len(p)-k))
		adjusted[i] = min(1, running)
	}
	return adjusted
}
