package stats

import (
	"math"
	"slices"
	"testing"
)

func TestPairedRatio(t *testing.T) {
	r, ok := pairedRatio(baseValues, pairedValues, 0.95)
	if !ok || r.N != 6 || !r.Paired || r.DF != 5 {
		t.Fatalf("got %+v, %v", r, ok)
	}
	near(t, "the ratio", r.Ratio, 1.0467812955317242, 1e-12)
	nearInterval(t, "the ratio", r.Interval, 1.040316738485431, 1.0532860235146742)
	near(t, "p", r.P, 7.497376458464503e-06, 1e-8)
	near(t, "the standard error", r.SE, 0.0024098825301011287, 1e-10)
}

func TestUnpairedRatio(t *testing.T) {
	r, ok := UnpairedRatio(baseValues, otherValues, 0.95)
	if !ok || r.N != 10 || r.Paired {
		t.Fatalf("got %+v, %v", r, ok)
	}
	near(t, "the ratio", r.Ratio, 1.0496378663264123, 1e-12)
	nearInterval(t, "the ratio", r.Interval, 0.9128567731836108, 1.2069140338236397)
	near(t, "p", r.P, 0.35350259115717036, 1e-9)
	near(t, "Welch's degrees of freedom", r.DF, 3.065223852647109, 1e-9)
	iv, ok := r.At(0.90)
	if !ok {
		t.Fatal("no interval at 90 %")
	}
	nearInterval(t, "the ratio at 90 %", iv, 0.9463442622006856, 1.164205981303476)
}

// Which side is called the base must not matter: the ratio is one over the other, p stays.
func TestRatioOfSwappedSides(t *testing.T) {
	for name, f := range map[string]func(a, b []float64, c float64) (Ratio, bool){"paired": pairedRatio, "unpaired": UnpairedRatio} {
		r, _ := f(baseValues, pairedValues, 0.95)
		s, _ := f(pairedValues, baseValues, 0.95)
		near(t, name+": the ratio", s.Ratio, 1/r.Ratio, 1e-12)
		near(t, name+": its low end", s.Low, 1/r.High, 1e-12)
		near(t, name+": p", s.P, r.P, 1e-9)
		for _, margin := range []float64{0.01, 0.04, 0.05, 0.06, 0.5} {
			if equivalent(r, margin) != equivalent(s, margin) {
				t.Errorf("%s: equivalence within %v depends on which side is the base", name, margin)
			}
		}
	}
}

func TestRatioWithoutSpread(t *testing.T) {
	for _, c := range []struct {
		factor, p float64
	}{{1, 1}, {1.05, 0}} {
		value := slices.Clone(baseValues)
		for i := range value {
			value[i] *= c.factor
		}
		r, ok := pairedRatio(baseValues, value, 0.95)
		if !ok || r.SE != 0 || r.Low != r.High || r.P != c.p || math.Abs(r.Ratio-c.factor) > 1e-12 {
			t.Errorf("pairs that all have the ratio %v give %+v, %v", c.factor, r, ok)
		}
		same := []float64{7, 7, 7}
		r, ok = UnpairedRatio(same, []float64{7 * c.factor, 7 * c.factor}, 0.95)
		if !ok || r.SE != 0 || r.Low != r.High || r.P != c.p || math.Abs(r.Ratio-c.factor) > 1e-12 {
			t.Errorf("sides without spread and the ratio %v give %+v, %v", c.factor, r, ok)
		}
	}
	if r, _ := pairedRatio(baseValues, baseValues, 0.95); r.Ratio != 1 || r.Interval != (Interval{1, 1}) ||
		!equivalent(r, 0.001) {
		t.Errorf("a side against itself gives %+v; it is exactly one, and equivalent", r)
	}
}

func TestRatioOfBadInput(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name                  string
		base, value           []float64
		pairedOK, unpairedOK  bool
		pairedRatio, unpaired float64 // still given although there is no interval
	}{
		{"nothing", nil, nil, false, false, 0, 0},
		{"one pair", []float64{2}, []float64{3}, false, false, 1.5, 1.5},
		{"different lengths", []float64{2, 2, 3}, []float64{3, 4}, false, true, 0, 0},
		{"one against many", []float64{2}, []float64{2, 8}, false, false, 0, 2},
		{"a zero", []float64{0, 1}, []float64{1, 2}, false, false, 0, 0},
		{"a negative value", []float64{1, 1}, []float64{1, -2}, false, false, 0, 0},
		{"not a number", []float64{1, nan}, []float64{1, 2}, false, false, 0, 0},
		{"infinite", []float64{1, 2}, []float64{1, inf}, false, false, 0, 0},
		{"a ratio beyond all numbers", []float64{1e-300, 1e-300}, []float64{1e300, 1e300}, false, false, 0, 0},
	} {
		r, ok := pairedRatio(c.base, c.value, 0.95)
		if ok != c.pairedOK || !ok && (math.Abs(r.Ratio-c.pairedRatio) > 1e-12 || r.P != 1 || r.Interval != (Interval{})) {
			t.Errorf("%s: paired gives %+v, %v", c.name, r, ok)
		}
		r, ok = UnpairedRatio(c.base, c.value, 0.95)
		if ok != c.unpairedOK || !ok && (math.Abs(r.Ratio-c.unpaired) > 1e-12 || r.P != 1 || r.Interval != (Interval{})) {
			t.Errorf("%s: unpaired gives %+v, %v", c.name, r, ok)
		}
		if !ok && equivalent(r, 10) {
			t.Errorf("%s: equivalent although nothing is known", c.name)
		}
	}
}

// equivalent is what the tests say at 5 %.
func equivalent(r Ratio, margin float64) bool { return EquivalenceP(r, margin) <= 0.05 }

func TestEquivalent(t *testing.T) {
	// The 90 % interval reaches from 0.968 to 1.034 if the ratio is 1 and t·SE = ln 1.0335.
	r := Ratio{Ratio: 1, SE: math.Log(1.0335) / 2.015048373333, DF: 5, N: 6, Paired: true}
	for _, c := range []struct {
		ratio, margin float64
		want          bool
	}{
		{1, 0.034, true}, {1, 0.033, false}, {1, 0, false}, {1, -0.1, false}, {1, math.NaN(), false},
		{1.01, 0.034, false}, {1.01, 0.045, true}, {0.99, 0.034, false}, {0.99, 0.045, true},
	} {
		r.Ratio = c.ratio
		if got := equivalent(r, c.margin); got != c.want {
			t.Errorf("%v within %v: %v, want %v", c.ratio, c.margin, got, c.want)
		}
	}
	if equivalent(Ratio{}, 1) {
		t.Error("a ratio of which nothing is known is equivalent")
	}
}

// pairedRatio is the [BlockRatio] of sides whose values at the same index come from the same block. ok is also false
// with sides of different length, or a value that is zero, negative or not finite.
func pairedRatio(base, value []float64, confidence float64) (Ratio, bool) {
	a, okA := logs(base)
	b, okB := logs(value)
	if !okA || !okB || len(a) != len(b) {
		return Ratio{P: 1, Paired: true}, false
	}
	d := make([]float64, len(a))
	for i := range a {
		d[i] = b[i] - a[i]
	}
	return BlockRatio(d, confidence)
}
