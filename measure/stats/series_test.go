package stats

import (
	"math"
	"testing"
)

var wave = []float64{3.1, 2.9, 3.4, 3.8, 3.6, 3.0, 2.7, 2.8, 3.3, 3.9, 4.0, 3.5}

func TestAutocorrelation(t *testing.T) {
	for lag, want := range []float64{1, 0.55276907, -0.26123302, -0.65517241, -0.43155695} {
		near(t, "the autocorrelation", Autocorrelation(wave, lag), want, 1e-7)
	}
	for _, c := range []struct {
		xs  []float64
		lag int
	}{{wave, len(wave)}, {wave, -1}, {nil, 0}, {[]float64{1}, 0}, {[]float64{0.1, 0.1, 0.1}, 1},
		{[]float64{1, math.NaN(), 2}, 1}} {
		if got := Autocorrelation(c.xs, c.lag); got != 0 {
			t.Errorf("of %v at %d: %v, want 0", c.xs, c.lag, got)
		}
	}
	if got := Autocorrelation([]float64{1e150, -1e150, 1e150, -1e150}, 1); math.Abs(got+0.75) > 1e-12 {
		t.Errorf("of huge alternating values: %v, want −0.75", got)
	}
}

func TestEffectiveSize(t *testing.T) {
	near(t, "the effective size", EffectiveSize(wave), 5.699255583126552, 1e-12)
	for _, c := range []struct {
		xs   []float64
		want float64
	}{{nil, 0}, {[]float64{1, 2}, 2}, {[]float64{5, 5, 5, 5, 5}, 5}, {[]float64{1, -1, 1, -1, 1, -1}, 6},
		{[]float64{1, 2, 3, math.Inf(1)}, 0}} {
		if got := EffectiveSize(c.xs); got != c.want {
			t.Errorf("of %v: %v, want %v", c.xs, got, c.want)
		}
	}
}

func TestBatchMeans(t *testing.T) {
	mean, iv, ok := BatchMeans(append(wave[:len(wave):len(wave)], 99), 3, 0.95) // the last one fills no batch
	if !ok {
		t.Fatal("no interval")
	}
	near(t, "the mean of batches", mean, 3.3333333333333335, 1e-12)
	nearInterval(t, "the mean of batches", iv, 2.7270268103082818, 3.939639856358385)
	for _, size := range []int{-1, 0, 7, 100} {
		if _, _, ok := BatchMeans(wave, size, 0.95); ok {
			t.Errorf("batches of %d have an interval", size)
		}
	}
	if _, _, ok := BatchMeans([]float64{1, 2, math.NaN(), 4}, 2, 0.95); ok {
		t.Error("a value that is no number has an interval")
	}
}
