package load

import (
	"context"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/loop"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/null"
	"github.com/plimsoll-bench/plimsoll/store/wire"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// What runs on event loops is tested with a real client and real time: neither connections nor timers of the kernel can
// be faked.

// looped opens a store on a responder, which is what runs on loops where there are any.
func looped(t *testing.T, w string, opts null.Options) (*null.Responder, store.Store) {
	t.Helper()
	r, err := null.Listen(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	st, err := wire.Open(t.Context(), store.Config{Target: r.URI(), Database: "db", Concern: store.Concern{W: w}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	if st.OnLoops() != true {
		t.Fatal("its sessions cannot wait on a loop")
	}
	return r, st
}

// updates is a workload of nothing but updates, whose streams count their operations.
type updates struct {
	workload.Workload
	done []int64
}

func (w *updates) Stream(worker, workers int) workload.Stream {
	s := w.Workload.Stream(worker, workers)
	done := s.Done
	s.Done = func(op *workload.Op, applied bool) {
		w.done[worker]++
		done(op, applied)
	}
	return s
}

func newUpdates(t *testing.T, workers int) *updates {
	t.Helper()
	w, err := workload.Open(workload.Spec{Name: "core", Records: 1000, Seed: 1,
		Params: map[string]string{"readproportion": "0", "updateproportion": "1"}})
	if err != nil {
		t.Fatal(err)
	}
	return &updates{Workload: w, done: make([]int64, workers)}
}

func TestLoopsCountEveryOperation(t *testing.T) {
	for name, cfg := range map[string]Config{
		"closed": {Workers: 40, Operations: 8000, Warmup: 50 * time.Millisecond},
		"one":    {Workers: 1, Operations: 500},
		"open":   {Workers: 40, Rate: 5000, Arrivals: Poisson, Seed: 1, Operations: 2000},
		"paced":  {Workers: 10, Pace: 200, Operations: 1000},
		"users": {Workers: 1, Duration: 600 * time.Millisecond, Stages: []Stage{
			{Duration: 200 * time.Millisecond, Workers: 30}, {Duration: 200 * time.Millisecond, Workers: 2},
			{Step: true, Workers: 12},
			{Duration: 200 * time.Millisecond, Workers: 12}}},
	} {
		t.Run(name, func(t *testing.T) {
			r, st := looped(t, "1", null.Options{})
			sink := &memorySink{}
			report, err := Run(t.Context(), cfg, newUpdates(t, 40), st, sink)
			if err != nil {
				t.Fatal(err)
			}
			sent := report.Warmup.Sent + report.Measured.Sent
			if got := int64(r.Requests()); got != sent || sent == 0 {
				t.Errorf("%d operations arrived, %d were sent", got, sent)
			}
			if cfg.Operations > 0 && report.Measured.Sent != cfg.Operations {
				t.Errorf("%d operations were sent, want %d", report.Measured.Sent, cfg.Operations)
			}
			if got := sink.count(0, store.OK) + sink.count(1, store.OK); got != sent {
				t.Errorf("%d of %d operations are counted as done", got, sent)
			}
			if m := report.Measured; cfg.Scheduled() && m.Offered != m.Sent+m.Dropped+m.Unsent {
				t.Errorf("offered %+v", m)
			}
		})
	}
}

// TestLoopsCanBeInterrupted: workers that wait for something far away see that it is over.
func TestLoopsCanBeInterrupted(t *testing.T) {
	for name, cfg := range map[string]Config{
		"closed": {Workers: 8, Duration: time.Hour},
		"open":   {Workers: 8, Rate: 1000, Duration: time.Hour},
		"rare":   {Workers: 8, Rate: 0.001, Duration: time.Hour},
		"paced":  {Workers: 8, Pace: 0.01, Duration: time.Hour},
		"users":  {Workers: 1, Stages: []Stage{{Duration: time.Hour, Workers: 9}}},
	} {
		t.Run(name, func(t *testing.T) {
			r, st := looped(t, "1", null.Options{})
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				for name != "rare" && name != "paced" && r.Requests() < 20 && ctx.Err() == nil {
					time.Sleep(time.Millisecond)
				}
				cancel()
			}()
			report, err := Run(ctx, cfg, newUpdates(t, 9), st, &memorySink{})
			if err != nil || !report.Interrupted || report.Aborted {
				t.Errorf("%+v, %v", report, err)
			}
		})
	}
}

// TestLoopsCanBeAborted: nobody waits for answers that do not come.
func TestLoopsCanBeAborted(t *testing.T) {
	r, st := looped(t, "1", null.Options{Fail: func(uint64, string) *null.Failure {
		return &null.Failure{Form: null.NoAnswer}
	}})
	abort := make(chan struct{})
	go func() {
		for r.Requests() < 6 {
			time.Sleep(time.Millisecond)
		}
		close(abort)
	}()
	cfg := Config{Workers: 6, Duration: time.Hour, Abort: abort, Timeout: 2 * time.Second}
	report, err := Run(t.Context(), cfg, newUpdates(t, 6), st, &memorySink{})
	if err != nil || !report.Aborted || report.Abandoned != 6 {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestLoopsShareTheirThread: writes that nobody confirms never wait, and every worker has its turn all the same.
func TestLoopsShareTheirThread(t *testing.T) {
	const workers = 10
	_, st := looped(t, "0", null.Options{})
	w := newUpdates(t, workers)
	if _, err := Run(t.Context(), Config{Workers: workers, Operations: 2000}, w, st, &memorySink{}); err != nil {
		t.Fatal(err)
	}
	for i, n := range w.done {
		if loop.Supported && n < 2000/workers/10 {
			t.Errorf("worker %d did %d of 2000 operations: %v", i, n, w.done)
		}
	}
}

// TestLoopsOutliveBrokenConnections: workers connect again while the others of their loop go on.
func TestLoopsOutliveBrokenConnections(t *testing.T) {
	_, st := looped(t, "1", null.Options{Fail: func(n uint64, _ string) *null.Failure {
		if n%50 == 7 {
			return &null.Failure{Form: null.DropConnection}
		}
		return nil
	}})
	sink := &memorySink{}
	w := newUpdates(t, 10)
	if _, err := Run(t.Context(), Config{Workers: 10, Operations: 2000}, w, st, sink); err != nil {
		t.Fatal(err)
	}
	var ok, lost int64
	for i := range w.Classes() {
		ok += sink.count(i, store.OK)
		lost += sink.count(i, store.Indeterminate)
	}
	if ok != 1960 || lost != 40 {
		t.Errorf("%d operations are done and %d indeterminate, want 1960 and 40", ok, lost)
	}
}
