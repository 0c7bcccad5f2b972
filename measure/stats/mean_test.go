package stats

import (
	"math"
	"testing"
)

// baseValues and the others are results of trials; what is expected of them was computed independently.
var (
	baseValues   = []float64{1012.3, 998.1, 1004.9, 1021.7, 989.4, 1010.0}
	pairedValues = []float64{1065.2, 1041.3, 1050.8, 1078.9, 1033.3, 1049.6}
	otherValues  = []float64{1065.2, 1041.3, 950.8, 1178.9}
)

func TestGeoMean(t *testing.T) {
	mean, iv, ok := GeoMean(baseValues, 0.95)
	if !ok {
		t.Fatal("six values have no interval")
	}
	near(t, "the geometric mean", mean, 1006.0134844507159, 1e-12)
	nearInterval(t, "the geometric mean", iv, 994.1884221207343, 1017.9791962752968)
}

func TestMean(t *testing.T) {
	near(t, "the mean", Mean(baseValues), 1006.0666666666666, 1e-12)
	if got := Mean(nil); got != 0 {
		t.Errorf("the mean of nothing is %v", got)
	}
}

func TestMeansOfBadInput(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name string
		xs   []float64
		geo  float64 // returned although there is no interval
	}{
		{"nothing", nil, 0},
		{"one value", []float64{7}, 7},
		{"one zero", []float64{0}, 0},
		{"not a number", []float64{1, nan, 3}, 0},
		{"infinite", []float64{1, inf, 3}, 0},
	} {
		if m, iv, ok := GeoMean(c.xs, 0.95); ok || m != c.geo || iv != (Interval{}) {
			t.Errorf("%s: GeoMean is %v, %v, %v; want %v and no interval", c.name, m, iv, ok, c.geo)
		}
	}
	for _, xs := range [][]float64{{0, 1, 2}, {-1, 1, 2}} {
		if m, _, ok := GeoMean(xs, 0.95); ok || m != 0 {
			t.Errorf("GeoMean(%v) is %v, %v; there are no logarithms", xs, m, ok)
		}
	}
	for _, confidence := range []float64{0, 1, -1, 2, nan} {
		if _, _, ok := GeoMean(baseValues, confidence); ok {
			t.Errorf("GeoMean has an interval at a confidence of %v", confidence)
		}
	}
}

// Equal values have an interval without width, and exactly their own value as mean, without rounding by logarithms.
func TestGeoMeanOfEqualValues(t *testing.T) {
	for _, x := range []float64{0.1, 1000.0 / 3, 1e-300, 1e300} {
		xs := []float64{x, x, x}
		if m, iv, ok := GeoMean(xs, 0.95); !ok || m != x || iv != (Interval{x, x}) {
			t.Errorf("GeoMean of three times %v is %v, %v, %v", x, m, iv, ok)
		}
	}
}
