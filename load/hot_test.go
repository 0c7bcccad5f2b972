package load

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/store"
)

// bench prepares a pool whose first worker can be stepped by hand.
func bench(tb testing.TB, cfg Config, w *fakeWorkload) *worker {
	tb.Helper()
	st := newFakeStore(func(_ call, res *store.Result) { res.Docs, res.Bytes = 1, 1000 })
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		tb.Fatal(err)
	}
	c := newRun(cfg, w, st, &memorySink{})
	if err := c.open(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	c.base = time.Now()
	if err := c.counts.open(&c.plan, nil); err != nil {
		tb.Fatal(err)
	}
	c.active.Store(int64(len(c.workers)))
	wk := c.workers[0]
	var err error
	if wk.wait, err = newPreciseWaiter(&c.clock, c.stop); err != nil {
		tb.Fatal(err)
	}
	c.giveRecorders(&c.counts, len(c.workers))
	return wk
}

// TestNoAllocationPerOperation steps a worker by hand. An open loop makes a block of due times every
// 1024 operations, which is less than one allocation per operation and rounds to none.
func TestNoAllocationPerOperation(t *testing.T) {
	for name, test := range map[string]struct {
		cfg Config
		w   *fakeWorkload
	}{
		"closed":       {Config{Workers: 1, Duration: time.Hour}, &fakeWorkload{}},
		"parts":        {Config{Workers: 1, Duration: time.Hour}, &fakeWorkload{parts: 3}},
		"verifying":    {Config{Workers: 1, Duration: time.Hour}, &fakeWorkload{checking: true}},
		"open, late":   {Config{Workers: 1, Rate: 1e8, Arrivals: Poisson, Duration: time.Hour}, &fakeWorkload{}},
		"open, early":  {Config{Workers: 1, Rate: 20_000, Duration: time.Hour}, &fakeWorkload{}},
		"open, drop":   {Config{Workers: 1, Rate: 1e8, Late: Drop, DropAfter: 1, Duration: time.Hour}, &fakeWorkload{}},
		"paced":        {Config{Workers: 1, Pace: 20_000, Duration: time.Hour}, &fakeWorkload{}},
		"with warm-up": {Config{Workers: 1, Warmup: time.Hour, Duration: time.Hour}, &fakeWorkload{}},
	} {
		t.Run(name, func(t *testing.T) {
			w := bench(t, test.cfg, test.w)
			for range 1000 {
				w.task.step(w)
			}
			if n := testing.AllocsPerRun(3000, func() { w.task.step(w) }); n != 0 {
				t.Errorf("%v allocations per operation", n)
			}
		})
	}
}

// TestPreciseWaiter: it never wakes early, and it wakes when the run stops, whatever it waits for.
func TestPreciseWaiter(t *testing.T) {
	stop := make(chan struct{})
	c := &clock{base: time.Now()}
	w, err := newPreciseWaiter(c, stop)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	for _, d := range []time.Duration{0, -time.Second, 1, 10 * time.Microsecond, time.Millisecond, 70 * time.Millisecond} {
		due := c.now() + int64(d)
		if !w.until(due) {
			t.Fatalf("waiting for %v was interrupted", d)
		}
		if early := due - c.now(); early > 0 {
			t.Errorf("waiting for %v ended %v too early", d, time.Duration(early))
		}
	}
	go close(stop)
	if w.until(c.now() + int64(time.Hour)) {
		t.Error("waiting for an hour was not interrupted")
	}
}

// TestRunOnTheRealClock covers what bubbles cannot: the kernel's timers under all kinds of loads.
func TestRunOnTheRealClock(t *testing.T) {
	for name, cfg := range map[string]Config{
		"closed": {Workers: 8, Operations: 50_000},
		"open":   {Workers: 8, Rate: 20_000, Arrivals: Poisson, Operations: 3_000, Warmup: 10 * time.Millisecond},
		"paced":  {Workers: 8, Pace: 500, Operations: 800},
		"users":  {Workers: 0, Operations: 2000, Stages: []Stage{{Duration: 20 * time.Millisecond, Workers: 8}}},
	} {
		t.Run(name, func(t *testing.T) {
			st := newFakeStore(func(_ call, res *store.Result) { runtime.Gosched() })
			sink := &memorySink{}
			r, err := Run(t.Context(), cfg, &fakeWorkload{}, st, sink)
			if err != nil {
				t.Fatal(err)
			}
			got := sink.count(classRead, store.OK, PhaseMeasure)
			if got != cfg.Operations || r.Measured.Sent != cfg.Operations || r.Displaced != 0 {
				t.Errorf("%d operations counted, report %+v", got, r)
			}
		})
	}
}

// BenchmarkClosedLoop is what this package and the recording of package measure cost per operation.
func BenchmarkClosedLoop(b *testing.B) {
	w := bench(b, Config{Workers: 1, Duration: time.Hour}, &fakeWorkload{})
	for b.Loop() {
		w.task.step(w)
	}
}

// BenchmarkOpenLoop is the same for an open loop that is behind its schedule.
func BenchmarkOpenLoop(b *testing.B) {
	w := bench(b, Config{Workers: 1, Rate: 1e8, Arrivals: Poisson, Duration: time.Hour}, &fakeWorkload{})
	for b.Loop() {
		w.task.step(w)
	}
}

// lateness merges how late a run sent in its measured window.
func lateness(b *testing.B, sink *memorySink) *measure.Histogram {
	all := measure.NewHistogram()
	for _, iv := range sink.in(PhaseMeasure) {
		if iv.Lateness != nil {
			if err := all.Merge(iv.Lateness); err != nil {
				b.Fatal(err)
			}
		}
	}
	return all
}

// BenchmarkLateness reports how late an open loop of 20,000/s sends although workers are free.
func BenchmarkLateness(b *testing.B) {
	for _, workers := range []int{16, 64} {
		for _, arrivals := range []Arrivals{Constant, Poisson} {
			b.Run(fmt.Sprintf("%v/%d", arrivals, workers), func(b *testing.B) {
				st := newFakeStore(func(_ call, res *store.Result) {})
				sink := &memorySink{}
				cfg := Config{Workers: workers, Rate: 20_000, Arrivals: arrivals, Duration: 3 * time.Second, Warmup: time.Second}
				for b.Loop() {
					if _, err := Run(b.Context(), cfg, &fakeWorkload{}, st, sink); err != nil {
						b.Fatal(err)
					}
				}
				all := lateness(b, sink)
				b.ReportMetric(float64(all.Quantile(.5))/1e3, "p50-µs")
				b.ReportMetric(float64(all.Quantile(.99))/1e3, "p99-µs")
				b.ReportMetric(float64(all.Quantile(.999))/1e3, "p99.9-µs")
			})
		}
	}
}
