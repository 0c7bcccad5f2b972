package load

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

func dues(cfg Config, n int) []int64 {
	a := newArrivals(cfg, math.MaxInt64)
	out := make([]int64, n)
	for i := range out {
		out[i] = a.next()
	}
	return out
}

func TestConstantArrivalsAreExact(t *testing.T) {
	for _, rate := range []float64{1, 3, 1000, 20000, 1e6} {
		for i, due := range dues(Config{Rate: rate}, 5000) {
			if want := int64(math.Round(float64(i) / rate * 1e9)); due != want {
				t.Fatalf("rate %g: operation %d is due at %d ns, want %d", rate, i, due, want)
			}
		}
	}
}

// cumulative integrates the rate numerically, without the formula under test.
func cumulative(cfg Config, t float64) float64 {
	const slices = 200_000
	var sum float64
	for i := range slices {
		sum += rateAt(cfg, (float64(i)+0.5)/slices*t)
	}
	return sum * t / slices
}

func rateAt(cfg Config, t float64) float64 {
	rate, at := cfg.startRate(), cfg.Warmup.Seconds()
	if t < at {
		return rate
	}
	for _, s := range cfg.Stages {
		d := s.Duration.Seconds()
		if t < at+d {
			if s.Step {
				return s.Rate
			}
			return rate + (s.Rate-rate)*(t-at)/d
		}
		rate, at = s.Rate, at+d
	}
	return rate
}

func TestStagesFollowTheRate(t *testing.T) {
	for name, cfg := range map[string]Config{
		"ramp up from rest": {Stages: []Stage{{Duration: 10 * time.Second, Rate: 100}}},
		"ramp down to rest": {Rate: 200, Stages: []Stage{{Duration: 10 * time.Second}}},
		"steps with a pause": {Rate: 50, Stages: []Stage{{Duration: 3 * time.Second, Rate: 100, Step: true},
			{Duration: 2 * time.Second, Step: true}, {Duration: 5 * time.Second, Rate: 10, Step: true}}},
		"all after a warm-up": {Rate: 20, Warmup: 2 * time.Second, Stages: []Stage{{Duration: 4 * time.Second, Rate: 300},
			{Duration: 4 * time.Second, Rate: 30}}},
	} {
		t.Run(name, func(t *testing.T) {
			a := newArrivals(cfg, math.MaxInt64)
			last := int64(-1)
			for i := range 400 {
				due := a.next()
				if due == never {
					break
				}
				if due < last {
					t.Fatalf("operation %d is due before the one ahead of it", i)
				}
				last = due
				if i%37 != 0 {
					continue
				}
				if got := cumulative(cfg, float64(due)/1e9); math.Abs(got-float64(i)) > 0.01 {
					t.Errorf("operation %d is due at %v, when %.3f operations are", i, time.Duration(due), got)
				}
			}
		})
	}
}

func TestNothingIsDueInAPause(t *testing.T) {
	cfg := Config{Rate: 100, Stages: []Stage{{Duration: time.Second, Rate: 100, Step: true},
		{Duration: time.Second, Step: true}, {Duration: time.Second, Rate: 100, Step: true}}}
	got := dues(cfg, 101)
	if got[99] != int64(990*time.Millisecond) || got[100] != int64(2*time.Second) {
		t.Errorf("operations 99 and 100 are due at %v and %v, want 990ms and 2s", time.Duration(got[99]), time.Duration(got[100]))
	}
	if last := dues(Config{Rate: 10, Stages: []Stage{{Duration: time.Second, Step: true}}}, 1); last[0] != never {
		t.Errorf("an operation is due at %v although the rate is 0 for ever", time.Duration(last[0]))
	}
}

// TestPoissonArrivals holds the distances against the exponential distribution: mean, variance, and the
// Kolmogorov–Smirnov distance with its critical value for α = 0.001, 1.949/√n. The seed is fixed, so
// the test cannot fail by chance.
func TestPoissonArrivals(t *testing.T) {
	const n, rate, seed = 200_000, 5000.0, 42
	t.Logf("seed %d", seed)
	due := dues(Config{Rate: rate, Arrivals: Poisson, Seed: seed}, n)
	gaps := make([]float64, n)
	last := int64(0)
	var sum, squares float64
	for i, d := range due {
		gaps[i] = float64(d-last) / 1e9 * rate // in units of the mean
		last = d
		sum += gaps[i]
		squares += gaps[i] * gaps[i]
	}
	mean := sum / n
	if math.Abs(mean-1) > 4/math.Sqrt(n) {
		t.Errorf("mean distance is %.4f of 1/rate", mean)
	}
	if v := squares/n - mean*mean; math.Abs(v-1) > 4*math.Sqrt(8.0/n) {
		t.Errorf("variance is %.4f of 1/rate²", v)
	}
	slices.Sort(gaps)
	var distance float64
	for i, g := range gaps {
		f := 1 - math.Exp(-g)
		distance = max(distance, math.Abs(f-float64(i)/n), math.Abs(f-float64(i+1)/n))
	}
	if distance > 1.949/math.Sqrt(n) {
		t.Errorf("Kolmogorov–Smirnov distance %.5f from the exponential distribution", distance)
	}
}

func TestPoissonFollowsARamp(t *testing.T) {
	cfg := Config{Arrivals: Poisson, Seed: 7, Stages: []Stage{{Duration: 10 * time.Second, Rate: 2000}}}
	c := newCounter(newArrivals(cfg, math.MaxInt64), 0)
	for _, s := range []float64{2, 5, 10} {
		want := 100 * s * s // ∫ 200u du
		got := float64(c.before(int64(s * 1e9))[measured])
		if math.Abs(got-want) > 4*math.Sqrt(want) {
			t.Errorf("%.0f operations until %gs, want about %.0f", got, s, want)
		}
	}
}

func TestScheduleRepeats(t *testing.T) {
	cfg := Config{Rate: 1000, Arrivals: Poisson, Seed: 1}
	other := cfg
	other.Seed = 2
	a, b, c := dues(cfg, 100), dues(cfg, 100), dues(other, 100)
	if !slices.Equal(a, b) {
		t.Error("the same seed gave other arrivals")
	}
	if slices.Equal(a, c) {
		t.Error("another seed gave the same arrivals")
	}
}

func TestScheduleGivesEachTicketOnce(t *testing.T) {
	cfg := Config{Rate: 1e6, Arrivals: Poisson, Seed: 3}
	const workers, each = 8, 5000
	s := newSchedule(newArrivals(cfg, math.MaxInt64))
	var mu sync.Mutex
	var got []int64
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			mine := make([]int64, 0, each)
			for range each {
				_, due := s.draw()
				mine = append(mine, due)
			}
			if !slices.IsSorted(mine) {
				t.Error("a worker got operations out of order")
			}
			mu.Lock()
			got = append(got, mine...)
			mu.Unlock()
		})
	}
	group.Wait()
	slices.Sort(got)
	if !slices.Equal(got, dues(cfg, workers*each)) {
		t.Error("the operations taken are not those of the schedule")
	}
}

func TestScheduleSkipsWhileWorkersTake(t *testing.T) {
	cfg := Config{Rate: 1e6}
	const total = 20_000
	s := newSchedule(newArrivals(cfg, total))
	var group sync.WaitGroup
	var taken, skipped int64
	group.Go(func() {
		for _, due := s.draw(); due != never; _, due = s.draw() {
			taken++
		}
	})
	group.Go(func() {
		for i := int64(0); i < total; i += 100 {
			early, late := s.skip(i*1000, 5000*1000)
			skipped += early + late
		}
	})
	group.Wait()
	if taken+skipped != total {
		t.Errorf("%d taken and %d skipped of %d", taken, skipped, total)
	}
}

func TestScheduleLimit(t *testing.T) {
	s := newSchedule(newArrivals(Config{Rate: 10}, 3))
	for i, want := range []int64{0, 1e8, 2e8, never, never} {
		if _, got := s.draw(); got != want {
			t.Errorf("ticket %d is due at %d, want %d", i, got, want)
		}
	}
}

func TestUserSteps(t *testing.T) {
	s := time.Second
	cfg := Config{Workers: 0, Warmup: 0, Stages: []Stage{{Duration: 4 * s, Workers: 4}, {Duration: 10 * s, Workers: 4},
		{Duration: 2 * s, Workers: 0}, {Workers: 2, Step: true}}}
	want := []userStep{{0, 0}, {int64(1 * s), 1}, {int64(2 * s), 2}, {int64(3 * s), 3}, {int64(4 * s), 4},
		{int64(14*s + s/2), 3}, {int64(15 * s), 2}, {int64(15*s + s/2), 1}, {int64(16 * s), 0}, {int64(16 * s), 2}}
	if got := userSteps(cfg); !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

func TestPaceTicks(t *testing.T) {
	p := paceTicks{start: 100, tick: ticksFor(1e8)} // 10 ns
	for at, want := range map[int64]int64{0: 0, 100: 0, 101: 1, 110: 1, 111: 2, 200: 10} {
		if got := p.before(at); got != want {
			t.Errorf("%d ticks before %d, want %d", got, at, want)
		}
	}
	if got := ticksFor(3); got != 333_333_333 {
		t.Errorf("tick of 3/s is %d ns, want it cut to 333333333", got)
	}
}

// FuzzCurve checks for arbitrary stages that due times never decrease and the curve never breaks.
func FuzzCurve(f *testing.F) {
	f.Add(uint64(1), uint8(3))
	f.Add(uint64(99), uint8(0))
	f.Fuzz(func(t *testing.T, seed uint64, stages uint8) {
		rng := rand.New(rand.NewPCG(seed, 1))
		cfg := Config{Rate: rng.Float64() * 1000, Seed: seed, Arrivals: Arrivals(rng.IntN(2))}
		for range stages % 8 {
			st := Stage{Duration: time.Duration(rng.Int64N(int64(3 * time.Second))), Step: rng.IntN(2) == 0}
			if rng.IntN(3) > 0 {
				st.Rate = rng.Float64() * 1000
			}
			cfg.Stages = append(cfg.Stages, st)
		}
		if !slices.IsSorted(dues(cfg, 3000)) {
			t.Errorf("due times decrease for %+v", cfg)
		}
	})
}
