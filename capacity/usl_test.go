package capacity

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// known is the law of the simulations that the project's notes on statistics report.
var known = USL{Lambda: 90, Sigma: 0.0277, Kappa: 1.04e-4}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*math.Abs(want)) {
		t.Errorf("%s is %v, want %v within %v %%", what, got, want, 100*tolerance)
	}
}

func TestUSLPeak(t *testing.T) {
	n, ok := known.Peak()
	if !ok {
		t.Fatal("no peak")
	}
	near(t, "N*", n, 96.7, 0.001)
	for _, other := range []float64{n - 1, n + 1} {
		if known.At(other) > known.At(n) {
			t.Errorf("throughput at %v is above that at the peak", other)
		}
	}
	if _, ok := (USL{Lambda: 1, Sigma: 0.1}).Peak(); ok {
		t.Error("a law without coherency cost has a peak")
	}
	if n, _ := (USL{Lambda: 1, Sigma: 1, Kappa: 0.5}).Peak(); n != 1 {
		t.Errorf("the peak lies at %v, below one", n)
	}
}

// Both inverses must give back the point they come from, over the whole stable branch.
func TestUSLInverses(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	laws := []USL{known, {90, 0.0277, 0}, {90, 0, 1e-4}, {1000, 0.3, 1e-6}, {5, 0.001, 0.002}, {5, 0.01, 0.01}}
	for range 200 {
		laws = append(laws, USL{1 + 1000*r.Float64(), r.Float64() * 0.5, math.Pow(10, -6*r.Float64()-1)})
	}
	for _, u := range laws {
		peak, _ := u.Peak()
		for _, part := range []float64{0.05, 0.3, 0.7, 0.999} {
			n := 1 + (min(peak, 500)-1)*part
			x := u.At(n)
			latency, ok := u.LatencyAt(x)
			if !ok {
				t.Fatalf("%+v never reaches %v, which it does at %v", u, x, n)
			}
			near(t, "latency", latency, n/x, 1e-6)
			back, _ := u.NodesFor(x)
			near(t, "nodes", back, n, 1e-6)
		}
	}
}

func TestUSLHasNoValueWhereThereIsNone(t *testing.T) {
	peak, _ := known.Peak()
	if _, ok := known.LatencyAt(known.At(peak) * 1.001); ok {
		t.Error("more than the highest throughput has a latency")
	}
	if _, ok := (USL{Lambda: 90, Sigma: 0.1}).LatencyAt(901); ok {
		t.Error("more than λ/σ has a latency")
	}
	if _, ok := known.LatencyAt(math.NaN()); ok {
		t.Error("NaN has a latency")
	}
}

// A widely used library leaves κ out of this inverse.
func TestUSLLatencyIncludesKappa(t *testing.T) {
	x := known.At(96)
	near(t, "the latency without κ", (known.Sigma-1)/(known.Sigma*x-known.Lambda), 0.0258, 0.01)
	got, _ := known.LatencyAt(x)
	near(t, "the latency at N = 96", got, 0.0510, 0.003)
}

// noisy makes points of the known law with noise of 3 %.
func noisy(r *rand.Rand, sizes []float64, trials int) []ScalePoint {
	var points []ScalePoint
	for _, n := range sizes {
		p := ScalePoint{N: n}
		for range trials {
			p.Throughput = append(p.Throughput, known.At(n)*(1+0.03*r.NormFloat64()))
		}
		points = append(points, p)
	}
	return points
}

func quantile(xs []float64, q float64) float64 {
	slices.Sort(xs)
	return xs[int(q*float64(len(xs)-1)+0.5)]
}

// The peak is found where the points go that far, and cannot be told where they do not: 400 fits of one trial per size
// with 3 % noise. The limits leave room for another choice of sizes than that of the notes, whose table this repeats.
func TestUSLRecoveryUnderNoise(t *testing.T) {
	sizes := []float64{1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 160, 216}
	for _, c := range []struct {
		upTo                 float64
		lowAbove, highBelow  float64 // limits of the 5 % and the 95 % point of N*
		medianLow, medianTop float64
		noPeak               [2]float64 // limits of the share of fits without a peak
	}{
		{32, 30, math.Inf(1), 60, 150, [2]float64{0.05, 0.45}},
		{64, 60, 300, 85, 110, [2]float64{0, 0.10}},
		{128, 78, 130, 92, 102, [2]float64{0, 0}},
		{216, 85, 112, 93, 100, [2]float64{0, 0}},
	} {
		r := rand.New(rand.NewPCG(11, uint64(c.upTo)))
		measured := sizes[:slices.Index(sizes, c.upTo)+1]
		var peaks []float64
		none, reached := 0, 0
		for range 400 {
			f, err := FitUSL(noisy(r, measured, 1), FitOptions{})
			if err != nil {
				t.Fatal(err)
			}
			peak, ok := f.Peak()
			if !ok {
				none++
			}
			if f.Reached {
				reached++
			}
			peaks = append(peaks, peak)
		}
		low, mid, high := quantile(peaks, 0.05), quantile(peaks, 0.5), quantile(peaks, 0.95)
		share := float64(none) / 400
		t.Logf("up to %v: N* %.0f / %.0f / %.0f, without a peak %.1f %%, reached %d of 400", c.upTo, low, mid, high, 100*share, reached)
		if low < c.lowAbove || high > c.highBelow || mid < c.medianLow || mid > c.medianTop || share < c.noPeak[0] ||
			share > c.noPeak[1] {
			t.Errorf("up to %v: N* %v / %v / %v, without a peak %v", c.upTo, low, mid, high, share)
		}
		// Points up to a third of the peak must hardly ever claim it; points beyond it must always.
		if c.upTo == 32 && reached > 20 || c.upTo >= 128 && reached < 380 {
			t.Errorf("up to %v: the peak is claimed in %d of 400 fits", c.upTo, reached)
		}
	}
}

// Intervals of the prediction cover the truth about as often as they say.
func TestUSLIntervalsCover(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 12))
	sizes := []float64{1, 2, 4, 8, 16, 32, 64, 128}
	covered, peaks := 0, 0
	const fits = 120
	for i := range fits {
		f, err := FitUSL(noisy(r, sizes, 5), FitOptions{Seed: uint64(i), Resamples: 150})
		if err != nil || !f.Known {
			t.Fatal(err, f)
		}
		if _, iv := f.Predict(100); iv.Low <= known.At(100) && known.At(100) <= iv.High {
			covered++
		}
		if p, _ := known.Peak(); f.PeakRange.Low <= p && p <= f.PeakRange.High {
			peaks++
		}
	}
	t.Logf("covered: throughput %d, peak %d of %d", covered, peaks, fits)
	if covered < 107 || peaks < 107 {
		t.Errorf("intervals of 95 %% hold the truth in %d (throughput) and %d (peak) of %d fits", covered, peaks, fits)
	}
}
