package simulate

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

const ms = time.Millisecond

func near(t *testing.T, what string, got, want, by float64) {
	t.Helper()
	if math.Abs(got/want-1) > by {
		t.Errorf("%s: %g, want %g within %g %%", what, got, want, 100*by)
	}
}

func exponential(r *rand.Rand, mean time.Duration) time.Duration {
	return time.Duration(r.ExpFloat64() * float64(mean))
}

func software(computes, waits, thinks time.Duration) func(*rand.Rand, bool) (_, _, _ time.Duration) {
	return func(*rand.Rand, bool) (time.Duration, time.Duration, time.Duration) { return computes, waits, thinks }
}

// A closed network with exponential times has the throughput of mean value analysis (Reiser and Lavenberg 1980).
func TestClosedNetwork(t *testing.T) {
	for _, workers := range []int{1, 3, 10} {
		o := Server{Workers: workers, Cores: 1, Operations: 60_000, Seed: 1,
			Software: func(r *rand.Rand, _ bool) (time.Duration, time.Duration, time.Duration) {
				return 2 * exponential(r, ms/2), 0, exponential(r, 4*ms) // which is served in two halves
			}}.Run()
		// One station with D = 1 ms in two visits, think time 4 ms.
		queue, x := 0.0, 0.0
		for n := 1.0; n <= float64(workers); n++ {
			r := 0.001 * (1 + queue)
			x = n / (r + 0.004)
			queue = x * r
		}
		near(t, "rate", o.Rate, x, 0.03)
		near(t, "cores", o.Cores, x*0.001, 0.03)
	}
}

// Two cores carry what M/M/2 with a finite population carries.
func TestCores(t *testing.T) {
	o := Server{Workers: 40, Cores: 2, Operations: 100_000, Seed: 2, Software: software(ms, 0, 0)}.Run()
	near(t, "rate of two busy cores", o.Rate, 2000, 0.001)
	o = Server{Workers: 1, Cores: 2, Operations: 10_000, Seed: 2, Software: software(ms, 2*ms, ms)}.Run()
	near(t, "rate of one worker", o.Rate, 250, 0.001)
	near(t, "its time", o.Reads.Mean(), float64(3*ms), 0.01)
}

// A constant sync gives 1/S for one client and C/(2S) for more, as measured on a mongod (5.4 ms, 1 to 32 clients).
func TestGroupCommit(t *testing.T) {
	for workers, want := range map[int]float64{1: 1 / 0.0054, 2: 2 / 0.0108, 8: 8 / 0.0108, 32: 32 / 0.0108} {
		o := Server{Workers: workers, Cores: 2, Writes: 1, Operations: 20_000, Seed: 3,
			Software: software(2*time.Microsecond, 0, 0),
			Sync:     func(*rand.Rand, int) time.Duration { return 5400 * time.Microsecond }}.Run()
		near(t, "rate", o.Rate, want, 0.02)
		near(t, "batch", o.Batch, max(1, float64(workers)/2), 0.01)
	}
}

// With flushes that are mostly fast and sometimes slow, commits of independent clients take a sync, E[S], and the rest
// of the one that runs when they come, E[S²]/(2E[S]). None runs after a sync without an arrival.
func TestSlowSyncs(t *testing.T) {
	o := Server{Workers: 2000, Cores: 64, Writes: 1, Operations: 100_000, Seed: 4,
		Software: func(r *rand.Rand, _ bool) (time.Duration, time.Duration, time.Duration) {
			return 0, 0, exponential(r, 2*time.Second)
		},
		Sync: func(r *rand.Rand, _ int) time.Duration {
			if r.Float64() < 0.08 {
				return 97 * ms
			}
			return 200 * time.Microsecond
		}}.Run()
	mean := 0.08*97 + 0.92*0.2
	square := 0.08*97*97 + 0.92*0.04
	idle := 0.92 * math.Exp(-0.2) // ms for each sync, at one arrival per ms
	near(t, "mean commit", o.Writes.Mean()/1e6, mean+mean/(mean+idle)*square/(2*mean), 0.05)
}

// Reads do not wait for syncs.
func TestMixedLoad(t *testing.T) {
	o := Server{Workers: 4, Cores: 2, Writes: 0.5, Operations: 20_000, Seed: 5,
		Software: software(2*time.Microsecond, 0, 0),
		Sync:     func(*rand.Rand, int) time.Duration { return 5 * ms }}.Run()
	if o.Reads.Mean() > 10e3 || o.Writes.Mean() < 5e6 {
		t.Errorf("reads took %.0f ns, writes %.0f ns", o.Reads.Mean(), o.Writes.Mean())
	}
}

// Operations are neither lost nor made: all that began have ended or have a worker.
func TestConservation(t *testing.T) {
	for _, s := range []Server{{Workers: 7, Writes: 0.5}, {Workers: 3}, {Workers: 9, Writes: 1}} {
		s.Cores, s.Operations, s.Seed = 2, 5000, 9
		s.Software = software(ms/10, ms/10, ms/10)
		s.Sync = func(r *rand.Rand, _ int) time.Duration { return exponential(r, ms) }
		o := s.Run()
		counted := s.Operations + s.Operations/10
		if waiting := o.Issued - o.Ended; o.Ended != counted || waiting < 0 || waiting > s.Workers {
			t.Errorf("%d workers: %d issued, %d ended", s.Workers, o.Issued, o.Ended)
		}
		if again := s.Run(); again.Rate != o.Rate || again.Writes.Quantile(0.99) != o.Writes.Quantile(0.99) {
			t.Errorf("the same seed gives %v/s and %v/s", o.Rate, again.Rate)
		}
		if s.Writes > 0 {
			s.Seed++
			if other := s.Run(); other.Rate == o.Rate {
				t.Errorf("another seed gives %v/s too", o.Rate)
			}
		}
	}
}
