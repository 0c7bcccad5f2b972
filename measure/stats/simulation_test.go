package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The promises of the package, held against many made-up studies. Seeds are fixed: these tests give the same on every
// machine, and a change in a formula moves the rates.

// share repeats an experiment and returns in which share of the repetitions it said yes.
func share(repetitions int, seed uint64, yes func(r *rand.Rand) bool) float64 {
	r := rand.New(rand.NewPCG(seed, 1))
	count := 0
	for range repetitions {
		if yes(r) {
			count++
		}
	}
	return float64(count) / float64(repetitions)
}

// within complains about a rate that is not as promised.
func within(t *testing.T, what string, rate, low, high float64) {
	t.Helper()
	t.Logf("%s: %.2f %%", what, 100*rate)
	if rate < low || rate > high {
		t.Errorf("%s: %.2f %%, promised %.2f to %.2f %%", what, 100*rate, 100*low, 100*high)
	}
}

// trials is two sides whose trials come in blocks: each block is off by its own amount, and the machine gets slower by
// the drift over the study.
func trials(r *rand.Rand, n int, ratio, noise, blocks, drift float64) (base, value []float64) {
	base, value = scatter(r, n, 1000, noise), scatter(r, n, 1000*ratio, noise)
	for i := range n {
		block := math.Exp(blocks*r.NormFloat64()) * (1 - drift*float64(i)/float64(n))
		base[i], value[i] = base[i]*block, value[i]*block
	}
	return base, value
}

func holds(iv Interval, truth float64) bool { return iv.Low <= truth && truth <= iv.High }

func TestCoverage(t *testing.T) {
	t.Parallel()
	const repetitions = 3000
	for _, n := range []int{3, 6, 12} {
		within(t, "geometric mean", share(repetitions, uint64(n), func(r *rand.Rand) bool {
			_, iv, ok := GeoMean(scatter(r, n, 1000, 0.15), 0.95)
			return ok && holds(iv, 1000)
		}), 0.93, 0.97)
		within(t, "pairs in blocks, with drift", share(repetitions, uint64(n), func(r *rand.Rand) bool {
			base, value := trials(r, n, 1.07, 0.03, 0.10, 0.05)
			ratio, ok := pairedRatio(base, value, 0.95)
			return ok && holds(ratio.Interval, 1.07)
		}), 0.93, 0.97)
		within(t, "two sides of their own", share(repetitions, uint64(n), func(r *rand.Rand) bool {
			ratio, ok := UnpairedRatio(scatter(r, n, 1000, 0.05), scatter(r, n+2, 1070, 0.08), 0.95)
			return ok && holds(ratio.Interval, 1.07)
		}), 0.93, 0.97)
	}
	within(t, "median of an odd distribution", share(repetitions, 1, func(r *rand.Rand) bool {
		xs := make([]float64, 11)
		for i := range xs {
			xs[i] = math.Exp(2 * r.ExpFloat64())
		}
		_, iv, ok := MedianInterval(xs, 0.95)
		return ok && holds(iv, 4)
	}), 0.95, 1) // at least the confidence
}

// Nothing differs: how often a difference is claimed.
func TestFalseAlarms(t *testing.T) {
	t.Parallel()
	const repetitions = 3000
	limit := 0.05 + 2*math.Sqrt(0.05*0.95/repetitions)
	for _, n := range []int{4, 10} {
		for _, drift := range []float64{0, 0.05} {
			within(t, "pairs", share(repetitions, uint64(n), func(r *rand.Rand) bool {
				ratio, _ := pairedRatio(pair(trials(r, n, 1, 0.01, 0.02, drift)))
				return ratio.P < 0.05
			}), 0.04, limit)
		}
		within(t, "two sides of their own", share(repetitions, uint64(n), func(r *rand.Rand) bool {
			ratio, _ := UnpairedRatio(scatter(r, n, 1000, 0.05), scatter(r, n, 1000, 0.05), 0.95)
			return ratio.P < 0.05
		}), 0.035, limit)
		within(t, "ranks", share(repetitions, uint64(n), func(r *rand.Rand) bool {
			p, _ := MannWhitney(scatter(r, n, 1000, 0.5), scatter(r, n, 1000, 0.5))
			return p < 0.05
		}), 0.02, limit)
		within(t, "equivalence of what differs by the margin", share(repetitions, uint64(n), func(r *rand.Rand) bool {
			ratio, _ := pairedRatio(pair(trials(r, n, 1.03, 0.01, 0.02, 0)))
			return EquivalenceP(ratio, 0.03) <= 0.05
		}), 0.035, limit)
	}
	within(t, "any of twelve cells after Holm", share(1000, 2, func(r *rand.Rand) bool {
		ps := make([]float64, 12)
		for i := range ps {
			ratio, _ := pairedRatio(pair(trials(r, 6, 1, 0.02, 0.02, 0)))
			ps[i] = ratio.P
		}
		for _, p := range Holm(ps) {
			if p < 0.05 {
				return true
			}
		}
		return false
	}), 0.03, 0.05+2*math.Sqrt(0.05*0.95/1000))
}

// pair passes two sides on with the usual confidence.
func pair(base, value []float64) ([]float64, []float64, float64) { return base, value, 0.95 }

// An effect is found as often as the plan says.
func TestPowerHolds(t *testing.T) {
	t.Parallel()
	const repetitions = 3000
	for _, c := range []struct {
		cv, effect float64
		n          int
	}{{0.03, 0.05, 6}, {0.03, -0.05, 9}, {0.05, 0.05, 16}, {0.02, 0.03, 4}, {0.15, 0.2, 8}} {
		tolerance := 3 * math.Sqrt(0.25/repetitions)
		want := Power(c.cv, c.effect, 0.05, c.n, true)
		within(t, "effects found in pairs", share(repetitions, 3, func(r *rand.Rand) bool {
			ratio, _ := pairedRatio(pair(trials(r, c.n, 1+c.effect, c.cv, 0.1, 0)))
			return ratio.P < 0.05
		}), want-tolerance, want+tolerance)
		want = Power(c.cv, c.effect, 0.05, c.n, false)
		within(t, "effects found between sides", share(repetitions, 4, func(r *rand.Rand) bool {
			ratio, _ := UnpairedRatio(scatter(r, c.n, 1000, c.cv), scatter(r, c.n, 1000*(1+c.effect), c.cv), 0.95)
			return ratio.P < 0.05
		}), want-tolerance-0.02, want+tolerance) // Welch gives away a little where both sides scatter alike
	}
	const n = 14 // has a power of 0.8 for a change of 5 % with a coefficient of variation of 4 %
	within(t, "effects found with the trials that were planned", share(repetitions, 5, func(r *rand.Rand) bool {
		ratio, _ := pairedRatio(pair(trials(r, n, 1.05, 0.04, 0.1, 0)))
		return ratio.P < 0.05
	}), 0.78, 0.88)
}

// autoregressive makes a series each of whose values keeps the part phi of the one before.
func autoregressive(r *rand.Rand, n int, phi float64) []float64 {
	xs := make([]float64, n)
	x := r.NormFloat64() / math.Sqrt(1-phi*phi)
	for i := range xs {
		xs[i] = 100 + x
		x = phi*x + r.NormFloat64()
	}
	return xs
}

// A history in which nothing happens has no changes, however long it is and whatever the noise looks like.
func TestChangePointsFalseAlarms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		noise func(r *rand.Rand) float64
		limit float64
	}{
		{"normal", func(r *rand.Rand) float64 { return 100 + 3*r.NormFloat64() }, 0.05},
		{"lognormal", func(r *rand.Rand) float64 { return 100 * math.Exp(0.15*r.NormFloat64()) }, 0.05},
		{"one in twenty far down", func(r *rand.Rand) float64 {
			if x := 100 + r.NormFloat64(); r.Float64() < 0.05 {
				return x - 15
			} else {
				return x
			}
		}, 0.05},
	} {
		for _, n := range []int{10, 30, 100} {
			within(t, c.name+" noise", share(300, uint64(n), func(r *rand.Rand) bool {
				xs := make([]float64, n)
				for i := range xs {
					xs[i] = c.noise(r)
				}
				return len(ChangePoints(xs, ChangeOptions{})) > 0
			}), 0, c.limit)
		}
	}
}

// Values that resemble their neighbours, or that drift, are no changes.
func TestChangePointsFalseAlarmsOfSlowNoise(t *testing.T) {
	t.Parallel()
	for _, n := range []int{30, 100} {
		for _, phi := range []float64{0.3, 0.7} {
			within(t, "neighbours that resemble each other", share(300, uint64(n), func(r *rand.Rand) bool {
				return len(ChangePoints(autoregressive(r, n, phi), ChangeOptions{})) > 0
			}), 0, 0.05+2*math.Sqrt(0.05*0.95/300))
		}
		within(t, "a drift", share(300, uint64(n), func(r *rand.Rand) bool {
			xs := autoregressive(r, n, 0)
			for i := range xs {
				xs[i] += 5 * float64(i) / float64(n)
			}
			return len(ChangePoints(xs, ChangeOptions{})) > 0
		}), 0, 0.05+2*math.Sqrt(0.05*0.95/300))
	}
	within(t, "any of ten histories", share(300, 9, func(r *rand.Rand) bool {
		for range 10 {
			if len(ChangePoints(autoregressive(r, 30, 0.5), ChangeOptions{Histories: 10})) > 0 {
				return true
			}
		}
		return false
	}), 0, 0.05+2*math.Sqrt(0.05*0.95/300))
}

// One more value is as expected in 95 % of the cases, also where it resembles its neighbours.
func TestNextFalseAlarms(t *testing.T) {
	t.Parallel()
	const repetitions = 3000
	for _, n := range []int{3, 10, 30} {
		for _, phi := range []float64{0, 0.5, 0.9} {
			within(t, "what is expected of one more", share(repetitions, uint64(n), func(r *rand.Rand) bool {
				xs := autoregressive(r, n+1, phi)
				e, ok := Next(xs[:n])
				return !ok || e.Differs(xs[n]) < 0.05
			}), 0, 0.05+2*math.Sqrt(0.05*0.95/repetitions))
		}
		within(t, "within a margin, although the level is at its end", share(repetitions, uint64(n), func(r *rand.Rand) bool {
			xs := autoregressive(r, n+1, 0)
			e, _ := Next(xs[:n])
			return e.Within(xs[n]+8, 8) < 0.05
		}), 0, 0.05+2*math.Sqrt(0.05*0.95/repetitions))
	}
}

// What happened is found, and where.
func TestChangePointsFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		parts      []float64
		want       []int
		least, off float64
	}{
		{"a shift of three standard deviations in the middle", []float64{30, 100, 30, 103}, []int{30}, 0.8, 2},
		{"a shift of five, four values ago", []float64{50, 100, 4, 105}, []int{50}, 0.8, 1},
		{"an episode of ten values, by three", []float64{40, 100, 10, 97, 40, 100}, []int{40, 50}, 0.8, 2},
	} {
		within(t, c.name, share(100, 8, func(r *rand.Rand) bool {
			found := indices(ChangePoints(levels(r, c.parts...), ChangeOptions{}))
			if len(found) != len(c.want) {
				return false
			}
			for i, at := range found {
				if math.Abs(float64(at-c.want[i])) > c.off {
					return false
				}
			}
			return true
		}), c.least, 1)
	}
}
