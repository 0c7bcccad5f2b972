package load

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/store"
)

func TestInterruptedRunKeepsWhatItMeasured(t *testing.T) {
	for name, cfg := range map[string]Config{
		"closed": {Workers: 4, Duration: time.Hour},
		"open":   {Workers: 4, Rate: 100, Duration: time.Hour},
		"rare":   {Workers: 4, Rate: 0.001, Duration: time.Hour},
		"paced":  {Workers: 4, Pace: 10, Duration: time.Hour},
		"users":  {Workers: 1, Stages: []Stage{{Duration: time.Hour, Workers: 9}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
				defer cancel()
				st := newFakeStore(serving(20 * time.Millisecond))
				sink := &memorySink{}
				cfg.PlainTimers = true
				r, err := Run(ctx, cfg, &fakeWorkload{}, st, sink)
				if err != nil || !r.Interrupted || r.Aborted {
					t.Fatalf("Run: %v, report %+v", err, r)
				}
				if r.Until != 3500*time.Millisecond || r.End > 3520*time.Millisecond {
					t.Errorf("window until %v, end %v", r.Until, r.End)
				}
				if got := sink.count(classRead, store.OK); got != r.Measured.Sent {
					t.Errorf("%d operations counted, %d sent", got, r.Measured.Sent)
				}
				if m := r.Measured; m.Unsent > 1 || cfg.Scheduled() && m.Offered != m.Sent+m.Unsent {
					t.Errorf("measured %+v", m)
				}
				if len(sink.kinds(EventInterrupted)) != 1 || st.closed.Load() != st.opened.Load() {
					t.Errorf("events %v; %d of %d sessions closed", sink.events, st.closed.Load(), st.opened.Load())
				}
			})
		})
	}
}

func TestInterruptedWarmup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		sink := &memorySink{}
		cfg := Config{Workers: 2, Warmup: 5 * time.Second, Duration: 5 * time.Second, PlainTimers: true}
		r, err := Run(ctx, cfg, &fakeWorkload{}, newFakeStore(serving(7*time.Millisecond)), sink)
		if err != nil || !r.Interrupted || r.From != r.Until || r.Measured.Sent != 0 || r.Warmup.Sent == 0 {
			t.Errorf("Run: %v, report %+v", err, r)
		}
		if len(sink.in(PhaseMeasure, PhaseDrain)) != 0 || sink.count(classRead, store.OK, PhaseWarmup) != r.Warmup.Sent {
			t.Errorf("%d intervals after an interrupted warm-up", len(sink.in(PhaseMeasure, PhaseDrain)))
		}
	})
}

func TestAbortReturnsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		abort := make(chan struct{})
		st := newFakeStore(stalling(time.Millisecond, time.Second, time.Minute))
		sink := &memorySink{}
		w := &fakeWorkload{kind: func(worker int, _ int64) int { return worker % 2 }}
		go func() { time.Sleep(2 * time.Second); close(abort) }()
		r, err := Run(t.Context(), Config{Workers: 6, Duration: time.Hour, PlainTimers: true, Abort: abort}, w, st, sink)
		if err != nil || !r.Aborted || !r.Interrupted {
			t.Fatalf("Run: %v, report %+v", err, r)
		}
		if r.End > 2010*time.Millisecond || r.Abandoned != 6 {
			t.Errorf("ended after %v, %d abandoned", r.End, r.Abandoned)
		}
		failed, unknown := sink.count(classRead, store.Failed), sink.count(classInsert, store.Indeterminate)
		if failed != 3 || unknown != 3 {
			t.Errorf("%d reads failed and %d inserts are indeterminate, want 3 and 3", failed, unknown)
		}
		time.Sleep(2 * time.Minute) // the calls return, and the workers close their sessions
		if st.closed.Load() != 6 {
			t.Errorf("%d of 6 sessions closed in the end", st.closed.Load())
		}
	})
}

// TestStuckSessionDoesNotHoldTheRun: a session that ignores its deadline costs its worker, not the run.
func TestStuckSessionDoesNotHoldTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		st := newFakeStore(func(c call, res *store.Result) {
			if c.worker == 1 && c.at > time.Second {
				<-release
			}
			serving(10*time.Millisecond)(c, res)
		})
		w := &fakeWorkload{parts: 2}
		r, sink := mustRun(t, Config{Workers: 3, Duration: 5 * time.Second, Timeout: time.Second}, w, st)
		if r.Abandoned != 1 || len(sink.kinds(EventAbandoned)) != 1 {
			t.Errorf("report %+v, events %v", r, sink.events)
		}
		if sink.count(classRead, store.Failed) != 1 {
			t.Errorf("%d operations failed, want the one that was abandoned", sink.count(classRead, store.Failed))
		}
		last := sink.in(PhaseMeasure)
		if n := last[len(last)-1].Workers; n != 2 {
			t.Errorf("%d workers at the end, want 2", n)
		}
		counted := sink.count(classRead, store.OK) + sink.count(classRead, store.Failed)
		if counted != r.Measured.Sent {
			t.Errorf("%d operations counted, %d sent", counted, r.Measured.Sent)
		}
		close(release)
		time.Sleep(time.Second)
		if st.closed.Load() != 3 {
			t.Errorf("%d of 3 sessions closed in the end", st.closed.Load())
		}
	})
}

func TestAllSessionsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		st := newFakeStore(func(call, *store.Result) { <-release })
		r, _ := mustRun(t, Config{Workers: 2, Operations: 10, Timeout: time.Second}, &fakeWorkload{}, st)
		if r.Abandoned != 2 || r.End > 3*time.Second {
			t.Errorf("report %+v", r)
		}
		close(release)
	})
}

func TestFullDiskEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newFakeStore(serving(time.Millisecond))
		sink := &memorySink{failAfter: 3}
		r, err := Run(t.Context(), Config{Workers: 2, Duration: time.Hour, PlainTimers: true}, &fakeWorkload{}, st, sink)
		if !errors.Is(err, errDiskFull) {
			t.Fatalf("Run: %v", err)
		}
		if r.End > 10*time.Second || r.Measured.Sent == 0 || r.Interrupted {
			t.Errorf("report %+v", r)
		}
	})
}

func TestSessionThatCannotBeOpened(t *testing.T) {
	st := newFakeStore(serving(0))
	st.openFn = func(worker int) error {
		if worker == 2 {
			return errors.New("connection refused")
		}
		return nil
	}
	_, err := Run(t.Context(), Config{Workers: 5, Duration: time.Second}, &fakeWorkload{}, st, &memorySink{})
	if err == nil || !strings.Contains(err.Error(), "worker 2 of 5: connection refused") {
		t.Errorf("Run: %v", err)
	}
	if st.opened.Load() != st.closed.Load() {
		t.Errorf("%d sessions opened, %d closed", st.opened.Load(), st.closed.Load())
	}
}

func TestInterruptedWhileOpening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		st := newFakeStore(serving(0))
		st.openFn = func(int) error { time.Sleep(10 * time.Second); return nil }
		r, err := Run(ctx, Config{Workers: 40, Duration: time.Second, PlainTimers: true}, &fakeWorkload{}, st, &memorySink{})
		if err != nil || !r.Interrupted {
			t.Errorf("Run: %v, report %+v", err, r)
		}
		time.Sleep(time.Minute)
		if st.opened.Load() != st.closed.Load() {
			t.Errorf("%d sessions opened, %d closed", st.opened.Load(), st.closed.Load())
		}
	})
}

func TestBadConfig(t *testing.T) {
	for want, cfg := range map[string]Config{
		"at least one worker":        {Duration: 1},
		"the run has no end":         {Workers: 1},
		"rate and pace exclude":      {Workers: 1, Rate: 1, Pace: 1, Duration: 1},
		"-3 is negative":             {Workers: -3, Duration: 1},
		"operations: -1":             {Workers: 1, Operations: -1},
		"warm-up: -1s":               {Workers: 1, Duration: 1, Warmup: -time.Second},
		"not between 0 and":          {Workers: 1, Duration: 1, Rate: -5},
		"stage 2: a ramp needs":      {Workers: 1, Rate: 1, Stages: []Stage{{Duration: 1, Rate: 1}, {Rate: 5}}},
		"stage 1 changes the worker": {Workers: 1, Rate: 1, Stages: []Stage{{Duration: 1, Workers: 5}}},
		"the warm-up has no rate":    {Workers: 1, Warmup: 1, Stages: []Stage{{Duration: 1, Rate: 5}}},
		"the last stage has no":      {Workers: 1, Operations: 9, Stages: []Stage{{Duration: 1, Workers: 0}}},
		"the warm-up has no workers": {Warmup: 1, Stages: []Stage{{Duration: 1, Workers: 5}}},
		"shorter than 1ms":           {Workers: 1, Duration: 1, Interval: 1},
		"longer than the limit":      {Workers: 1, Duration: 1 << 62},
		"more than the limit":        {Workers: 1 << 21, Duration: 1},
	} {
		_, err := Run(t.Context(), cfg, &fakeWorkload{}, newFakeStore(serving(0)), &memorySink{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
}

// TestStalledProcessKeepsItsWorkers: when this process was stopped or suspended, all operations under
// way look overdue in the moment it wakes up. None of them may be given up for that.
func TestStalledProcessKeepsItsWorkers(t *testing.T) {
	c := newController(newPool(plan{grace: time.Second}, 2, newFakeStore(nil)), &memorySink{})
	c.base = time.Now()
	second := int64(time.Second)
	c.workers[0].state.Store(5 * second)
	c.workers[0].quiet = true
	c.watch.looked = 4 * second
	for _, look := range []struct {
		at   int64
		left int
	}{{20 * second, 2}, {20*second + second/10, 2}, {20*second + second/2, 2}, {20*second + 9*second/10, 2},
		{21*second + second/10, 1}} {
		c.watch.self(look.at)
		c.watch.overdue(look.at, &c.counts)
		if left := int(c.roster.left.Load()); left != look.left {
			t.Fatalf("%d workers left at %v, want %d", left, time.Duration(look.at), look.left)
		}
	}
	if e := c.events.drain(); len(e) != 1 || e[0].Kind != EventStalled || e[0].Data["gap_ns"] != "16000000000" {
		t.Errorf("events %v", e)
	}
}

// TestManyWorkersEnd: the controller looks at all workers from time to time, not once for each of them that ends. The
// end of a run with a million workers would otherwise take 10¹² looks.
func TestManyWorkersEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers = 2000
		st := newFakeStore(func(c call, _ *store.Result) {
			time.Sleep(time.Second + time.Duration(c.worker)*500*time.Microsecond) // so each ends at a moment of its own
		})
		cfg := Config{Workers: workers, Duration: 500 * time.Millisecond, PlainTimers: true}.withDefaults()
		c := newRun(cfg, &fakeWorkload{}, st, &memorySink{})
		if err := c.open(t.Context()); err != nil {
			t.Fatal(err)
		}
		r, err := c.conduct(t.Context())
		if err != nil || r.Measured.Sent != workers || r.Abandoned != 0 {
			t.Fatalf("%v, report %+v", err, r)
		}
		if most := int64(r.End / (5 * time.Millisecond)); c.watch.looks > most {
			t.Errorf("all workers were looked at %d times in %v, want at most %d", c.watch.looks, r.End, most)
		}
	})
}

// TestLatestSuccessStopsEarly: failures and successes that take turns do not make every worker be looked at each time.
func TestLatestSuccessStopsEarly(t *testing.T) {
	workers := []*worker{{}, {}, {}}
	for i, at := range []int64{-1, 70, 40} {
		workers[i].lastOK.Store(at)
	}
	if got := latestSuccess(workers, never); got != 70 {
		t.Errorf("the last success was at %d, want 70", got)
	}
	if got := latestSuccess(append(workers[:2:2], nil), 60); got != 70 { // nil: whoever looks further panics
		t.Errorf("the first success after 60 is at %d, want 70", got)
	}
	if got := latestSuccess(workers[:1], never); got != -1 {
		t.Errorf("the last success of none was at %d, want -1", got)
	}
}

// slowSink takes long for every interval.
type slowSink struct{ memorySink }

func (s *slowSink) Interval(iv *measure.Interval) error {
	time.Sleep(700 * time.Millisecond)
	return s.memorySink.Interval(iv)
}

// TestSlowSinkIsNoStall: a record on a busy disk holds up the controller, not the load.
func TestSlowSinkIsNoStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &slowSink{}
		cfg := Config{Workers: 2, Rate: 100, Duration: 3 * time.Second, PlainTimers: true}
		r, err := Run(t.Context(), cfg, &fakeWorkload{}, newFakeStore(serving(time.Millisecond)), sink)
		if err != nil || r.Measured.Sent != 300 {
			t.Fatalf("Run: %v, report %+v", err, r)
		}
		if n := len(sink.kinds(EventStalled)); n != 0 || len(sink.kinds(EventSlowRecord)) == 0 {
			t.Errorf("%d stalls reported, events %v", n, sink.events)
		}
	})
}

// A run that need not go on ends with the current interval, and is complete.
func TestEnoughIsNoInterruption(t *testing.T) {
	for name, cfg := range map[string]Config{
		"closed": {Workers: 4, Duration: time.Hour},
		"open":   {Workers: 4, Rate: 100, Duration: time.Hour},
		"paced":  {Workers: 4, Pace: 10, Duration: time.Hour, Warmup: time.Second},
		"users":  {Workers: 1, Stages: []Stage{{Duration: time.Hour, Workers: 9}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, end := context.WithCancelCause(t.Context())
				go func() { time.Sleep(3400 * time.Millisecond); end(ErrEnough) }()
				sink := &memorySink{}
				cfg.PlainTimers = true
				r, err := Run(ctx, cfg, &fakeWorkload{}, newFakeStore(serving(20*time.Millisecond)), sink)
				if err != nil || r.Interrupted || r.Aborted || len(sink.kinds(EventInterrupted)) != 0 {
					t.Fatalf("Run: %v, report %+v", err, r)
				}
				if r.Until != 4*time.Second || r.End > 4020*time.Millisecond {
					t.Errorf("window until %v, end %v", r.Until, r.End)
				}
				if got := sink.count(classRead, store.OK, PhaseMeasure, PhaseDrain); got != r.Measured.Sent || got == 0 {
					t.Errorf("%d operations counted, %d sent", got, r.Measured.Sent)
				}
				if m := r.Measured; cfg.Scheduled() && m.Offered != m.Sent+m.Unsent {
					t.Errorf("measured %+v", m)
				}
				for _, iv := range sink.in(PhaseMeasure) {
					if iv.End-iv.Start != time.Second {
						t.Errorf("an interval from %v to %v", iv.Start, iv.End)
					}
				}
			})
		})
	}
}
