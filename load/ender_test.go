package load

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// endingWorkload gives each worker a number of operations of its own.
type endingWorkload struct {
	fakeWorkload
	most []int64
}

func (w *endingWorkload) Stream(worker, _ int) workload.Stream {
	s := &fakeStream{w: &w.fakeWorkload, worker: worker}
	of := s.functions()
	of.Ended = func() bool { return s.n >= w.most[worker] }
	return of
}

func TestStreamsThatEnd(t *testing.T) {
	for name, cfg := range map[string]Config{
		"closed": {Workers: 3, Duration: time.Hour},
		"paced":  {Workers: 3, Pace: 10, Duration: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sink := &memorySink{}
				cfg.PlainTimers = true
				r, err := Run(t.Context(), cfg, &endingWorkload{most: []int64{5, 40, 0}},
					newFakeStore(serving(10*time.Millisecond)), sink)
				if err != nil || r.Interrupted || r.Measured.Sent != 45 || sink.count(classRead, store.OK) != 45 {
					t.Errorf("Run: %v, report %+v; want 45 operations", err, r)
				}
				if r.End > 5*time.Second {
					t.Errorf("the run ended after %v, long after its last operation", r.End)
				}
			})
		})
	}
}

// TestStreamsThatEndBesideALostWorker: a worker that was given up does not keep the run open.
func TestStreamsThatEndBesideALostWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		st := newFakeStore(func(c call, res *store.Result) {
			if c.worker == 1 {
				<-release
			}
			time.Sleep(time.Millisecond)
			res.Docs = 1
		})
		cfg := Config{Workers: 2, Duration: 1000 * time.Hour, Timeout: time.Second, PlainTimers: true}
		r, err := Run(t.Context(), cfg, &endingWorkload{most: []int64{5, 5}}, st, &memorySink{})
		if err != nil || r.Abandoned != 1 || r.Measured.Sent != 6 || r.End > 10*time.Second {
			t.Errorf("Run: %v, report %+v; want an end soon after the deadline of the lost worker", err, r)
		}
		close(release)
		time.Sleep(time.Second) // the lost worker ends too
	})
}
