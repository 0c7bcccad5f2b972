package load

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/loop"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/null"
)

// Workers that move to another event loop lose and repeat nothing, in the warm-up, at its end and after it.
func TestBusyLoopSharesItsWorkers(t *testing.T) {
	before := runtime.GOMAXPROCS(4)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	for name, cfg := range map[string]Config{
		"closed":  {Workers: 41, Duration: 5 * time.Second},
		"warm-up": {Workers: 40, Duration: 2 * time.Second, Warmup: 2500 * time.Millisecond},
		"open":    {Workers: 40, Rate: 4000, Arrivals: Poisson, Seed: 1, Duration: 5 * time.Second},
		"paced":   {Workers: 10, Pace: 200, Duration: 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, st := looped(t, "1", null.Options{})
			sink := &memorySink{}
			c := newRun(cfg.withDefaults(), newUpdates(t, cfg.Workers), st, sink)
			if err := c.open(t.Context()); err != nil {
				t.Fatal(err)
			}
			c.spread.look = func(int64, []*eventLoop) (busiest, idle float64) { return 1, 1 }
			report, err := c.conduct(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(c.loops) != 4 {
				t.Errorf("there were %d loops", len(c.loops))
			}
			for i, l := range c.loops {
				if use := l.loop.Use(); use.Busy == 0 {
					t.Errorf("loop %d did nothing", i)
				}
			}
			sent := report.Warmup.Sent + report.Measured.Sent
			if got := int64(r.Requests()); got != sent || sent == 0 {
				t.Errorf("%d operations arrived, %d were sent", got, sent)
			}
			if got := sink.count(0, store.OK) + sink.count(1, store.OK); got != sent {
				t.Errorf("%d of %d operations are counted as done", got, sent)
			}
		})
	}
}

// A loop that is not the limit, or whose machine is busy with other things, stays alone.
func TestLoopStaysAlone(t *testing.T) {
	before := runtime.GOMAXPROCS(4)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	for name, use := range map[string][2]float64{"idle loop": {0.5, 2}, "busy machine": {1, 0.2}} {
		_, st := looped(t, "1", null.Options{})
		c := newRun(Config{Workers: 8, Duration: 3 * time.Second}.withDefaults(), newUpdates(t, 8), st, &memorySink{})
		if err := c.open(t.Context()); err != nil {
			t.Fatal(err)
		}
		var looks atomic.Int64
		c.spread.look = func(int64, []*eventLoop) (busiest, idle float64) { looks.Add(1); return use[0], use[1] }
		if _, err := c.conduct(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(c.loops) != 2 || looks.Load() == 0 {
			t.Errorf("%s: %d loops after %d looks", name, len(c.loops), looks.Load())
		}
	}
}

// A worker that has not moved when another loop is added moves to the loop that invited it first, and counts there: two
// loops with one recorder would write into it at once.
func TestFirstInvitationCounts(t *testing.T) {
	c := newController(&pool{}, &memorySink{})
	c.base = time.Now()
	first, err := loop.New(c.base)
	if err != nil {
		t.Fatal(err)
	}
	c.loops = []*eventLoop{{loop: first}}
	for i := range 12 {
		c.workers = append(c.workers, &worker{pool: c.pool, id: i})
		c.tasks = append(c.tasks, first.Go(func(*loop.Task) {}))
	}
	for range 2 { // the first loop does not run yet, so nobody moves
		if err := c.addLoop(); err != nil {
			t.Fatal(err)
		}
	}
	second, third := c.loops[1], c.loops[2]
	want := map[int]*eventLoop{1: second, 2: third, 3: second, 5: second, 7: second, 8: third, 9: second, 11: second}
	for i, w := range c.workers {
		if got := w.goal.Load(); got != want[i] {
			t.Errorf("worker %d goes to %p, want %p", i, got, want[i])
		}
	}
	first.Run() // its tasks end, so the other loops end too
}
