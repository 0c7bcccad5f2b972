package load

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// TestOutageIsReported: one event when operations fail and none succeeds, one with the gap afterwards.
func TestOutageIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newFakeStore(func(c call, res *store.Result) {
			time.Sleep(time.Millisecond)
			if c.at >= 2*time.Second && c.at < 5*time.Second || c.at > 7*time.Second && c.n%100 == 0 {
				res.Fail(store.Indeterminate, store.Network, "connection reset by peer")
				res.Labels = []string{"RetryableWriteError", "NoWritesPerformed"}
				res.Code, res.CodeName = 189, "PrimarySteppedDown"
			}
		})
		_, sink := mustRun(t, Config{Workers: 4, Rate: 100, Duration: 10 * time.Second}, &fakeWorkload{}, st)
		down, up := sink.kinds(EventFailing), sink.kinds(EventRecovered)
		if len(down) != 1 || len(up) != 1 {
			t.Fatalf("events %v", sink.events)
		}
		if down[0].At != 2001*time.Millisecond || down[0].Data["message"] != "connection reset by peer" {
			t.Errorf("failing: %+v", down[0])
		}
		if up[0].At != 5001*time.Millisecond || up[0].Data["gap_ns"] != "3010000000" {
			t.Errorf("recovered: %+v", up[0])
		}
		f := sink.in(PhaseMeasure)[3].Failures
		if len(f) != 1 || f[0].Count != 100 || f[0].Labels != "NoWritesPerformed,RetryableWriteError" || f[0].CodeName != "PrimarySteppedDown" {
			t.Errorf("failures %+v", f)
		}
	})
}

// TestUnreachableTargetIsNotHammered: a closed loop pauses when nothing can be sent, and recovers.
func TestUnreachableTargetIsNotHammered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newFakeStore(func(c call, res *store.Result) {
			time.Sleep(100 * time.Microsecond)
			if c.at < 10*time.Second {
				res.Fail(store.NotApplied, store.Network, "connection refused")
				res.Attempts = 0
			}
		})
		r, sink := mustRun(t, Config{Workers: 2, Duration: 11 * time.Second}, &fakeWorkload{}, st)
		refused := sink.count(classRead, store.NotApplied)
		if refused < 2*backoffAfter || refused > 2*(backoffAfter+120) {
			t.Errorf("%d operations refused in 10 s", refused)
		}
		if sink.count(classRead, store.OK) < 2*8900 {
			t.Errorf("only %d operations after the target came back", sink.count(classRead, store.OK))
		}
		if len(sink.kinds(EventBackoff)) != 1 || len(sink.kinds(EventBackoffEnd)) != 1 || r.Backoffs == 0 {
			t.Errorf("%d back-offs, events %v", r.Backoffs, sink.events)
		}
	})
}

func TestOpenLoopNeverBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newFakeStore(func(_ call, res *store.Result) {
			res.Fail(store.NotApplied, store.Network, "connection refused")
			res.Attempts = 0
		})
		r, sink := mustRun(t, Config{Workers: 1, Rate: 1000, Duration: 3 * time.Second}, &fakeWorkload{}, st)
		if got := sink.count(classRead, store.NotApplied); got != 3000 || r.Backoffs != 0 {
			t.Errorf("%d operations refused, %d back-offs", got, r.Backoffs)
		}
	})
}

func TestPartsOfAnOperation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newFakeStore(func(c call, res *store.Result) {
			time.Sleep(20 * time.Millisecond)
			res.Docs, res.Bytes = 2, 100
			if c.n%6 == 4 { // the second part of the second operation of three
				res.Fail(store.Failed, store.Server, "interrupted")
			}
		})
		_, sink := mustRun(t, Config{Workers: 1, Operations: 3}, &fakeWorkload{parts: 3}, st)
		if ok, failed := sink.count(classRead, store.OK), sink.count(classRead, store.Failed); ok != 2 || failed != 1 {
			t.Errorf("%d operations ok and %d failed, want 2 and 1", ok, failed)
		}
		if ok, failed := sink.count(classPart, store.OK), sink.count(classPart, store.Failed); ok != 7 || failed != 1 {
			t.Errorf("%d parts ok and %d failed, want 7 and 1: an operation ends at its first failing request", ok, failed)
		}
		h := sink.merged(t, service, classRead)
		if d := time.Duration(h.Max()); d != 60*time.Millisecond {
			t.Errorf("an operation of three parts took %v, want 60ms", d)
		}
	})
}

// TestOneDeadlineForTheWholeOperation: all requests of an operation share its deadline.
func TestOneDeadlineForTheWholeOperation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newFakeStore(nil)
		var begun time.Time
		st.do = func(c call, res *store.Result) {
			if c.n%2 == 0 {
				begun = time.Now()
			}
			if want := begun.Add(3 * time.Second); !c.deadline.Equal(want) {
				t.Errorf("request %d has the deadline %v, want %v", c.n, c.deadline, want)
			}
			time.Sleep(time.Second)
		}
		mustRun(t, Config{Workers: 1, Operations: 2, Timeout: 3 * time.Second}, &fakeWorkload{parts: 2}, st)
	})
}

func TestVerification(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newFakeStore(func(c call, res *store.Result) {
			time.Sleep(time.Millisecond)
			switch c.n % 10 {
			case 0:
				res.Doc = []byte("bad")
			case 1:
				res.Outcome = store.NotFound
			default:
				res.Doc = []byte("good")
			}
		})
		r, sink := mustRun(t, Config{Workers: 1, Operations: 100}, &fakeWorkload{checking: true}, st)
		if r.Verified != 100 || r.Mismatch != 10 || r.Missing != 10 {
			t.Errorf("report %+v", r)
		}
		if c, n, ok := sink.count(classRead, store.Corrupt), sink.count(classRead, store.NotFound),
			sink.count(classRead, store.OK); c != 10 || n != 10 || ok != 80 {
			t.Errorf("%d corrupt, %d not found, %d ok", c, n, ok)
		}
		f := sink.intervals[0].Failures
		if len(f) != 1 || f[0].Reason != "verification" || f[0].Count != 10 {
			t.Errorf("failures %+v", f)
		}
	})
}

func TestFlushSendsTheLastBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newFakeStore(serving(time.Millisecond))
		w := &fakeWorkload{held: 1}
		r, sink := mustRun(t, Config{Workers: 3, Operations: 30}, w, st)
		if r.Measured.Sent != 30 || r.Flushed != 3 || sink.count(classInsert, store.OK) != 3 {
			t.Errorf("report %+v, %d inserts", r, sink.count(classInsert, store.OK))
		}
		if w.done.Load() != 33 || w.applied.Load() != 33 {
			t.Errorf("stream was told of %d operations, %d applied", w.done.Load(), w.applied.Load())
		}
	})
}

// TestBufferedOperations: an operation without requests is done at once and sends nothing.
func TestBufferedOperations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newFakeStore(serving(time.Millisecond))
		w := bufferingWorkload{&fakeWorkload{}}
		_, sink := mustRun(t, Config{Workers: 1, Operations: 10}, w, st)
		if b, ok := sink.count(classInsert, store.Batched), sink.count(classInsert, store.OK); b != 8 || ok != 2 {
			t.Errorf("%d buffered and %d sent, want 8 and 2", b, ok)
		}
	})
}

// bufferingWorkload sends every fifth operation and buffers the others.
type bufferingWorkload struct{ *fakeWorkload }

func (w bufferingWorkload) Stream(int, int) workload.Stream {
	s, i := &fakeStream{w: w.fakeWorkload}, 0
	of := s.functions()
	of.Next = func(op *workload.Op) {
		i++
		s.fill(op, classInsert, 1)
		if i%5 != 0 {
			op.Requests = nil
		}
	}
	return of
}

func TestFailureText(t *testing.T) {
	r := store.Result{Reason: store.Server, Message: "no space", Code: 14031, CodeName: "OutOfDiskSpace"}
	if got := failureText(store.Indeterminate, &r); !strings.Contains(got, "indeterminate (server): no space [code 14031 OutOfDiskSpace]") {
		t.Error(got)
	}
}
