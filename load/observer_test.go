package load

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// observedWorkload keeps its streams.
type observedWorkload struct {
	*fakeWorkload
	streams []*observedStream
}

func (w *observedWorkload) Stream(worker, _ int) workload.Stream {
	s := &observedStream{fakeStream: &fakeStream{w: w.fakeWorkload, worker: worker}}
	w.streams = append(w.streams, s)
	return workload.Stream{Next: s.Next, Done: s.Done, Flush: s.Flush, Verify: s.Verify}
}

func (w *observedWorkload) observe(worker int) Observer { return w.streams[worker].settle }

// observedStream panics if it is called while it is busy, or if an operation is settled twice or not at all.
type observedStream struct {
	*fakeStream
	busy    atomic.Bool
	open    bool
	given   int
	settled []Settlement
}

func (s *observedStream) enter() func() {
	if !s.busy.CompareAndSwap(false, true) {
		panic("two goroutines use one stream")
	}
	return func() { s.busy.Store(false) }
}

func (s *observedStream) Next(op *workload.Op) {
	defer s.enter()()
	if s.open {
		panic("an operation was not settled")
	}
	s.open = true
	s.given++
	s.fakeStream.Next(op)
}

func (s *observedStream) Flush(op *workload.Op) bool {
	defer s.enter()()
	if !s.fakeStream.Flush(op) {
		return false
	}
	s.open = true
	s.given++
	return true
}

func (s *observedStream) Done(op *workload.Op, applied bool) {
	defer s.enter()()
	if s.open {
		panic("an operation is done before it is settled")
	}
	s.fakeStream.Done(op, applied)
}

func (s *observedStream) Verify(*workload.Op, int, []byte) (ok, checked bool) {
	defer s.enter()()
	time.Sleep(time.Microsecond)
	return true, true
}

func (s *observedStream) settle(_ *workload.Op, st *Settlement) {
	defer s.enter()()
	if !s.open {
		panic("an operation was settled twice")
	}
	s.open = false
	s.settled = append(s.settled, *st)
}

// runObserved runs a load of four workers and returns what their streams were told.
func runObserved(t *testing.T, w *fakeWorkload, cfg Config, do func(call, *store.Result)) []*observedStream {
	t.Helper()
	all := &observedWorkload{fakeWorkload: w}
	cfg.Workers, cfg.Observe = 4, all.observe
	if _, err := Run(context.Background(), cfg, all, newFakeStore(do), &memorySink{}); err != nil {
		t.Fatal(err)
	}
	for _, s := range all.streams {
		if s.given != len(s.settled) {
			t.Errorf("%d operations were given and %d settled", s.given, len(s.settled))
		}
	}
	return all.streams
}

func TestSettlementOfEachRequest(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(c call, res *store.Result)
		want Settlement
	}{
		{"all well", func(call, *store.Result) {}, Settlement{Outcome: store.OK, Confirmed: 3, Failed: -1, Attempts: 3}},
		{"the second fails", func(c call, res *store.Result) {
			if c.n%2 == 1 {
				res.Attempts = 2
				res.Fail(store.Indeterminate, store.Network, "reset")
			}
		}, Settlement{Outcome: store.Indeterminate, Reason: store.Network, Confirmed: 1, Failed: 1, Attempts: 2}},
		{"unconfirmed", func(_ call, res *store.Result) { res.Outcome = store.Unacknowledged },
			Settlement{Outcome: store.Unacknowledged, Failed: -1, Attempts: 3}},
	} {
		w := &observedWorkload{fakeWorkload: &fakeWorkload{parts: 3}}
		if _, err := Run(context.Background(), Config{Workers: 1, Operations: 50, Observe: w.observe}, w, newFakeStore(c.do),
			&memorySink{}); err != nil {
			t.Fatal(err)
		}
		s := w.streams[0]
		if len(s.settled) != 50 {
			t.Fatalf("%s: %d settled, want 50", c.name, len(s.settled))
		}
		for _, got := range s.settled {
			if got.Ended < got.Sent || got.Sent < got.Due {
				t.Errorf("%s: due at %d, sent at %d, ended at %d", c.name, got.Due, got.Sent, got.Ended)
			}
			got.Due, got.Sent, got.Ended = 0, 0, 0
			if got != c.want {
				t.Fatalf("%s: told %+v, want %+v", c.name, got, c.want)
			}
		}
	}
}

// What Flush sends at the end is settled as well.
func TestSettlementOfTheLastBatch(t *testing.T) {
	for _, s := range runObserved(t, &fakeWorkload{held: 1}, Config{Operations: 40}, func(call, *store.Result) {}) {
		if n := len(s.settled); n == 0 || s.settled[n-1].Confirmed != 1 {
			t.Errorf("the flushed batch was not settled: %+v", s.settled)
		}
	}
}

// Sessions that do not return: the controller settles in the place of the worker, also when the answer comes at just
// that moment.
func TestSettlementOfAbandonedOperations(t *testing.T) {
	var n atomic.Int64
	all := runObserved(t, &fakeWorkload{kind: func(int, int64) int { return classInsert }},
		Config{Duration: 300 * time.Millisecond, Timeout: 5 * time.Millisecond, Grace: time.Millisecond},
		func(_ call, res *store.Result) {
			if n.Add(1)%50 == 0 {
				time.Sleep(20 * time.Millisecond)
			}
		})
	for _, s := range all {
		for i, st := range s.settled {
			if st.Abandoned && (st.Outcome != store.Indeterminate || i != len(s.settled)-1) {
				t.Errorf("abandoned operation %d of %d: %+v", i, len(s.settled), st)
			}
		}
	}
}

// An abort in the middle of everything: verification and the controller's settlement exclude each other.
func TestSettlementAndVerificationExcludeEachOther(t *testing.T) {
	for range 50 {
		abort := make(chan struct{})
		time.AfterFunc(2*time.Millisecond, func() { close(abort) })
		runObserved(t, &fakeWorkload{parts: 2}, Config{Duration: time.Minute, Abort: abort},
			func(_ call, res *store.Result) { res.Doc = []byte("good") })
	}
}

func TestObservingAllocatesNothing(t *testing.T) {
	var seen int64
	w := &worker{pool: &pool{}, observe: func(*workload.Op, *Settlement) { seen++ }}
	if n := testing.AllocsPerRun(1000, func() { w.reportOutcome(store.OK, 5) }); n != 0 {
		t.Errorf("%v allocations per settlement", n)
	}
	if seen < 1000 {
		t.Errorf("%d operations were observed", seen)
	}
}
