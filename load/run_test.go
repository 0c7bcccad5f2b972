package load

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-bench/plimsoll/store"
)

func TestClosedLoopByDuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newFakeStore(serving(10 * time.Millisecond))
		r, sink := mustRun(t, Config{Workers: 4, Duration: 5 * time.Second}, &fakeWorkload{}, st)
		if got := sink.count(classRead, store.OK); got != 4*500 {
			t.Errorf("counted %d operations, want %d", got, 4*500)
		}
		if r.Measured.Sent != 2000 || r.Until != 5*time.Second || r.From != 0 {
			t.Errorf("report %+v", r)
		}
		for i, iv := range sink.in(PhaseMeasure) {
			if iv.Start != time.Duration(i)*time.Second || iv.End != iv.Start+time.Second || iv.Workers != 4 {
				t.Errorf("interval %d: %v–%v with %d workers", i, iv.Start, iv.End, iv.Workers)
			}
		}
		if st.closed.Load() != 4 {
			t.Errorf("%d of 4 sessions closed", st.closed.Load())
		}
	})
}

func TestClosedLoopByOperations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &fakeWorkload{}
		st := newFakeStore(serving(time.Millisecond))
		r, sink := mustRun(t, Config{Workers: 7, Operations: 1000, Warmup: time.Second}, w, st)
		if got := sink.count(classRead, store.OK, PhaseMeasure, PhaseDrain); got != 1000 {
			t.Errorf("measured %d operations, want 1000", got)
		}
		if got := sink.count(classRead, store.OK, PhaseWarmup, PhaseWarmupDrain); got != 7000 {
			t.Errorf("warm-up counted %d operations, want 7000", got)
		}
		if !r.ByCount || r.Measured.Sent != 1000 || r.Warmup.Sent != 7000 || r.From != time.Second {
			t.Errorf("report %+v", r)
		}
		if w.done.Load() != 8000 {
			t.Errorf("stream was told of %d operations, want 8000", w.done.Load())
		}
	})
}
