package procedure_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/simulatedtest"
)

// short keeps simulated trials cheap.
var short = spec.Duration(10 * time.Second)

// trueLevel is the index of the level that the rule chooses without any noise.
func trueLevel(g simulatedtest.Target, levels []int, gain float64) int {
	best := 0.0
	for _, w := range levels {
		best = max(best, g.Throughput(w))
	}
	return slices.IndexFunc(levels, func(w int) bool { return g.Throughput(w) >= (1-gain)*best })
}

func doubled(from, to int) (levels []int) {
	for w := from; w <= to; w *= 2 {
		levels = append(levels, w)
	}
	return levels
}

// The knee is found within one level of the truth, however sharp or soft it is, with noise and drift.
func TestThreadsFindTheKnee(t *testing.T) {
	levels := doubled(1, 2048)
	exact, all := 0, 0
	for _, think := range []time.Duration{0, time.Millisecond, 10 * time.Millisecond} {
		for _, servers := range []int{1, 4, 12, 24} {
			g := simulatedtest.Target{Servers: servers, Think: think, Noise: 0.02, NoiseAR: 0.5, Drift: 0.05,
				Session: 10 * time.Minute, Interval: 10 * time.Second}
			want := trueLevel(g, levels, 0.05)
			for seed := range uint64(25) {
				got, err := findThreads(context.Background(), base(), spec.Threads{To: 2048, Duration: short},
					newTries(t, g, seed).try)
				if err != nil {
					t.Fatal(err)
				}
				i := slices.Index(levels, int(got.Chosen))
				if i < want-1 || i > want+1 || !got.Settled {
					t.Errorf("%d servers, think %v, seed %d: chose %v workers, the truth is %d (settled: %v)\n%s", servers, think, seed, got.Chosen,
						levels[want], got.Settled, got.Reason)
				}
				all++
				if i == want {
					exact++
				}
			}
		}
	}
	if exact < all*3/4 {
		t.Errorf("only %d of %d searches found the very level", exact, all)
	}
}

func TestThreadsTellsHowItChose(t *testing.T) {
	g := simulatedtest.Target{Servers: 8, Think: 3 * time.Millisecond, Interval: 10 * time.Second}
	x := newTries(t, g, 1)
	open := base()
	open.Load.Rate, open.Load.Arrivals, open.Load.Late = 100, "poisson", "queue"
	got, err := findThreads(context.Background(), open, spec.Threads{Duration: short, Trials: 2}, x.try)
	if err != nil {
		t.Fatal(err)
	}
	if got.Chosen != 64 && got.Chosen != 32 || !got.Settled || got.Name != "threads" || got.Path != "load.workers" {
		t.Errorf("%+v", got)
	}
	say(t, got.Rule, "gain less than 5.00 %", "two levels in a row", "fewest")
	say(t, got.Reason, "operations/s", "asymptotes", "32.0 workers")
	if n := len(got.Points); int(got.Points[n-1].Value) != int(got.Chosen)*4 &&
		int(got.Points[n-1].Value) != int(got.Chosen)*2 {
		t.Errorf("the search went to %v workers", got.Points[n-1].Value)
	}
	knees := 0
	for _, p := range got.Points {
		want := g.Throughput(int(p.Value))
		if math.Abs(p.Throughput/want-1) > 1e-3 || p.N != 2 || p.Low == nil || p.P99 == nil || len(p.Trials) != 2 {
			t.Errorf("%v workers: %+v, the truth is %v/s", p.Value, p, want)
		}
		if p.Note == "knee of the curve (Kneedle)" {
			knees++
		}
	}
	if knees != 1 {
		t.Errorf("%d points are marked as the knee", knees)
	}
	for _, s := range x.specs {
		if s.Load.Open() {
			t.Fatal("a search for saturation must be a closed loop")
		}
	}
}

func TestThreadsUntilTheEndOfTheRange(t *testing.T) {
	g := simulatedtest.Target{Servers: 64, Interval: 10 * time.Second}
	for _, c := range []struct {
		levels []spec.Count
		chosen float64
		why    string
	}{
		{[]spec.Count{4, 8, 16}, 16, "still rising at the last level, 16"},
		{[]spec.Count{16, 64, 256}, 64, "only the last level, 256, did not gain enough"},
		{[]spec.Count{8}, 8, "still rising"},
	} {
		got, err := findThreads(context.Background(), base(), spec.Threads{Levels: c.levels, Duration: short,
			Trials: 1}, newTries(t, g, 1).try)
		if err != nil || got.Settled || got.Chosen != c.chosen {
			t.Errorf("%v: %+v, %v", c.levels, got, err)
		}
		say(t, got.Reason, c.why, "Try more workers")
	}
	got, err := findThreads(context.Background(), base(), spec.Threads{From: 100, To: 1000, Duration: short,
		Trials: 1}, newTries(t, g, 1).try)
	if err != nil || !got.Settled || got.Chosen != 100 {
		t.Errorf("%+v, %v", got, err)
	}
	say(t, got.Reason, "the fewest that were tried already saturate")
	if last := got.Points[len(got.Points)-1].Value; last != 400 {
		t.Errorf("the levels went to %v", last)
	}
}

func TestThreadsKeepTheLimitOfTheResponseTime(t *testing.T) {
	g := simulatedtest.Target{Servers: 8, Think: 4 * time.Millisecond, Interval: 10 * time.Second}
	limit := spec.Duration(12 * time.Millisecond)
	got, err := findThreads(context.Background(), base(), spec.Threads{Latency: limit, Duration: short},
		newTries(t, g, 1).try)
	if err != nil || !got.Settled {
		t.Fatalf("%+v, %v", got, err)
	}
	for _, p := range got.Points {
		if p.Value == got.Chosen && *p.P99 > float64(limit) {
			t.Errorf("p99 of the chosen level is %v", *p.P99)
		}
		if *p.P99 > float64(limit) {
			say(t, p.Note, "above the limit of 12.0 ms")
		}
	}
	say(t, got.Rule, "p99 above 12.0 ms", "within the limit")
	got, err = findThreads(context.Background(), base(), spec.Threads{Latency: 1000, Duration: short},
		newTries(t, g, 1).try)
	if err != nil || got.Settled || got.Chosen != 1 || len(got.Points) != 2 {
		t.Errorf("no level keeps the limit: %+v, %v", got, err)
	}
	say(t, got.Reason, "above the limit")
}

// A plateau that the load generator makes is not the target's.
func TestThreadsOfALimitedClient(t *testing.T) {
	g := simulatedtest.Target{Servers: 8, Interval: 10 * time.Second}
	g.Trouble = func(_ int, r study.Request) simulatedtest.Trouble {
		return simulatedtest.Trouble{ClientShare: min(0.95, float64(r.Spec.Load.Workers)/10)}
	}
	got, err := findThreads(context.Background(), base(), spec.Threads{Duration: short}, newTries(t, g, 1).try)
	if err != nil || got.Settled || got.Chosen != 8 {
		t.Errorf("%+v, %v", got, err)
	}
	say(t, got.Reason, "the load generator may be the limit", "client-cpu")
}

// Where trials scatter more than the gain that is looked for, nothing is settled, whatever the means look like.
func TestThreadsOfANoisyTarget(t *testing.T) {
	for seed := range uint64(20) {
		g := simulatedtest.Target{Servers: 4, Noise: 0.3, Interval: 10 * time.Second}
		got, err := findThreads(context.Background(), base(), spec.Threads{Duration: short}, newTries(t, g, seed).try)
		if err != nil || got.Settled || got.Chosen < 1 {
			t.Errorf("seed %d: %+v, %v", seed, got, err)
		}
		say(t, got.Reason, "scatter so much", "is not significant")
	}
}

// Trials that fail are kept, shown and not counted; levels that cannot be had end the search.
func TestThreadsWithFailedTrials(t *testing.T) {
	refused := errors.New("too many connections")
	g := simulatedtest.Target{Servers: 64, Interval: 10 * time.Second,
		Trouble: func(n int, r study.Request) simulatedtest.Trouble {
			switch {
			case r.Spec.Load.Workers > 16:
				return simulatedtest.Trouble{Err: refused}
			case n == 2:
				return simulatedtest.Trouble{Err: errors.New("a cable")}
			case n == 4:
				return simulatedtest.Trouble{Errors: 0.3}
			}
			return simulatedtest.Trouble{}
		}}
	got, err := findThreads(context.Background(), base(), spec.Threads{Duration: short}, newTries(t, g, 1).try)
	if err != nil || got.Chosen != 16 || len(got.Points) != 7 {
		t.Fatalf("%+v, %v", got, err)
	}
	first := got.Points[0]
	if first.N != 2 || len(first.Trials) != 3 {
		t.Errorf("the first level: %+v", first)
	}
	say(t, first.Note, "a cable")
	say(t, got.Points[1].Note, "30.0 % of its operations failed")
	say(t, got.Points[5].Note, refused.Error())
	all := simulatedtest.Target{}
	all.Trouble = func(int, study.Request) simulatedtest.Trouble { return simulatedtest.Trouble{Err: refused} }
	got, err = findThreads(context.Background(), base(), spec.Threads{Duration: short}, newTries(t, all, 1).try)
	if err != nil || got.Settled || got.Chosen != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	say(t, got.Reason, "no level has a result", refused.Error())
}

// Figures over trials: the geometric mean of throughput, the median of the trials' own p99.
func TestPointsOverTrials(t *testing.T) {
	rates, times := []float64{100, 400, 200}, []int64{7, 5, 30}
	n := 0
	got, err := findThreads(context.Background(), base(), spec.Threads{Levels: []spec.Count{1}},
		func(context.Context, spec.Run, string) (study.Result, record.Trial, error) {
			p := record.PhaseResult{Phase: "measure", Ended: measure.Tally{Attempted: 1}, Rates: record.Rates{Achieved: rates[n]}}
			p.All.Response = &record.Latency{P99: &times[n]}
			n++
			return study.Result{Run: &record.Run{Phases: []record.PhaseResult{p}}},
				record.Trial{Status: record.TrialDone, Record: fmt.Sprint(n)}, nil
		})
	if err != nil || len(got.Points) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if p := got.Points[0]; math.Abs(p.Throughput-200) > 1e-9 || *p.P99 != 7 || !(*p.Low < 200 && *p.High > 200) {
		t.Errorf("%+v", p)
	}
}
