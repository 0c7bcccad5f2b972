package simulatedtest

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
)

// closed is a closed loop of so many workers for so long.
func closed(workers int, d time.Duration) spec.Run {
	asked := spec.Run{Target: "null:", Load: spec.Load{Workers: spec.Count(workers), Duration: spec.Duration(d)}}
	asked.Defaults()
	return asked
}

// open is an open loop at a rate.
func open(rate float64, workers int, d time.Duration) spec.Run {
	asked := closed(workers, d)
	asked.Load.Rate, asked.Load.Arrivals, asked.Load.Late = spec.Rate(rate), "constant", "queue"
	return asked
}

func trialOf(t *testing.T, r *Runner, asked spec.Run) study.Result {
	t.Helper()
	got, err := r.Trial(context.Background(), study.Request{Spec: asked})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func near(t *testing.T, what string, got, want, share float64) {
	t.Helper()
	if math.Abs(got/want-1) > share || math.IsNaN(got) {
		t.Errorf("%s is %.6g, want %.6g within %g %%", what, got, want, share*100)
	}
}

// The repairman model against its limits: one worker never waits, many saturate the servers, and the utilisation law
// holds in between.
func TestThroughputOfClosedLoop(t *testing.T) {
	g := Target{Servers: 4, Service: 2 * time.Millisecond, Think: 6 * time.Millisecond}
	near(t, "one worker", g.Throughput(1), 1/0.008, 1e-9)
	near(t, "many workers", g.Throughput(500), g.Limit(), 1e-9)
	last := 0.0
	for n := 1; n <= 64; n++ {
		x := g.Throughput(n)
		if bound := min(float64(n)/0.008, g.Limit()); x > bound*(1+1e-12) || x < last {
			t.Errorf("%d workers: %g/s after %g/s, bounded by %g/s", n, x, last, bound)
		}
		last = x
	}
	// Two workers on one server without the other's help: p0 = 1/(1+2r+2r²), X = (1−p0)/S with r = S/Z.
	one := Target{Servers: 1, Service: time.Millisecond, Think: 2 * time.Millisecond}
	near(t, "two workers on one server", one.Throughput(2), (1-1/(1+2*0.5+2*0.25))*1000, 1e-9)
	near(t, "without think time", Target{Servers: 8}.Throughput(3), 3000, 1e-9)
	near(t, "thrashing", Target{Servers: 8, Thrash: 0.01}.Throughput(18), 8000/1.1, 1e-9)
	if x := (Target{Servers: 64, Think: time.Second}).Throughput(100_000); !(x > 0) || math.IsInf(x, 0) {
		t.Errorf("100,000 workers: %v", x)
	}
}

// An M/M/1 queue has an exponential response time with the rate µ − λ.
func TestResponseOfOpenLoop(t *testing.T) {
	g := Target{Servers: 1, Service: 10 * time.Millisecond}
	for _, rate := range []float64{1, 50, 90, 99} {
		near(t, "p99", g.Response(rate, 0.99).Seconds(), math.Log(100)/(100-rate), 1e-6)
	}
	// Erlang C for 5 servers at 80 %: 0.554.
	near(t, "probability of waiting", newQueue(5, 0.001, 4000).wait, 0.5541, 1e-3)
	c := Target{Servers: 8, Service: time.Millisecond}
	rate := c.Capacity(0.99, 10*time.Millisecond)
	near(t, "p99 at the capacity", c.Response(rate, 0.99).Seconds(), 0.010, 1e-4)
	if c.Response(8000, 0.5) != math.MaxInt64 {
		t.Error("no response time is finite at the limit")
	}
}

func TestClosedLoopTrial(t *testing.T) {
	g := Target{Servers: 4, Service: 2 * time.Millisecond, Think: time.Millisecond}
	got := trialOf(t, New(g, 1), closed(16, 30*time.Second))
	p := got.Run.Phase("measure")
	near(t, "throughput", p.Rates.Achieved, g.Throughput(16), 1e-4)
	near(t, "Little's law", p.LittleInFlight, 16-g.Throughput(16)*0.001, 0.02)
	var ops int64
	for _, c := range p.Classes {
		ops += c.Counts.Succeeded
		if c.Response.Count != c.Counts.Succeeded {
			t.Errorf("%s: %d times of %d operations", c.Name, c.Response.Count, c.Counts.Succeeded)
		}
	}
	if ops != p.Counts.Succeeded || len(p.Classes) != 2 {
		t.Errorf("%d operations in %d classes, %d in all", ops, len(p.Classes), p.Counts.Succeeded)
	}
	for _, f := range got.Run.Validity {
		if f.Severity != measure.Note && f.ID != "too-short" { // a trial is short, and studies ignore that
			t.Errorf("the trial is in doubt: %+v", f)
		}
	}
	seconds, err := got.Seconds()
	if err != nil || len(seconds) != 30 {
		t.Fatalf("%d seconds, %v", len(seconds), err)
	}
	near(t, "rate of a second", seconds[7].Rate, p.Rates.Achieved, 1e-3)
}

func TestOpenLoopTrial(t *testing.T) {
	g := Target{Servers: 8, Service: time.Millisecond}
	objectives := []string{"p99<10ms", "errors<1%", "achieved>=99%"}
	for _, c := range []struct {
		rate float64
		met  bool
	}{{4000, true}, {7000, true}, {7900, false}, {9000, false}} {
		spec := open(c.rate, 64, 20*time.Second)
		spec.Objectives = objectives
		run := trialOf(t, New(g, 1), spec).Run
		p := run.Phase("measure")
		if c.rate < g.Limit() {
			near(t, "achieved", p.Rates.Achieved, c.rate, 1e-6)
		} else {
			near(t, "achieved beyond the limit", p.Rates.Achieved, g.Limit(), 0.01)
		}
		if met := run.Objectives[0].Met; met != c.met {
			t.Errorf("%v/s: p99<10ms met: %v, want %v", c.rate, met, c.met)
		}
	}
}

// One class, so that the percentiles of the run are those of the queue itself.
func TestPercentilesAreThoseOfTheQueue(t *testing.T) {
	g := Target{Servers: 8, Service: time.Millisecond, Classes: []Class{{"read", 1, 1}}}
	for _, rate := range []float64{800, 4000, 7200} {
		p := trialOf(t, New(g, 3), open(rate, 64, 20*time.Second)).Run.Phase("measure")
		near(t, "p50", float64(*p.All.Response.P50), float64(g.Response(rate, 0.5)), 0.002)
		near(t, "p99", float64(*p.All.Response.P99), float64(g.Response(rate, 0.99)), 0.002)
	}
}

func TestEndsByOperations(t *testing.T) {
	spec := closed(8, 0)
	spec.Load.Duration, spec.Load.Operations = 0, 12_345
	run := trialOf(t, New(Target{}, 1), spec).Run
	p := run.Phase("measure")
	if p.Counts.Attempted != 12_345 || run.Course.EndedBy != "operations" {
		t.Errorf("%d operations, ended by %s", p.Counts.Attempted, run.Course.EndedBy)
	}
	near(t, "throughput", p.Rates.Achieved, 8000, 1e-3)
}

// What the course of a session does to throughput, each cause alone.
func TestCourse(t *testing.T) {
	rates := func(g Target, n int, asked spec.Run) (list []float64) {
		r := New(g, 1)
		for range n {
			list = append(list, trialOf(t, r, asked).Run.Phase("measure").Rates.Achieved)
		}
		return list
	}
	minute := closed(8, time.Minute)
	drift := rates(Target{Drift: 0.1, Session: 10 * time.Minute, Interval: time.Minute}, 11, minute)
	near(t, "drift over the session", drift[10]/drift[0], 1.1, 1e-3)
	near(t, "checkpoints", rates(Target{Checkpoint: 0.5}, 1, minute)[0], 8000*0.95, 1e-3)
	near(t, "warm-up", rates(Target{Warmup: 0.3, WarmupTime: time.Minute}, 1, minute)[0], 8000*(1-0.3*(1-math.Exp(-1))), 1e-3)
	warm := minute
	warm.Load.Warmup = spec.Duration(10 * time.Minute)
	near(t, "after the warm-up", rates(Target{Warmup: 0.3, WarmupTime: time.Minute, Interval: 10 * time.Second}, 1, warm)[0], 8000, 1e-3)
	near(t, "an effect", rates(Target{Effects: []Effect{{Durability("durable"), 1.05}}}, 1, minute)[0], 8400, 1e-3)
	near(t, "no effect", rates(Target{Effects: []Effect{{Durability("balanced"), 1.05}, {Param("x", "1"), 2}}}, 1, minute)[0], 8000, 1e-3)
	fine := Target{Checkpoint: 0.5, Warmup: 0.3, WarmupTime: 20 * time.Second}
	coarse := fine
	coarse.Interval = time.Minute
	// In one long interval the causes are taken as independent of each other.
	near(t, "one interval instead of sixty", rates(coarse, 1, minute)[0], rates(fine, 1, minute)[0], 0.03)
}

// The noise has the spread and the correlation that it was given.
func TestNoise(t *testing.T) {
	g := Target{Noise: 0.02, NoiseAR: 0.7, Interval: 10 * time.Second}
	r := New(g, 7)
	var logs []float64
	for range 2000 {
		logs = append(logs, math.Log(trialOf(t, r, closed(8, 10*time.Second)).Run.Phase("measure").Rates.Achieved/8000))
	}
	sum, lag := 0.0, 0.0
	for i, x := range logs {
		sum += x * x
		if i > 0 {
			lag += x * logs[i-1]
		}
	}
	near(t, "standard deviation", math.Sqrt(sum/float64(len(logs))), 0.02, 0.08)
	near(t, "correlation", lag/sum, 0.7, 0.08)
}

func TestSameSeedSameTrials(t *testing.T) {
	g := Target{Noise: 0.05, SecondNoise: 0.02, SecondAR: 0.5, TailNoise: 0.1, Checkpoint: 0.3}
	results := func(seed uint64) (list []float64) {
		r := New(g, seed)
		for i := range 5 {
			spec := closed(8, 10*time.Second)
			if i%2 == 1 {
				spec = open(5000, 8, 10*time.Second)
				spec.Load.Arrivals = "poisson"
			}
			p := trialOf(t, r, spec).Run.Phase("measure")
			list = append(list, p.Rates.Achieved, float64(*p.All.Response.P99))
		}
		return list
	}
	if d := cmp.Diff(results(1), results(1)); d != "" {
		t.Errorf("the same seed gives other trials:\n%s", d)
	}
	if slices.Equal(results(1), results(2)) {
		t.Error("another seed gives the same trials")
	}
}

func TestTrouble(t *testing.T) {
	broken := errors.New("broken")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r := New(Target{Trouble: func(n int, _ study.Request) Trouble {
		if n == 2 {
			cancel() // when the trial has begun: one that has not is not counted
		}
		return map[int]Trouble{1: {Err: broken}, 2: {Hang: true}, 3: {Errors: 0.2}, 4: {Slow: 2}, 5: {ClientShare: 0.95}}[n]
	}}, 1)
	spec := closed(8, 10*time.Second)
	if _, err := r.Trial(context.Background(), study.Request{Spec: spec}); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if _, err := r.Trial(ctx, study.Request{Spec: spec}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	p := trialOf(t, r, spec).Run.Phase("measure")
	near(t, "failed operations", float64(p.Counts.Failed)/float64(p.Counts.Attempted), 0.2, 0.01)
	near(t, "half the speed", trialOf(t, r, spec).Run.Phase("measure").Rates.Achieved, 4000, 0.001)
	if f := trialOf(t, r, spec).Run.Validity; len(f) == 0 || f[0].ID != "client-cpu" || f[0].Severity != measure.Invalid {
		t.Errorf("a client at its limit: %+v", f)
	}
	if r.Trials() != 5 {
		t.Errorf("%d trials", r.Trials())
	}
}

func TestClock(t *testing.T) {
	r := New(Target{Overhead: 3 * time.Second}, 1)
	asked := closed(8, 10*time.Second)
	asked.Load.Warmup = spec.Duration(5 * time.Second)
	run := trialOf(t, r, asked).Run
	if !run.Started.Equal(Epoch) || !run.Ended.Equal(Epoch.Add(15*time.Second)) {
		t.Errorf("from %v to %v", run.Started, run.Ended)
	}
	if err := r.Clock().Sleep(context.Background(), time.Hour); err != nil {
		t.Error(err)
	}
	if got, want := r.Clock().Now(), Epoch.Add(time.Hour+18*time.Second); !got.Equal(want) {
		t.Errorf("it is %v, want %v", got, want)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.Clock().Sleep(ctx, time.Second); err == nil {
		t.Error("a cancelled sleep succeeds")
	}
}

// A written trial is a record like any other: reading it gives what the trial returned.
func TestWrittenRecord(t *testing.T) {
	r := New(Target{Noise: 0.01, Checkpoint: 0.2}, 5)
	r.Write = true
	spec := closed(8, 20*time.Second)
	spec.Objectives = []string{"p99<1s"}
	dir := t.TempDir() + "/trial"
	got, err := r.Trial(context.Background(), study.Request{Spec: spec, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	read, err := record.OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(got.Run.Phases, read.Phases); d != "" {
		t.Errorf("the record differs:\n%s", d)
	}
	r2 := New(Target{Noise: 0.01, Checkpoint: 0.2}, 5)
	same := trialOf(t, r2, spec)
	if d := cmp.Diff(same.Run.Phases, read.Phases); d != "" {
		t.Errorf("a written trial differs from one that is not written:\n%s", d)
	}
	if d := cmp.Diff(same.Run.Objectives, read.Objectives); d != "" {
		t.Errorf("objectives differ:\n%s", d)
	}
}

func BenchmarkTrial(b *testing.B) {
	for _, c := range []struct {
		name     string
		interval time.Duration
		spec     spec.Run
	}{{"60s", time.Second, closed(8, time.Minute)}, {"once", time.Minute, closed(8, time.Minute)},
		{"open", time.Minute, open(5000, 8, time.Minute)}} {
		b.Run(c.name, func(b *testing.B) {
			r := New(Target{Noise: 0.01, Interval: c.interval}, 1)
			for b.Loop() {
				if _, err := r.Trial(context.Background(), study.Request{Spec: c.spec}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
