package procedure_test

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/simulatedtest"
)

// queueing is a target whose capacity is known: one class, so that the percentiles of a run are those of the queue.
var queueing = simulatedtest.Target{Servers: 8, Interval: 10 * time.Second,
	Classes: []simulatedtest.Class{{Name: "read", Share: 1, Time: 1}}}

var tenMillis = []string{"p99<10ms", "errors<1%"}

// capacityOf searches with so many workers.
func capacityOf(t *testing.T, x *tries, workers int, objectives []string,
	asked spec.CapacitySearch) record.CapacityResult {
	t.Helper()
	b := base()
	b.Load.Workers = spec.Count(workers)
	if asked.Duration == 0 {
		asked.Duration = short
	}
	got, err := findCapacity(context.Background(), b, objectives, asked, x.try)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// Without noise the search ends at most one step below the truth, wherever it begins and whatever the arrivals do.
func TestCapacityIsTheTruth(t *testing.T) {
	for _, servers := range []int{1, 8, 40} {
		g := queueing
		g.Servers = servers
		for _, limit := range []time.Duration{5 * time.Millisecond, 20 * time.Millisecond} {
			want := g.Capacity(0.99, limit)
			for i, from := range []spec.Rate{0, 10, spec.Rate(want * 0.9), spec.Rate(want * 8)} {
				got := capacityOf(t, newTries(t, g, uint64(i)), 1000, []string{"p99<" + limit.String()},
					spec.CapacitySearch{From: from})
				if got.Rate > want*1.005 || got.Rate < want/1.035 || !got.Confirmed || got.AtLeast {
					t.Errorf("%d servers, p99<%v, from %v: found %v/s (confirmed: %v), the truth is %.5g/s\n%s", servers, limit, from, got.Rate,
						got.Confirmed, want, got.Reason)
				}
			}
		}
	}
}

// With noise every trial that counts must hold, so the result lies below the truth by the steps that noise takes, and
// hardly ever above it.
func TestCapacityWithNoise(t *testing.T) {
	g := queueing
	g.Noise, g.Drift, g.Session = 0.01, -0.02, 10*time.Minute
	want := g.Capacity(0.99, 10*time.Millisecond)
	const seeds = 100
	var rates []float64
	trials := 0
	for seed := range uint64(seeds) {
		got := capacityOf(t, newTries(t, g, seed), 256, tenMillis, spec.CapacitySearch{})
		rates = append(rates, got.Rate/want)
		trials += len(got.Steps)
		if !got.Confirmed || got.Low == nil || *got.Low < 0.99*got.Rate || *got.Low > got.Rate {
			t.Errorf("seed %d: %+v", seed, got)
		}
	}
	slices.Sort(rates)
	if rates[0] < 0.90 || rates[seeds/20] < 0.93 || rates[seeds/2] < 0.965 || rates[seeds-1] > 1.01 {
		t.Errorf("of the true capacity: lowest %.3f, 5 %% %.3f, median %.3f, highest %.3f", rates[0], rates[seeds/20], rates[seeds/2], rates[seeds-1])
	}
	if trials > 25*seeds {
		t.Errorf("%d trials for %d searches", trials, seeds)
	}
}

// What is reported was measured: there are as many fresh trials of the rate as were asked for, all of which hold.
func TestCapacityIsMeasured(t *testing.T) {
	g := queueing
	g.Noise = 0.02
	orders := map[string]bool{}
	for seed := range uint64(20) {
		x := newTries(t, g, seed)
		b := base()
		b.Load.Workers, b.Workload.Seed = 256, seed
		got, err := findCapacity(context.Background(), b, tenMillis, spec.CapacitySearch{Duration: short, Confirm: 4}, x.try)
		if err != nil || !got.Confirmed {
			t.Fatalf("seed %d: %+v, %v", seed, got, err)
		}
		held, order, aside := 0, "", 0
		for _, s := range got.Steps[len(got.Steps)-8:] {
			switch {
			case s.Phase != "confirm":
				t.Errorf("a trial of the phase %s among the last ones", s.Phase)
			case s.Offered == got.Rate && s.Holds:
				held++
				order += "="
			case math.Abs(s.Offered/got.Rate-0.9) < 0.01:
				order += "-"
				aside++
			case math.Abs(s.Offered/got.Rate-1.1) < 0.01:
				order += "+"
				aside++
			}
		}
		if held != 4 || aside != 4 {
			t.Errorf("seed %d: confirmed by the trials %s", seed, order)
		}
		orders[order] = true
	}
	if len(orders) < 8 {
		t.Errorf("20 searches confirm in only %d orders: %v", len(orders), orders)
	}
}

func TestCapacityBeyondTheHighestRate(t *testing.T) {
	got := capacityOf(t, newTries(t, queueing, 1), 256, tenMillis, spec.CapacitySearch{From: 100, To: 3000})
	if got.Rate != 3000 || !got.Confirmed || !got.AtLeast {
		t.Errorf("%+v", got)
	}
	say(t, got.Reason, "3,000/s held in 3 confirming trials", "the capacity is higher")
	for _, s := range got.Steps {
		if s.Offered > 3000 {
			t.Errorf("%v/s was offered", s.Offered)
		}
	}
}

func TestNothingHolds(t *testing.T) {
	got := capacityOf(t, newTries(t, queueing, 1), 256, []string{"p99<10us"}, spec.CapacitySearch{})
	if got.Rate != 0 || got.Confirmed || got.AtLeast || got.Low != nil {
		t.Errorf("%+v", got)
	}
	say(t, got.Reason, "not even", "p99<10us was missed with")
	if s := got.Steps[0]; s.Phase != "probe" || math.Abs(s.Achieved-8000) > 10 || !s.Holds {
		t.Errorf("the first step: %+v", s)
	}
	unknown := capacityOf(t, newTries(t, queueing, 1), 256, []string{"p99.99<1s"}, spec.CapacitySearch{From: 10, To: 100})
	if unknown.Rate != 0 || len(unknown.Steps) != 7 {
		t.Errorf("an unknown objective holds: %+v", unknown)
	}
	say(t, unknown.Reason, "no trial had enough operations", "too few", "use longer trials")
}

// A miss that the load generator may have caused says nothing about the target.
func TestCapacityOfALimitedClient(t *testing.T) {
	g := queueing
	g.Trouble = func(_ int, r study.Request) simulatedtest.Trouble {
		if r.Spec.Load.Rate > 4000 {
			return simulatedtest.Trouble{ClientShare: 0.95, Slow: 3}
		}
		return simulatedtest.Trouble{}
	}
	got := capacityOf(t, newTries(t, g, 1), 256, tenMillis, spec.CapacitySearch{})
	if got.Rate > 4000 || got.Rate < 3800 || !got.AtLeast || !got.Confirmed {
		t.Errorf("%+v", got)
	}
	say(t, got.Reason, "the load generator may be the limit (client-cpu", "at least this")
	for _, s := range got.Steps {
		if s.Phase != "probe" && !s.Holds {
			say(t, s.Missed, "oad generator may be the reason (client-cpu)")
		}
	}
}

// One disturbance of the machine does not end the search, neither in the ramp nor in the bisection.
func TestCapacityAfterADisturbance(t *testing.T) {
	want := queueing.Capacity(0.99, 10*time.Millisecond)
	for disturbed := 2; disturbed < 12; disturbed++ {
		g := queueing
		g.Trouble = func(n int, _ study.Request) simulatedtest.Trouble {
			if n == disturbed {
				return simulatedtest.Trouble{Slow: 5}
			}
			return simulatedtest.Trouble{}
		}
		got := capacityOf(t, newTries(t, g, 1), 256, tenMillis, spec.CapacitySearch{})
		if got.Rate < want*0.93 || got.Rate > want*1.005 || !got.Confirmed {
			t.Errorf("trial %d disturbed: found %v/s, the truth is %.5g/s: %s", disturbed, got.Rate, want, got.Reason)
		}
	}
}

// Where results scatter too much for any rate to hold every time, the search says so instead of naming one, and whose
// fault it may be.
func TestCapacityOfANoisyClient(t *testing.T) {
	g := queueing
	g.Noise = 0.01
	g.Trouble = func(n int, _ study.Request) simulatedtest.Trouble {
		if n > 2 && n%3 != 0 {
			return simulatedtest.Trouble{Slow: 100, ClientShare: 0.95}
		}
		return simulatedtest.Trouble{}
	}
	got := capacityOf(t, newTries(t, g, 1), 256, tenMillis, spec.CapacitySearch{})
	if got.Rate != 0 || got.Confirmed || len(got.Steps) > 60 {
		t.Errorf("%+v", got)
	}
	say(t, got.Reason, "no rate was confirmed", "scatter too much", "load generator", "client-cpu")
}

// Failed operations are missed objectives, and a trial that ends badly is a miss that is told.
func TestCapacityWithFailures(t *testing.T) {
	g := queueing
	g.Trouble = func(_ int, r study.Request) simulatedtest.Trouble {
		switch {
		case r.Spec.Load.Rate > 5500:
			return simulatedtest.Trouble{Err: context.DeadlineExceeded}
		case r.Spec.Load.Rate > 5000:
			return simulatedtest.Trouble{Errors: 0.05}
		}
		return simulatedtest.Trouble{}
	}
	got := capacityOf(t, newTries(t, g, 1), 256, []string{"p99<10ms"}, spec.CapacitySearch{})
	if got.Rate > 5000 || got.Rate < 4800 || got.AtLeast {
		t.Errorf("%+v", got)
	}
	say(t, got.Reason, "% of its operations failed", "of the offered operations succeeded in time")
	ended := false
	for _, s := range got.Steps {
		ended = ended || s.Offered > 5500 && s.Missed == context.DeadlineExceeded.Error()
	}
	if !ended {
		t.Errorf("no step tells of the deadline: %+v", got.Steps)
	}
	g.Trouble = func(int, study.Request) simulatedtest.Trouble {
		return simulatedtest.Trouble{Err: context.DeadlineExceeded}
	}
	if got = capacityOf(t, newTries(t, g, 1), 256, nil, spec.CapacitySearch{}); got.Rate != 0 || len(got.Steps) != 1 {
		t.Errorf("%+v", got)
	}
	say(t, got.Reason, "Set the rate from which to search")
}

// With too few workers they are the limit, which the result says; and an objective for the rate is what the capacity
// answers, not a condition that low rates miss.
func TestCapacityOfFewWorkers(t *testing.T) {
	got := capacityOf(t, newTries(t, queueing, 1), 4, []string{"p99<10ms", "rate>1000"}, spec.CapacitySearch{From: 100})
	if got.Rate > 4000 || got.Rate < 3000 || !got.Confirmed {
		t.Errorf("%+v", got)
	}
	if !slices.Equal(got.Objectives, []string{"p99<10ms", "rate>1000"}) {
		t.Errorf("objectives %q", got.Objectives)
	}
	// Beyond the capacity everybody is busy, which a search without a limit of response times runs into.
	got = capacityOf(t, newTries(t, queueing, 1), 4, nil, spec.CapacitySearch{From: 100})
	if math.Abs(got.Rate/4000-1) > 0.035 {
		t.Errorf("four workers carry 4,000/s, found %v/s", got.Rate)
	}
	say(t, got.Reason, "of the offered operations succeeded in time")
}

func TestCapacityNeverDividesByNothing(t *testing.T) {
	empty := func(context.Context, spec.Run, string) (study.Result, record.Trial, error) {
		return study.Result{Run: &record.Run{Phases: []record.PhaseResult{{Phase: "measure"}}}},
			record.Trial{Status: record.TrialDone}, nil
	}
	got, err := findCapacity(context.Background(), base(), nil, spec.CapacitySearch{From: 5}, empty)
	if err != nil || got.Rate != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	say(t, got.Reason, "not even", "no operation ended")
	nothing := func(context.Context, spec.Run, string) (study.Result, record.Trial, error) {
		return study.Result{}, record.Trial{Status: record.TrialDone}, nil
	}
	if got, err = findCapacity(context.Background(), base(), nil, spec.CapacitySearch{From: 5}, nothing); err != nil ||
		got.Rate != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}
