package stats

import (
	"encoding/binary"
	"math"
	"testing"
)

// decode reads numbers out of bytes: all kinds of float, and small whole numbers, which are more often equal.
func decode(data []byte) []float64 {
	var xs []float64
	for len(data) >= 9 {
		bits := binary.LittleEndian.Uint64(data[1:])
		switch data[0] % 3 {
		case 0:
			xs = append(xs, math.Float64frombits(bits))
		case 1:
			xs = append(xs, float64(bits%5))
		default:
			xs = append(xs, 100*(1+float64(bits%1000)/1e4))
		}
		data = data[9:]
	}
	return xs[:min(len(xs), 60)]
}

func encode(xs ...float64) []byte {
	var data []byte
	for _, x := range xs {
		data = append(data, 0)
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(x))
	}
	return data
}

// FuzzStatistics asks everything of any values: nothing may panic, and no result may be anything but a number.
func FuzzStatistics(f *testing.F) {
	inf := math.Inf(1)
	seeds := [][]float64{
		nil, {1}, {0, 0, 0, 0}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 9, 9, 9, 9, 9, 9},
		{math.NaN(), 1, 2, 3}, {inf, -inf, 0}, {math.MaxFloat64, -math.MaxFloat64, 1, 2},
		{math.MaxFloat64, math.MaxFloat64, 1, 1},
		{5e-324, 5e-324, 1e308, 1e308}, {1e-200, 2e-200, 3e-200, 1e-200, 2e-200}, {-1, -2, -3, -4},
	}
	for _, xs := range seeds {
		f.Add(encode(xs...), 0.95, 0.05)
		f.Add(encode(xs...), 1-1e-15, 1e-12)
	}
	f.Add(encode(1, 2, 3), math.NaN(), inf)
	f.Fuzz(func(t *testing.T, data []byte, confidence, part float64) {
		xs := decode(data)
		a, b := xs[:len(xs)/2], xs[len(xs)/2:len(xs)/2*2]
		checkMeans(t, xs, confidence)
		for _, ratio := range []func(a, b []float64, c float64) (Ratio, bool){pairedRatio, UnpairedRatio} {
			r, ok := ratio(a, b, confidence)
			number(t, "ratio", r.Ratio, r.Low, r.High, r.P, r.SE, r.DF)
			bracketed(t, "ratio", r.Ratio, r.Interval, ok)
			if r.P < 0 || r.P > 1 {
				t.Errorf("p is %v", r.P)
			}
			EquivalenceP(r, part)
		}
		p, _ := MannWhitney(a, b)
		number(t, "probability", append(Holm(xs), p, RareBound(len(xs), confidence))...)
		power := Power(math.Abs(part), confidence, 0.05, len(xs), len(xs)%2 == 0)
		number(t, "power", power, TQuantile(confidence, part), TTail(confidence, part))
		if power < 0 || power > 1 || RareTrials(part, confidence) < 0 {
			t.Errorf("power %v", power)
		}
		checkSeries(t, a, b, xs, part)
	})
}

func checkMeans(t *testing.T, xs []float64, confidence float64) {
	t.Helper()
	for name, f := range map[string]func([]float64, float64) (float64, Interval, bool){
		"GeoMean": GeoMean, "MedianInterval": MedianInterval,
	} {
		mean, iv, ok := f(xs, confidence)
		number(t, name, mean, iv.Low, iv.High)
		bracketed(t, name, mean, iv, ok)
	}
	Outliers(xs)
	n := len(xs) * len(xs) * len(xs) * len(xs)
	if low, high, ok := quantileRanks(n, math.Abs(fraction(xs)), confidence); ok && (low < 1 || low > high || high > n) {
		t.Errorf("ranks %d and %d of %d", low, high, n)
	}
}

// fraction is that of the first value, which may be no number.
func fraction(xs []float64) float64 {
	if len(xs) == 0 {
		return 0
	}
	return math.Mod(xs[0], 1)
}

func checkSeries(t *testing.T, a, b, xs []float64, part float64) {
	t.Helper()
	last := 0
	for _, p := range ChangePoints(xs, ChangeOptions{P: part, Magnitude: part}) {
		number(t, "change point", p.Before, p.After, p.P)
		if p.Index < last+3 || p.Index > len(xs)-3 {
			t.Errorf("change at %d of %d, after one at %d", p.Index, len(xs), last)
		}
		last = p.Index
	}
	if i, ok := Kneedle(a, b); i < 0 || ok && (i == 0 || i >= len(a)-1) {
		t.Errorf("knee at %d of %d", i, len(a))
	}
}

func number(t *testing.T, what string, xs ...float64) {
	t.Helper()
	if !finite(xs) {
		t.Errorf("%s: %v", what, xs)
	}
}

// bracketed: an interval is around its value, and there is none where nothing is known.
func bracketed(t *testing.T, what string, x float64, iv Interval, ok bool) {
	t.Helper()
	slack := 1e-9 * max(math.Abs(x), math.Abs(iv.Low), math.Abs(iv.High))
	if ok && (iv.Low > x+slack || iv.High < x-slack || iv.Low > iv.High) || !ok && iv != (Interval{}) {
		t.Errorf("%s: %v is outside %v, %v", what, x, iv, ok)
	}
}
