package workload

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

const testSeed = 20240517 // of the statistical tests; fixed, so that they cannot fail by chance

func testRandom() *random {
	var r random
	r.seed(testSeed, forStream, 0)
	return &r
}

// chiSquare compares counts with expected shares and returns the statistic in standard deviations
// above its mean (the normal approximation for many cells).
func chiSquare(counts []int64, shares []float64, total int64) float64 {
	x, cells := 0.0, 0.0
	for i, c := range counts {
		want := shares[i] * float64(total)
		x += (float64(c) - want) * (float64(c) - want) / want
		cells++
	}
	free := cells - 1
	return (x - free) / math.Sqrt(2*free)
}

func TestZipfHasTheRightProbabilities(t *testing.T) {
	const draws = 400_000
	for _, theta := range []float64{0.2, 0.5, 0.99, 1, 1.01, 1.5, 2} {
		for _, n := range []int64{1, 2, 3, 10, 200} {
			z, r := newZipf(n, theta), testRandom()
			counts, shares := make([]int64, n), make([]float64, n)
			zeta := plainSum(1, n, theta)
			for i := range shares {
				shares[i] = math.Pow(float64(i+1), -theta) / zeta
			}
			for range draws {
				counts[z.next(r)]++
			}
			if n == 1 {
				continue
			}
			if s := chiSquare(counts, shares, draws); s > 5 {
				t.Errorf("seed %d, theta %v, n %d: %.1f deviations off", testSeed, theta, n, s)
			}
		}
	}
}

func TestZipfWithExtremeParameters(t *testing.T) {
	for _, theta := range []float64{1e-6, 0.99, 1, 3, 10} {
		for _, n := range []int64{1, 2, 1 << 31, 1 << 53} {
			z, r := newZipf(n, theta), testRandom()
			for range 10_000 {
				if k := z.next(r); k < 0 || k >= n {
					t.Fatalf("theta %v, n %d: drew %d", theta, n, k)
				}
			}
		}
	}
}

// The shares of the hottest key and of the hottest part of the keys under a true zipfian of 0.99.
func TestTrueZipfianShares(t *testing.T) {
	for _, c := range []struct {
		n     int64
		part  float64 // of the keys; 0 for the hottest key alone
		share float64
	}{
		{1e3, 0, .129}, {1e5, 0, .078}, {1e6, 0, .065}, {1e8, 0, .048},
		{1e6, .01, .66}, {1e6, .1, .83}, {1e6, .2, .88}, {1e6, .5, .95},
		{1e8, .01, .74}, {1e8, .1, .87}, {1e8, .2, .91}, {1e8, .5, .96},
	} {
		const draws = 200_000
		z, r := newZipf(c.n, 0.99), testRandom()
		hottest, hits := max(1, int64(c.part*float64(c.n))), 0
		for range draws {
			if z.next(r) < hottest {
				hits++
			}
		}
		if got := float64(hits) / draws; math.Abs(got-c.share) > 0.006 {
			t.Errorf("n %d: the hottest %v of the keys get %.3f, want %.3f", c.n, c.part, got, c.share)
		}
	}
}

func TestScatteredKeepsTheShares(t *testing.T) {
	const n, draws = 1000, 1_000_000
	s, r := newScattered(n, 0.99, testSeed), testRandom()
	counts := make([]int64, n)
	for range draws {
		counts[s.next(r)]++
	}
	slices.SortFunc(counts, func(a, b int64) int { return int(b - a) })
	if top := float64(counts[0]) / draws; math.Abs(top-.129) > .002 {
		t.Errorf("the hottest key gets %.4f, want 0.129", top)
	}
	if counts[n-1] == 0 {
		t.Error("some key is never drawn")
	}
}

func TestScatterIsABijection(t *testing.T) {
	for _, n := range []int64{1, 2, 3, 4, 5, 7, 8, 9, 100, 1000, 1023, 1024, 1025, 65537} {
		for seed := range uint64(5) {
			s := newScatter(n, seed)
			seen := make([]bool, n)
			for i := range n {
				k := s.at(i)
				if k < 0 || k >= n || seen[k] {
					t.Fatalf("n %d, seed %d: place %d gives %d again or outside", n, seed, i, k)
				}
				seen[k] = true
			}
		}
	}
}

// The hottest key may be anywhere: over many seeds its place is uniform, and so is the distance to the
// second hottest one.
func TestScatterSpreadsTheHotKeys(t *testing.T) {
	const n, seeds, cells = 1_000_003, 20_000, 20
	shares := make([]float64, cells)
	for i := range shares {
		shares[i] = 1.0 / cells
	}
	places, distances := make([]int64, cells), make([]int64, cells)
	for seed := range uint64(seeds) {
		s := newScatter(n, seed)
		a, b := s.at(0), s.at(1)
		places[a*cells/n]++
		distances[(a-b+n)%n*cells/n]++
	}
	for name, counts := range map[string][]int64{"places": places, "distances": distances} {
		if d := chiSquare(counts, shares, seeds); d > 5 {
			t.Errorf("%s of the hottest keys are uneven (%.1f deviations): %v", name, d, counts)
		}
	}
}

// hottestShares draws and returns the shares of the requests that go to the hottest parts of n keys.
func hottestShares(c chooser, n int64, draws int, parts ...float64) []float64 {
	r := testRandom()
	counts := make([]int32, n+1)
	for range draws {
		counts[c.next(r)]++
	}
	slices.SortFunc(counts, func(a, b int32) int { return int(b - a) })
	shares := make([]float64, len(parts))
	for i, part := range parts {
		sum := int64(0)
		for _, c := range counts[:max(1, int(part*float64(n)))] {
			sum += int64(c)
		}
		shares[i] = float64(sum) / float64(draws)
	}
	return shares
}

// YCSB's zipfian is much flatter than its name says. The shares were measured with the same formulas in
// Java, over as many draws; the hottest key gets 1/26.469 for any number of records.
func TestYCSBScrambledShares(t *testing.T) {
	const n = 10_000
	parts, want := []float64{0, .01, .10, .20, .50}, []float64{1 / ycsbZetaN, .2296, .3781, .4786, .7127}
	got := hottestShares(newYCSBScrambled(0, n), n, 1_000_000, parts...)
	for i := range parts {
		if math.Abs(got[i]-want[i]) > .004 {
			t.Errorf("the hottest %v of the keys get %.3f, want %.3f", parts[i], got[i], want[i])
		}
	}
	if math.Abs(got[0]-.0378) > .001 {
		t.Errorf("the hottest key gets %.4f, want 0.0378", got[0])
	}
}

func TestYCSBZipfConstants(t *testing.T) {
	z := newYCSBScrambled(0, 1000).zipf
	if math.Abs(z.eta-0.21220003380967) > 1e-13 {
		t.Errorf("eta is %.15g, want 0.21220003380967", z.eta)
	}
	if z.items != ycsbItemCount+1 {
		t.Errorf("items is %d, want 10^10 + 1", z.items)
	}
	if s := fmt.Sprintf("%.11f", z.alpha); s != "100.00000000000" || z.alpha == 100 {
		t.Errorf("alpha is %.17g: it should be 1/(1-0.99) in double arithmetic, close to 100 but not equal", z.alpha)
	}
}

// Growing one by one and growing at once must agree, and keep eta's original number of items.
func TestYCSBZipfGrows(t *testing.T) {
	a, b, r := newYCSBZipf(0, 999), newYCSBZipf(0, 999), testRandom()
	for n := int64(1001); n <= 5000; n++ {
		a.nextOf(n, r)
	}
	b.nextOf(5000, r)
	if math.Abs(a.zetaN/b.zetaN-1) > 1e-12 || math.Abs(a.eta/b.eta-1) > 1e-12 {
		t.Errorf("step by step: zeta %v eta %v, at once: %v and %v", a.zetaN, a.eta, b.zetaN, b.eta)
	}
	if want := powerSum(1, 5000, ycsbTheta); math.Abs(a.zetaN/want-1) > 1e-12 {
		t.Errorf("zeta is %v, want %v", a.zetaN, want)
	}
	eta := (1 - math.Pow(2.0/1000, 1-0.99)) / (1 - powerSum(1, 2, 0.99)/a.zetaN)
	if math.Abs(a.eta/eta-1) > 1e-9 {
		t.Errorf("eta is %v, want %v from the original 1000 items", a.eta, eta)
	}
	if a.nextOf(10, r); a.counted != 5000 {
		t.Errorf("a smaller number shrank the generator to %d", a.counted)
	}
}

func TestYCSBLatest(t *testing.T) {
	last := int64(999)
	c, r := newYCSBLatest(func() int64 { return last }), testRandom()
	counts := make(map[int64]int)
	for range 200_000 {
		k := c.next(r)
		if k < 1 || k > last {
			t.Fatalf("drew %d outside [1, %d]", k, last)
		}
		counts[k]++
	}
	zeta := powerSum(1, 999, 0.99)
	if got := float64(counts[999]) / 200_000; math.Abs(got-1/zeta) > .004 {
		t.Errorf("the newest key gets %.4f, want %.4f", got, 1/zeta)
	}
	last = 1999
	for range 1000 {
		if k := c.next(r); k > last {
			t.Fatalf("drew %d after growing to %d", k, last)
		}
	}
}

func TestYCSBLatestOfFewRecords(t *testing.T) {
	for records := int64(1); records < 5; records++ {
		c, r := newYCSBLatest(func() int64 { return records - 1 }), testRandom()
		for range 1000 {
			if k := c.next(r); k < 0 || k >= records {
				t.Fatalf("%d records: drew %d", records, k)
			}
		}
	}
}
