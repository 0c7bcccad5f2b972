package measure

import (
	"math"

	"github.com/plimsoll-bench/plimsoll/measure/stats"
)

// mostWaves is the largest number of cosines of [drift]: more have less to do with a trend, and need shorter memory.
const mostWaves = 12

// trendChance is the largest p-value of [drift] and [headDiffers] that is no chance.
const trendChance = 0.005

// drift tests whether a series of evenly spaced values has a trend, and returns the two-sided p-value, 1 for fewer than
// eight values. Values may depend on their neighbours, as the seconds of a run do. The cosines of the lowest
// frequencies,
//
//	x_j = √(2/n) · Σ y_i · cos(π·j·(i+½)/n),  j = 1 … q
//
// are about independent and normal for every stationary series, with the variance S(πj/n), its spectrum. A trend is
// almost only in the first one (98.6 % of its squares). So
//
//	t = (x_1/√S_1) / √( Σ x_j²/S_j / (q−1) ),  j = 2 … q
//
// has Student's distribution with q−1 degrees of freedom. (Müller and Watson, "Testing Models of Low-Frequency
// Variability", Econometrica 2008.) S is that of values in which the memory of one step is φ, 1/(1 − 2φ·cos ω + φ²),
// with φ from the residuals of a line, at least as large as the correlation of the second neighbours by that of the
// first: it does not become smaller by noise of single values. waves bounds q.
//
// A memory longer than about a tenth of the series looks like a trend.
func drift(y []float64, waves int) (p float64) {
	n := len(y)
	q := min(waves, mostWaves, n/2)
	if n < fewestTrendBins || q < 2 {
		return 1
	}
	phi := memory(y)
	first, rest := waveOf(y, 1, phi), 0.0
	for j := 2; j <= q; j++ {
		rest += waveOf(y, j, phi) / float64(q-1)
	}
	if first == 0 {
		return 1
	}
	return stats.TTail(math.Sqrt(first/rest), float64(q-1))
}

// headDiffers tests whether the first values of a series have another mean than the rest, and returns the two-sided
// p-value, 1 if fewer than eight are left. The variance of both means is that of a series with the spectrum of the rest
// at frequency 0, estimated from its lowest q cosines as in [drift]; t has q degrees of freedom.
func headDiffers(y []float64, head int) (p float64) {
	rest := y[head:]
	q := min(mostWaves, len(rest)/2)
	if head == 0 || len(rest) < fewestTrendBins {
		return 1
	}
	phi, spectrum := memory(rest), 0.0
	for j := 1; j <= q; j++ {
		spectrum += waveOf(rest, j, phi) / float64(q)
	}
	spectrum /= (1 - phi) * (1 - phi)
	d := stats.Mean(y[:head]) - stats.Mean(rest)
	return stats.TTail(d/math.Sqrt(spectrum*(1/float64(head)+1/float64(len(rest)))), float64(q))
}

// waveOf returns x_j²/S_j of [drift], with S for noise of variance 1 at each step.
func waveOf(y []float64, j int, phi float64) float64 {
	n := float64(len(y))
	w := math.Pi * float64(j) / n
	x := 0.0
	for i, v := range y {
		x += v * math.Cos(w*(float64(i)+0.5))
	}
	return x * x * 2 / n * (1 - 2*phi*math.Cos(w) + phi*phi)
}

// memory estimates how much a deviation of a value from the trend of its series carries over to the next one, 0 to
// 0.99. The correlation of neighbours is too small by about (2+4φ)/n, because the trend is estimated, too (Marriott and
// Pope, "Bias in the estimation of autocorrelations", Biometrika 1954).
func memory(y []float64) float64 {
	n := float64(len(y))
	mean, slope, squares := stats.Mean(y), 0.0, 0.0
	for i, v := range y {
		x := float64(i) - (n-1)/2
		slope += x * v
		squares += x * x
	}
	slope /= squares
	var by [3]float64 // the products of residuals with their neighbours
	residual := func(i int) float64 { return y[i] - mean - slope*(float64(i)-(n-1)/2) }
	for i := range y {
		for k := range min(len(by), len(y)-i) {
			by[k] += residual(i) * residual(i+k)
		}
	}
	if !(by[0] > 0) || by[1] <= 0 {
		return 0
	}
	phi := by[1] / by[0]
	if phi > 2/math.Sqrt(n) {
		phi = max(phi, by[2]/by[1])
	}
	return min(0.99, phi+(2+4*phi)/n)
}
