package stats

import "math"

// Autocorrelation is how much values resemble those lag places before them, from −1 to 1:
//
//	ρ_k = Σ (x_i − x̄)(x_{i+k} − x̄) / Σ (x_i − x̄)²
//
// It is 0 where nothing can be told: no such pairs, no spread, or a value that is not finite.
func Autocorrelation(xs []float64, lag int) float64 {
	if lag < 0 || lag >= len(xs) || !finite(xs) {
		return 0
	}
	mean, variance := moments(xs)
	spread := math.Sqrt(variance)
	if !(spread > negligible*math.Abs(mean)) || math.IsInf(spread, 0) {
		return 0
	}
	sum, squares := 0.0, 0.0
	for i, x := range xs {
		d := (x - mean) / spread
		squares += d * d
		if i+lag < len(xs) {
			sum += d * (xs[i+lag] - mean) / spread
		}
	}
	return min(1, max(-1, sum/squares))
}

// EffectiveSize is how many independent values would tell the mean as well as these neighbours do,
//
//	n / (1 + 2·Σ ρ_k)
//
// summed over pairs of lags as long as a pair is positive, because what follows is noise. It is never more than the
// number of values, and 0 if one of them is not finite. (Geyer, "Practical Markov Chain Monte Carlo", Statistical
// Science 1992, initial positive sequence.)
func EffectiveSize(xs []float64) float64 {
	n := float64(len(xs))
	if len(xs) < 4 || !finite(xs) {
		if finite(xs) {
			return n
		}
		return 0
	}
	time := -1.0 // pairs begin with lag 0, which counts once: Σ over pairs, twice, less one
	for k := 0; k+1 < len(xs); k += 2 {
		pair := Autocorrelation(xs, k) + Autocorrelation(xs, k+1)
		if pair <= 0 {
			break
		}
		time += 2 * pair
	}
	return n / max(1, time)
}

// BatchMeans returns the mean of a series whose values resemble their neighbours, with the t interval of the means of
// batches of size values: batches much longer than the resemblance, such as a checkpoint's cycle, are nearly
// independent. Values that do not fill a batch are left out at the end. ok is false with fewer than two batches, or
// with a value that is not finite. (Law, "Simulation Modeling and Analysis", section 9.5.3.)
func BatchMeans(xs []float64, size int, confidence float64) (mean float64, iv Interval, ok bool) {
	if size < 1 || !finite(xs) {
		return 0, Interval{}, false
	}
	var means []float64
	for ; len(xs) >= size; xs = xs[size:] {
		m, _ := moments(xs[:size])
		means = append(means, m)
	}
	return Mean(means, confidence)
}
