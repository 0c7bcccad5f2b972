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

// Without noise the answer is the truth, wherever the search begins and whatever the arrivals do.
func TestCapacityIsTheTruth(t *testing.T) {
	for _, servers := range []int{8, 40} {
		g := queueing
		g.Servers = servers
		for _, limit := range []time.Duration{5 * time.Millisecond, 20 * time.Millisecond} {
			want := g.Capacity(0.99, limit)
			for i, from := range []spec.Rate{0, 10, spec.Rate(want * 0.9), spec.Rate(want * 8)} {
				got := capacityOf(t, newTries(t, g, uint64(i)), 1000, []string{"p99<" + limit.String()},
					spec.CapacitySearch{From: from})
				if math.Abs(got.Rate/want-1) > 0.05 || !got.Confirmed || got.AtLeast {
					t.Errorf("%d servers, p99<%v, from %v: found %v/s (confirmed: %v), the truth is %.5g/s\n%s", servers, limit,
						from, got.Rate, got.Confirmed, want, got.Reason)
				}
			}
		}
	}
}

// With noise the answer is near the truth or its interval contains it.
func TestCapacityWithNoise(t *testing.T) {
	g := queueing
	g.Noise = 0.03
	want := g.Capacity(0.99, 10*time.Millisecond)
	const seeds = 60
	right, trials := 0, 0
	for seed := range uint64(seeds) {
		got := capacityOf(t, newTries(t, g, seed), 256, tenMillis, spec.CapacitySearch{})
		trials += len(got.Steps)
		if got.Confirmed && (math.Abs(got.Rate/want-1) <= 0.05 || *got.Low <= want && want <= *got.High) {
			right++
		} else {
			t.Logf("seed %d: %v (%v to %v), the truth is %.0f", seed, got.Rate, *got.Low, *got.High, want)
		}
	}
	if right < seeds*95/100 || trials > 20*seeds {
		t.Errorf("%d of %d are right, with %d trials", right, seeds, trials)
	}
}

func TestCapacityBeyondTheHighestRate(t *testing.T) {
	got := capacityOf(t, newTries(t, queueing, 1), 256, tenMillis, spec.CapacitySearch{From: 100, To: 3000})
	if got.Rate != 3000 || !got.Confirmed || !got.AtLeast {
		t.Errorf("%+v", got)
	}
	say(t, got.Reason, "the highest rate that was allowed holds")
	for _, s := range got.Steps {
		if s.Offered > 3000 {
			t.Errorf("%v/s was offered", s.Offered)
		}
	}
}

func TestNothingHolds(t *testing.T) {
	got := capacityOf(t, newTries(t, queueing, 1), 256, []string{"p99<10us"}, spec.CapacitySearch{})
	if got.Rate != 0 || got.Confirmed || got.AtLeast || got.Low != nil || len(got.Steps) > 8 {
		t.Errorf("%+v", got)
	}
	say(t, got.Reason, "p99<10us is missed")
	if s := got.Steps[0]; s.Phase != "probe" || math.Abs(s.Achieved-8000) > 10 || !s.Holds {
		t.Errorf("the first step: %+v", s)
	}
	unknown := capacityOf(t, newTries(t, queueing, 1), 256, []string{"p99.99<1s"}, spec.CapacitySearch{From: 10, To: 100})
	if unknown.Rate != 0 || unknown.Confirmed {
		t.Errorf("an unknown objective holds: %+v", unknown)
	}
	say(t, unknown.Reason, "no step had enough operations")
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
	if got.Rate > 4000 || got.Rate < 2700 || !got.AtLeast || !got.Confirmed {
		t.Errorf("%+v", got)
	}
	say(t, got.Reason, "the load generator was busy (client-cpu")
	for _, s := range got.Steps {
		if s.Phase != "probe" && !s.Holds {
			say(t, s.Missed, "the load generator was busy (client-cpu")
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
		if (math.Abs(got.Rate/want-1) > 0.05 && (*got.Low > want || *got.High < want)) || !got.Confirmed {
			t.Errorf("trial %d disturbed: found %v/s, the truth is %.5g/s: %s", disturbed, got.Rate, want, got.Reason)
		}
	}
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
	if math.Abs(got.Rate/5000-1) > 0.05 || got.AtLeast || !got.Confirmed {
		t.Errorf("%+v", got)
	}
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

// Few workers are not the limit: a step has as many as are under way while the objectives hold. An objective for the
// rate is what the capacity answers, not a condition that low rates miss.
func TestWorkersGrow(t *testing.T) {
	x := newTries(t, queueing, 1)
	got := capacityOf(t, x, 4, []string{"p99<10ms", "rate>1000"}, spec.CapacitySearch{From: 100})
	want := queueing.Capacity(0.99, 10*time.Millisecond)
	if math.Abs(got.Rate/want-1) > 0.05 || !got.Confirmed {
		t.Errorf("%v/s, the truth is %.0f/s: %s", got.Rate, want, got.Reason)
	}
	if !slices.Equal(got.Objectives, []string{"p99<10ms", "rate>1000"}) {
		t.Errorf("objectives %q", got.Objectives)
	}
	if first, last := x.specs[0].Load.Workers, x.specs[len(x.specs)-1].Load.Workers; first != 4 || last < 100 {
		t.Errorf("%d workers at first, %d at last", first, last)
	}
	// Without a limit of response times, the target must complete what is offered.
	if got = capacityOf(t, newTries(t, queueing, 1), 64, nil,
		spec.CapacitySearch{From: 100}); math.Abs(got.Rate/8000-1) > 0.05 {
		t.Errorf("the target carries 8,000/s, found %v/s: %s", got.Rate, got.Reason)
	}
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
	say(t, got.Reason, "no operation ended")
	nothing := func(context.Context, spec.Run, string) (study.Result, record.Trial, error) {
		return study.Result{}, record.Trial{Status: record.TrialDone}, nil
	}
	if got, err = findCapacity(context.Background(), base(), nil, spec.CapacitySearch{From: 5}, nothing); err != nil ||
		got.Rate != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}
