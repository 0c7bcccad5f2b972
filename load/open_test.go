package load

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-bench/plimsoll/store"
)

// stalling serves in d, but answers nothing between from and until.
func stalling(d, from, until time.Duration) func(call, *store.Result) {
	return func(c call, res *store.Result) {
		if c.at >= from && c.at < until {
			time.Sleep(until - c.at)
		}
		time.Sleep(d)
		res.Docs = 1
	}
}

// TestCoordinatedOmission reproduces the textbook case: 1000 operations/s, 64 workers, 60 s, and one
// stall of 5 s. The schedule sees it in p99, the service time does not, and neither does a closed loop.
//
// The truth follows from the model: operations due at 30 s + x with x in [0, 5 s) wait 5 s − x; the 64
// workers then clear the backlog at 128,000/s. Of 60,000 responses the 600 largest lie above p99, they
// are those with 5 s − x above 5 s·(1 − 600/5000) = 4.4 s, plus what the clearing takes.
func TestCoordinatedOmission(t *testing.T) {
	within := func(t *testing.T, what string, got int64, low, high time.Duration) {
		t.Helper()
		if d := time.Duration(got); d < low || d > high {
			t.Errorf("%s is %v, want it between %v and %v", what, d, low, high)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		st := newFakeStore(stalling(500*time.Microsecond, 30*time.Second, 35*time.Second))
		r, sink := mustRun(t, Config{Workers: 64, Rate: 1000, Duration: time.Minute}, &fakeWorkload{}, st)
		if r.Measured != (Tally{Offered: 60_000, Sent: 60_000}) {
			t.Errorf("measured %+v", r.Measured)
		}
		resp := sink.merged(t, response, classRead, PhaseMeasure, PhaseDrain)
		serv := sink.merged(t, service, classRead, PhaseMeasure, PhaseDrain)
		within(t, "response p50", resp.Quantile(.50), 499*time.Microsecond, 501*time.Microsecond)
		within(t, "response p99", resp.Quantile(.99), 4395*time.Millisecond, 4415*time.Millisecond)
		within(t, "response p99.9", resp.Quantile(.999), 4930*time.Millisecond, 4950*time.Millisecond)
		within(t, "service p99", serv.Quantile(.99), 499*time.Microsecond, 501*time.Microsecond)
		within(t, "service p99.9", serv.Quantile(.999), 4930*time.Millisecond, 4950*time.Millisecond)
	})
	synctest.Test(t, func(t *testing.T) {
		st := newFakeStore(stalling(500*time.Microsecond, 30*time.Second, 35*time.Second))
		_, sink := mustRun(t, Config{Workers: 64, Pace: 1000.0 / 64, Duration: time.Minute, Operations: 55_088},
			&fakeWorkload{}, st)
		serv := sink.merged(t, service, classRead)
		within(t, "closed loop p99", serv.Quantile(.99), 499*time.Microsecond, 501*time.Microsecond)
	})
}

func TestOfferedPerInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newFakeStore(stalling(time.Millisecond, 2*time.Second, 4*time.Second))
		_, sink := mustRun(t, Config{Workers: 10, Rate: 100, Duration: 6 * time.Second}, &fakeWorkload{}, st)
		for _, iv := range sink.in(PhaseMeasure) {
			if iv.Offered != 100 {
				t.Errorf("%d operations offered from %v to %v, want 100 whatever the target does", iv.Offered, iv.Start, iv.End)
			}
		}
	})
}

// TestQueueDrains: what was due in the window is sent for one more timeout, the rest is counted unsent.
func TestQueueDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newFakeStore(serving(100 * time.Millisecond)) // 10 workers carry 100/s
		r, sink := mustRun(t, Config{Workers: 10, Rate: 200, Duration: 10 * time.Second, Timeout: 4 * time.Second},
			&fakeWorkload{}, st)
		if want := (Tally{Offered: 2000, Sent: 1400, Unsent: 600}); r.Measured != want {
			t.Errorf("measured %+v, want %+v", r.Measured, want)
		}
		during, after := sink.count(classRead, store.OK, PhaseMeasure), sink.count(classRead, store.OK, PhaseDrain)
		if during+after != 1400 || during < 985 || during > 1000 {
			t.Errorf("%d operations ended in the window and %d after it", during, after)
		}
		if r.Until != 10*time.Second || r.End < 14*time.Second || r.End > 14200*time.Millisecond {
			t.Errorf("window until %v, end %v", r.Until, r.End)
		}
	})
}

// TestDropAddsUp: every operation that fell due is sent or dropped, in the report and in the intervals,
// also those that are too late while all workers wait.
func TestDropAddsUp(t *testing.T) {
	for _, arrivals := range []Arrivals{Constant, Poisson} {
		synctest.Test(t, func(t *testing.T) {
			st := newFakeStore(stalling(10*time.Millisecond, 3*time.Second, 6*time.Second))
			cfg := Config{Workers: 8, Rate: 500, Arrivals: arrivals, Seed: 5, Duration: 10 * time.Second, Warmup: time.Second,
				Late: Drop, DropAfter: 200 * time.Millisecond}
			r, sink := mustRun(t, cfg, &fakeWorkload{}, st)
			m := r.Measured
			if m.Offered != m.Sent+m.Dropped || m.Unsent != 0 || m.Dropped < 1200 {
				t.Errorf("%v: measured %+v", arrivals, m)
			}
			offered, dropped := sink.sums(PhaseMeasure, PhaseDrain)
			if offered != m.Offered || dropped != m.Dropped {
				t.Errorf("%v: intervals have %d offered and %d dropped, report %+v", arrivals, offered, dropped, m)
			}
			if got := sink.count(classRead, store.OK, PhaseMeasure, PhaseDrain); got != m.Sent {
				t.Errorf("%v: %d operations counted, %d sent", arrivals, got, m.Sent)
			}
			for _, iv := range sink.in(PhaseMeasure) { // dropping is seen while it happens
				if iv.Start >= 4*time.Second && iv.End <= 6*time.Second && iv.Dropped < 300 {
					t.Errorf("%v: only %d dropped from %v to %v", arrivals, iv.Dropped, iv.Start, iv.End)
				}
			}
			resp := sink.merged(t, response, classRead, PhaseMeasure, PhaseDrain)
			if arrivals == Constant && resp.Max() > int64(3300*time.Millisecond) {
				t.Errorf("an operation was answered after %v although late ones are dropped", time.Duration(resp.Max()))
			}
		})
	}
}

func TestOpenLoopByOperations(t *testing.T) {
	for _, arrivals := range []Arrivals{Constant, Poisson} {
		synctest.Test(t, func(t *testing.T) {
			st := newFakeStore(serving(time.Millisecond))
			cfg := Config{Workers: 3, Rate: 100, Arrivals: arrivals, Seed: 9, Warmup: 2 * time.Second, Operations: 333}
			r, sink := mustRun(t, cfg, &fakeWorkload{}, st)
			if got := sink.count(classRead, store.OK, PhaseMeasure); got != 333 || !r.ByCount {
				t.Errorf("%v: %d operations measured, report %+v", arrivals, got, r)
			}
			if n := len(sink.in(PhaseDrain)); n != 0 {
				t.Errorf("%v: %d intervals of a drain in a run that ends by operations", arrivals, n)
			}
		})
	}
}

// TestLateEndsStayInTheirPhase: what was due in the warm-up is never measured, even if it ends later,
// and what was due in the window is, even if it ends after it.
func TestLateEndsStayInTheirPhase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newFakeStore(stalling(time.Millisecond, 4500*time.Millisecond, 6500*time.Millisecond))
		cfg := Config{Workers: 16, Rate: 100, Warmup: 5 * time.Second, Duration: 5 * time.Second}
		r, sink := mustRun(t, cfg, &fakeWorkload{}, st)
		if r.Warmup.Sent != 500 || r.Measured.Sent != 500 {
			t.Fatalf("report %+v", r)
		}
		if got := sink.count(classRead, store.OK, PhaseWarmup, PhaseWarmupDrain); got != 500 {
			t.Errorf("%d operations counted for the warm-up, want 500", got)
		}
		if got := sink.count(classRead, store.OK, PhaseMeasure, PhaseDrain); got != 500 {
			t.Errorf("%d operations counted as measured, want 500", got)
		}
		if late := sink.in(PhaseWarmupDrain); len(late) != 1 || late[0].Start < 5*time.Second {
			t.Errorf("%d intervals of the warm-up after its end, want the one in which its last operations ended", len(late))
		}
		for _, iv := range sink.in(PhaseWarmup) {
			if iv.End > 5*time.Second {
				t.Errorf("the warm-up, which is 5 s long, has an interval until %v", iv.End)
			}
		}
		for i := 1; i < len(sink.intervals); i++ {
			if sink.intervals[i].Start < sink.intervals[i-1].Start {
				t.Errorf("interval %d starts before the one ahead of it", i)
			}
		}
	})
}

func TestRampOfRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := Config{Workers: 4, Stages: []Stage{{Duration: 4 * time.Second, Rate: 400},
			{Duration: 2 * time.Second, Rate: 50, Step: true}}}
		r, sink := mustRun(t, cfg, &fakeWorkload{}, newFakeStore(serving(time.Millisecond)))
		want := []int64{50, 150, 250, 350, 50, 50}
		for i, iv := range sink.in(PhaseMeasure) {
			if math.Abs(float64(iv.Offered-want[i])) > 1 {
				t.Errorf("second %d: %d offered, want %d", i, iv.Offered, want[i])
			}
		}
		if r.Until != 6*time.Second || len(sink.kinds(EventStage)) != 2 {
			t.Errorf("window until %v, stages %v", r.Until, sink.kinds(EventStage))
		}
	})
}
