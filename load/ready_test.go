package load

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-bench/plimsoll/store"
)

// Ready is called once, before anything is sent, and the run starts when it returns.
func TestReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, calls := &fakeWorkload{}, 0
		begun := time.Now()
		cfg := Config{Workers: 3, Duration: time.Second, Ready: func(context.Context) error {
			calls++
			time.Sleep(5 * time.Second)
			if w.done.Load() != 0 {
				t.Errorf("%d operations were done before the start", w.done.Load())
			}
			return nil
		}}
		r, sink := mustRun(t, cfg, w, newFakeStore(serving(10*time.Millisecond)))
		if calls != 1 || r.Started.Sub(begun) != 5*time.Second {
			t.Errorf("Ready was called %d times and the run started after %v", calls, r.Started.Sub(begun))
		}
		if got := sink.count(classRead, store.OK); got != 300 {
			t.Errorf("counted %d operations, want 300", got)
		}
	})
}

// An error of Ready ends the run before its first operation, and the sessions are given back.
func TestReadyFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, st, broken := &fakeWorkload{}, newFakeStore(serving(time.Millisecond)), errors.New("broken")
		cfg := Config{Workers: 3, Duration: time.Second, PlainTimers: true, Ready: func(context.Context) error {
			return broken
		}}
		if _, err := Run(t.Context(), cfg, w, st, &memorySink{}); !errors.Is(err, broken) {
			t.Errorf("error %v", err)
		}
		if w.done.Load() != 0 || st.closed.Load() != 3 {
			t.Errorf("%d operations were done, %d of 3 sessions closed", w.done.Load(), st.closed.Load())
		}
	})
}

// A run that is interrupted while it waits for the start says so, like one interrupted while it opens.
func TestReadyInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		st := newFakeStore(serving(time.Millisecond))
		cfg := Config{Workers: 2, Duration: time.Second, PlainTimers: true, Ready: func(ctx context.Context) error {
			cancel()
			<-ctx.Done()
			return ctx.Err()
		}}
		r, err := Run(ctx, cfg, &fakeWorkload{}, st, &memorySink{})
		if err != nil || !r.Interrupted || st.closed.Load() != 2 {
			t.Errorf("report %+v, error %v, %d of 2 sessions closed", r, err, st.closed.Load())
		}
	})
}
