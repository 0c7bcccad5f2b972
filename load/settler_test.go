package load

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// settlingWorkload counts what its streams are told.
type settlingWorkload struct {
	*fakeWorkload
	streams chan *settlingStream
}

func (w settlingWorkload) Stream(worker, workers int) workload.Stream {
	s := &settlingStream{fakeStream: w.fakeWorkload.Stream(worker, workers).(checkingStream).fakeStream}
	w.streams <- s
	return s
}

// settlingStream panics if it is called while it is busy, or if an operation is settled twice or not at all.
type settlingStream struct {
	*fakeStream
	busy    atomic.Bool
	open    bool
	given   int
	settled []Settlement
}

func (s *settlingStream) enter() func() {
	if !s.busy.CompareAndSwap(false, true) {
		panic("two goroutines use one stream")
	}
	return func() { s.busy.Store(false) }
}

func (s *settlingStream) Next(op *workload.Op) {
	defer s.enter()()
	if s.open {
		panic("an operation was not settled")
	}
	s.open = true
	s.given++
	s.fakeStream.Next(op)
}

func (s *settlingStream) Flush(op *workload.Op) bool {
	defer s.enter()()
	if !s.fakeStream.Flush(op) {
		return false
	}
	s.open = true
	s.given++
	return true
}

func (s *settlingStream) Done(op *workload.Op, applied bool) {
	defer s.enter()()
	if s.open {
		panic("an operation is done before it is settled")
	}
	s.fakeStream.Done(op, applied)
}

func (s *settlingStream) Verify(*workload.Op, int, []byte) (ok, checked bool) {
	defer s.enter()()
	time.Sleep(time.Microsecond)
	return true, true
}

func (s *settlingStream) Settle(_ *workload.Op, st *Settlement) {
	defer s.enter()()
	if !s.open {
		panic("an operation was settled twice")
	}
	s.open = false
	s.settled = append(s.settled, *st)
}

// runSettling runs a load of four workers and returns what their streams were told.
func runSettling(t *testing.T, w *fakeWorkload, cfg Config, do func(call, *store.Result)) []*settlingStream {
	t.Helper()
	w.checking = true
	sw := settlingWorkload{w, make(chan *settlingStream, 4)}
	cfg.Workers = 4
	if _, err := Run(context.Background(), cfg, sw, newFakeStore(do), &memorySink{}); err != nil {
		t.Fatal(err)
	}
	close(sw.streams)
	var all []*settlingStream
	for s := range sw.streams {
		if s.given != len(s.settled) {
			t.Errorf("%d operations were given and %d settled", s.given, len(s.settled))
		}
		all = append(all, s)
	}
	return all
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
		w := &fakeWorkload{parts: 3, checking: true}
		sw := settlingWorkload{w, make(chan *settlingStream, 1)}
		if _, err := Run(context.Background(), Config{Workers: 1, Operations: 50}, sw, newFakeStore(c.do),
			&memorySink{}); err != nil {
			t.Fatal(err)
		}
		s := <-sw.streams
		if len(s.settled) != 50 {
			t.Fatalf("%s: %d settled, want 50", c.name, len(s.settled))
		}
		for _, got := range s.settled {
			if got.Ended < got.Sent {
				t.Errorf("%s: sent at %d, ended at %d", c.name, got.Sent, got.Ended)
			}
			got.Sent, got.Ended = 0, 0
			if got != c.want {
				t.Fatalf("%s: told %+v, want %+v", c.name, got, c.want)
			}
		}
	}
}

// What Flush sends at the end is settled as well.
func TestSettlementOfTheLastBatch(t *testing.T) {
	for _, s := range runSettling(t, &fakeWorkload{held: 1}, Config{Operations: 40}, func(call, *store.Result) {}) {
		if n := len(s.settled); n == 0 || s.settled[n-1].Confirmed != 1 {
			t.Errorf("the flushed batch was not settled: %+v", s.settled)
		}
	}
}

// Sessions that do not return: the controller settles in the place of the worker, also when the answer comes at just
// that moment.
func TestSettlementOfAbandonedOperations(t *testing.T) {
	var n atomic.Int64
	all := runSettling(t, &fakeWorkload{kind: func(int, int64) int { return classInsert }},
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
		runSettling(t, &fakeWorkload{parts: 2}, Config{Duration: time.Minute, Abort: abort},
			func(_ call, res *store.Result) { res.Doc = []byte("good") })
	}
}

func TestSettlementAllocatesNothing(t *testing.T) {
	w := &worker{crew: &crew{}, settler: &countingSettler{}}
	if n := testing.AllocsPerRun(1000, func() { w.reportOutcome(store.OK, 5) }); n != 0 {
		t.Errorf("%v allocations per settlement", n)
	}
}

type countingSettler struct{ n int64 }

func (c *countingSettler) Settle(*workload.Op, *Settlement) { c.n++ }
