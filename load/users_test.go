package load

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-bench/plimsoll/store"
)

// TestVirtualUsers: users come and go by the plan, a leaving one ends its operation first, and
// intervals say how many there were.
func TestVirtualUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newFakeStore(serving(100 * time.Millisecond))
		s := time.Second
		cfg := Config{Workers: 1, Warmup: 2 * s, Stages: []Stage{{Duration: 4 * s, Workers: 5}, {Duration: 2 * s, Workers: 5},
			{Duration: 2 * s, Workers: 1}}}
		r, sink := mustRun(t, cfg, &fakeWorkload{}, st)
		var users []int
		var done []int64
		for _, iv := range sink.in(PhaseMeasure) {
			users = append(users, iv.Workers)
			done = append(done, iv.Classes[classRead].Counts[store.OK])
		}
		if want := []int{2, 3, 4, 5, 5, 5, 3, 1}; !slices.Equal(users, want) {
			t.Errorf("users %v, want %v", users, want)
		}
		if r.Workers != 5 || r.Until != 10*s || st.opened.Load() != 5 {
			t.Errorf("report %+v", r)
		}
		for i, lowest := range []int64{8, 18, 28, 38, 48, 48, 43, 25} {
			if done[i] < lowest || done[i] > lowest+5 {
				t.Errorf("second %d: %d operations, want about %d", i, done[i], lowest+2)
			}
		}
		if sink.count(classRead, store.OK) != r.Measured.Sent+r.Warmup.Sent {
			t.Errorf("%d operations counted, report %+v", sink.count(classRead, store.OK), r)
		}
	})
}

func TestParkedUsersEndWithTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newFakeStore(serving(10 * time.Millisecond))
		s := time.Second
		for _, cfg := range []Config{
			{Workers: 3, Stages: []Stage{{Duration: s, Workers: 1}, {Duration: 3 * s, Workers: 1}}},
			{Workers: 3, Operations: 50, Stages: []Stage{{Workers: 1, Step: true}}},
			{Workers: 3, Pace: 10, Stages: []Stage{{Duration: s, Workers: 1}, {Duration: 3 * s, Workers: 1}}},
		} {
			if r, _ := mustRun(t, cfg, &fakeWorkload{}, st); r.End > 4100*time.Millisecond || r.Interrupted {
				t.Errorf("report %+v", r)
			}
		}
	})
}

// times collects when each worker sent.
type times struct {
	mu sync.Mutex
	of map[int][]time.Duration
}

func (t *times) note(c call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = map[int][]time.Duration{}
	}
	t.of[c.worker] = append(t.of[c.worker], c.at)
}

// TestPaceIsYCSBs: ticks start after a random part of the first one, come at whole multiples, and a
// late worker sends back to back until it has caught up, however much that is.
func TestPaceIsYCSBs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent times
		st := newFakeStore(func(c call, res *store.Result) {
			sent.note(c)
			stalling(time.Millisecond, 3*time.Second, 5*time.Second)(c, res)
		})
		const seed = 11
		r, sink := mustRun(t, Config{Workers: 3, Pace: 20, Seed: seed, Duration: 8 * time.Second}, &fakeWorkload{}, st)
		tick := 50 * time.Millisecond
		for worker, at := range sent.of {
			stagger := time.Duration(rand.New(rand.NewPCG(seed, uint64(worker))).Int64N(int64(tick)))
			for k, got := range at {
				want := stagger + time.Duration(k)*tick
				if want > 3*time.Second && want < 5200*time.Millisecond {
					continue // the stall and the catching up
				}
				if got != want {
					t.Errorf("worker %d: operation %d at %v, want %v", worker, k, got, want)
				}
			}
			if len(at) != 160 {
				t.Errorf("worker %d sent %d operations, want all 160 ticks of 8 s", worker, len(at))
			}
		}
		if want := (Tally{Offered: 480, Sent: 480}); r.Measured != want {
			t.Errorf("measured %+v, want %+v", r.Measured, want)
		}
		resp := sink.merged(t, response, classRead)
		if d := time.Duration(resp.Max()); d < 1900*time.Millisecond || d > 2001*time.Millisecond {
			t.Errorf("longest response time %v, want the stall of 2 s in it", d)
		}
		offered, _ := sink.sums()
		if offered != 480 {
			t.Errorf("intervals have %d offered, want 480", offered)
		}
	})
}

func TestPaceAboveOneKilohertzDoesNotStagger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent times
		st := newFakeStore(func(c call, _ *store.Result) { sent.note(c) })
		r, _ := mustRun(t, Config{Workers: 2, Pace: 2000, Operations: 100}, &fakeWorkload{}, st)
		for worker, at := range sent.of {
			for k, got := range at {
				if want := time.Duration(k) * 500 * time.Microsecond; got != want {
					t.Fatalf("worker %d: operation %d at %v, want %v", worker, k, got, want)
				}
			}
		}
		if r.Measured.Sent != 100 || !r.ByCount {
			t.Errorf("report %+v", r)
		}
	})
}
