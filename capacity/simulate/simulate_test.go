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
		o := Shard{Workers: workers, Cores: 1, Operations: 60_000, Seed: 1,
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
	o := Shard{Workers: 40, Cores: 2, Operations: 100_000, Seed: 2, Software: software(ms, 0, 0)}.Run()
	near(t, "rate of two busy cores", o.Rate, 2000, 0.001)
	o = Shard{Workers: 1, Cores: 2, Operations: 10_000, Seed: 2, Software: software(ms, 2*ms, ms)}.Run()
	near(t, "rate of one worker", o.Rate, 250, 0.001)
	near(t, "its time", o.Reads.Mean(), float64(3*ms), 0.01)
}

// A constant sync gives 1/S for one client and C/(2S) for more, as measured on a mongod (5.4 ms, 1 to 32 clients).
func TestGroupCommit(t *testing.T) {
	for workers, want := range map[int]float64{1: 1 / 0.0054, 2: 2 / 0.0108, 8: 8 / 0.0108, 32: 32 / 0.0108} {
		o := Shard{Workers: workers, Cores: 2, Writes: 1, Operations: 20_000, Seed: 3,
			Software: software(2*time.Microsecond, 0, 0),
			Sync:     func(*rand.Rand, int) time.Duration { return 5400 * time.Microsecond }}.Run()
		near(t, "rate", o.Rate, want, 0.02)
		near(t, "batch", o.Batch, max(1, float64(workers)/2), 0.01)
	}
}

// With flushes that are mostly fast and sometimes slow, commits of independent clients take a sync, E[S], and the rest
// of the one that runs when they come, E[S²]/(2E[S]). None runs after a sync without an arrival.
func TestSlowSyncs(t *testing.T) {
	o := Shard{Workers: 2000, Cores: 64, Writes: 1, Operations: 100_000, Seed: 4,
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
	o := Shard{Workers: 4, Cores: 2, Writes: 0.5, Operations: 20_000, Seed: 5,
		Software: software(2*time.Microsecond, 0, 0),
		Sync:     func(*rand.Rand, int) time.Duration { return 5 * ms }}.Run()
	if o.Reads.Mean() > 10e3 || o.Writes.Mean() < 5e6 {
		t.Errorf("reads took %.0f ns, writes %.0f ns", o.Reads.Mean(), o.Writes.Mean())
	}
}

// One worker with an open load is M/M/1: at the load ρ, an operation takes D/(1−ρ) on average, and ln 100 times that at
// p99, because its time counts from when it was due.
func TestOpenLoad(t *testing.T) {
	o := Shard{Workers: 1, Rate: 700, Cores: 1, Operations: 300_000, Seed: 6,
		Software: func(r *rand.Rand, _ bool) (time.Duration, time.Duration, time.Duration) {
			return exponential(r, ms), 0, 0
		}}.Run()
	near(t, "rate", o.Rate, 700, 0.02)
	near(t, "mean", o.Reads.Mean()/1e6, 1/0.3, 0.05)
	near(t, "p99", float64(o.Reads.Quantile(0.99))/1e6, math.Log(100)/0.3, 0.08)
}

// Commits of independent clients take a constant sync and, if one runs when they come, the rest of it.
func TestOpenCommits(t *testing.T) {
	s := 5 * ms
	for _, rate := range []float64{20, 200, 2000} {
		o := Shard{Workers: 1000, Rate: rate, Cores: 8, Writes: 1, Operations: 30_000, Seed: 7, Software: software(0, 0, 0),
			Sync: func(*rand.Rand, int) time.Duration { return s }}.Run()
		x := rate * s.Seconds()
		busy := x * math.Exp(x) / (1 + x*math.Exp(x))
		near(t, "mean commit", o.Writes.Mean()/1e6, 5*(1+busy/2), 0.02)
		near(t, "journal", o.Journal, busy, 0.03)
	}
}

// Operations are neither lost nor made: all that began have ended or are waiting, under each kind of load.
func TestConservation(t *testing.T) {
	for _, s := range []Shard{
		{Workers: 7, Writes: 0.5}, {Workers: 3, Rate: 400, Writes: 0.5}, {Workers: 3, Rate: 4000, Writes: 0.5},
		{Workers: 9, Writes: 0.3, Tickets: 2, Misses: 1.5, Depth: 1, Copies: 4, Acks: 2, Shipped: true},
	} {
		s.Cores, s.Operations, s.Seed = 2, 5000, 9
		s.Software = software(ms/10, ms/10, ms/10)
		s.Sync = func(r *rand.Rand, _ int) time.Duration { return exponential(r, ms) }
		s.Read, s.Hop, s.Router = read(ms), draw(ms), draw(ms)
		o := s.Run()
		counted := s.Operations + s.Operations/10
		if o.Issued != o.Ended+o.Waiting || o.Ended != counted || s.Rate == 0 && o.Waiting > s.Workers {
			t.Errorf("%d workers at %g/s: %d issued, %d ended, %d waiting", s.Workers, s.Rate, o.Issued, o.Ended, o.Waiting)
		}
		if again := s.Run(); again.Rate != o.Rate || again.Writes.Quantile(0.99) != o.Writes.Quantile(0.99) {
			t.Errorf("the same seed gives %v/s and %v/s", o.Rate, again.Rate)
		}
		s.Seed++
		if other := s.Run(); other.Rate == o.Rate {
			t.Errorf("another seed gives %v/s too", o.Rate)
		}
	}
}

func draw(mean time.Duration) func(*rand.Rand) time.Duration {
	return func(r *rand.Rand) time.Duration { return exponential(r, mean) }
}

func read(mean time.Duration) func(*rand.Rand, int) time.Duration {
	return func(r *rand.Rand, _ int) time.Duration { return exponential(r, mean) }
}

// M/D/1: half of the wait of M/M/1 (Pollaczek and Khinchine). A disk without a cache in front of it is the server.
func TestConstantReads(t *testing.T) {
	o := Shard{Workers: 1000, Rate: 700, Cores: 1, Operations: 200_000, Seed: 8, Software: software(0, 0, 0),
		Misses: 1, Depth: 1, Read: func(*rand.Rand, int) time.Duration { return ms }}.Run()
	near(t, "mean", o.Reads.Mean()/1e6, 1+0.7/(2*0.3), 0.04)
	near(t, "disk", o.Disk, 0.7, 0.02)
}

// Half of the reads find their page: N workers that think and a disk are the machine repair model.
func TestMachineRepair(t *testing.T) {
	const workers, think, takes = 5, 8.0, 2.0
	o := Shard{Workers: workers, Cores: 1, Operations: 100_000, Seed: 10, Misses: 1, Depth: 1, Read: read(2 * ms),
		Software: func(r *rand.Rand, _ bool) (time.Duration, time.Duration, time.Duration) {
			return 0, 0, exponential(r, 8*ms)
		}}.Run()
	idle, term := 1.0, 1.0 // the sum of N!/(N−k)!·(S/Z)^k is 1/P(idle)
	for k := 1.0; k <= workers; k++ {
		term *= (workers - k + 1) * takes / think
		idle += term
	}
	near(t, "rate", o.Rate, (1-1/idle)/takes*1000, 0.02)
	half := Shard{Workers: 1, Cores: 1, Operations: 50_000, Seed: 10, Misses: 0.5, Depth: 1, Software: software(0, 0, 0),
		Read: func(*rand.Rand, int) time.Duration { return 2 * ms }}.Run()
	near(t, "rate with a cache", half.Rate, 1000, 0.03)
}

// One ticket makes the cores one core. It is given back before the sync.
func TestTickets(t *testing.T) {
	s := Shard{Workers: 8, Cores: 4, Tickets: 1, Operations: 20_000, Seed: 11, Software: software(2*ms, 0, 0)}
	near(t, "rate", s.Run().Rate, 1000, 0.01) // the half after the commit needs none
	s.Writes, s.Sync = 1, func(*rand.Rand, int) time.Duration { return ms / 100 }
	near(t, "rate with syncs", s.Run().Rate, 1000, 0.01)
}

// A write waits for the members that it needs: at the same time as its own sync, or after it.
func TestCopies(t *testing.T) {
	s := Shard{Workers: 1, Cores: 1, Writes: 1, Copies: 2, Acks: 1, Operations: 2000, Seed: 12,
		Software: software(0, 0, 0), Hop: func(*rand.Rand) time.Duration { return ms },
		Sync: func(*rand.Rand, int) time.Duration { return 4 * ms }}
	near(t, "at the same time", s.Run().Rate, 1/0.005, 0.01)
	s.Shipped = true
	near(t, "after it", s.Run().Rate, 1/0.009, 0.01)
	near(t, "lag", s.Run().Lag.Mean()/1e6, 4.5, 0.01)
	s.Acks = 0
	near(t, "without them", s.Run().Rate, 1/0.004, 0.01)
	s.Acks, s.Shipped = 1, false
	s.Hop = draw(10 * ms) // the faster of two exponential times is half as long
	near(t, "the faster one", s.Run().Writes.Mean()/1e6, 9, 0.06)
	s.Acks = 2
	near(t, "the slower one", s.Run().Writes.Mean()/1e6, 19, 0.06)
	s.Acks, s.Hop = 1, func(*rand.Rand) time.Duration { return 0 }
	s.Software = software(0, 0, 20*ms) // no member is late from the write before
	s.Sync = func(r *rand.Rand, _ int) time.Duration { return 1*ms + time.Duration(r.IntN(2))*8*ms }
	near(t, "the own sync counts, and the faster other one", s.Run().Writes.Mean()/1e6, 1+8*(1-0.5*0.75), 0.06)
	s.Acks, s.Sync = 2, func(*rand.Rand, int) time.Duration { return 4 * ms }
	s.Software = software(0, 0, 0)
	s.Hop, s.Router = func(*rand.Rand) time.Duration { return ms }, func(*rand.Rand) time.Duration { return 3 * ms }
	near(t, "with a router", s.Run().Writes.Mean()/1e6, 8, 0.01)
}

// A constant sync gives commits that take one to two of them, whatever the load: the bounds of the group commit.
func TestBoundsOfGroupCommit(t *testing.T) {
	for _, rate := range []float64{10, 100, 1000, 10_000} {
		o := Shard{Workers: 10_000, Rate: rate, Cores: 64, Writes: 1, Operations: 20_000, Seed: 13,
			Software: software(0, 0, 0), Sync: func(*rand.Rand, int) time.Duration { return 5 * ms }}.Run()
		if o.Writes.Min() < int64(5*ms) || o.Writes.Max() > int64(10*ms) {
			t.Errorf("%g/s: commits take %d to %d ns", rate, o.Writes.Min(), o.Writes.Max())
		}
		near(t, "rate", o.Rate, rate, 0.05)
	}
}
