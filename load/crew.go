package load

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// crew is the workers of a run and what they share, with each other and with the [controller]. It is on the path of
// every operation: what is not atomic or behind a lock of its own does not change after start.
type crew struct {
	plan
	clock
	store    store.Store
	workers  []*worker
	loops    []*eventLoop // none: every worker is a goroutine
	schedule *schedule    // of an open loop, otherwise nil
	limit    *limit
	roster   *roster

	stop     chan struct{}   // closed when no new operation shall be sent
	once     sync.Once       // closes it
	stopping atomic.Bool     // the same, for workers that do not wait
	aborted  atomic.Bool     // what is under way is not awaited either
	active   atomic.Int64    // virtual users that shall work: the workers with lower numbers
	warming  atomic.Int64    // workers that may still count for the warm-up
	pausing  atomic.Int64    // workers that back off
	backoffs atomic.Int64    // pauses taken for that
	dropped  [2]atomic.Int64 // operations given up, by phase
	outage   outage
	events   eventQueue
}

// newCrew prepares n workers, without sessions.
func newCrew(p plan, n int, st store.Store) *crew {
	c := &crew{plan: p, store: st, limit: &limit{}, stop: make(chan struct{}), roster: newRoster(n)}
	for i := range n {
		w := &worker{crew: c, id: i}
		w.lastOK.Store(-1)
		c.workers = append(c.workers, w)
	}
	return c
}

// newRun builds the crew of [Run] and who conducts it.
func newRun(cfg Config, w workload.Workload, st store.Store, sink measure.Sink) *controller {
	n := cfg.MaxWorkers()
	crew := newCrew(planOf(cfg, w), n, st)
	c := newController(crew, sink)
	var t task
	switch {
	case cfg.Open():
		crew.schedule = newSchedule(newArrivals(cfg, crew.tickets))
		c.counter = newCounter(newArrivals(cfg, crew.tickets), crew.from)
		t = openLoop{crew.schedule}
	case cfg.Pace != 0:
		crew.limit.most = cfg.Operations
		t = pacedLoop{tick: ticksFor(cfg.Pace), seed: cfg.Seed}
	default:
		crew.limit.most = cfg.Operations
		t = closedLoop{}
	}
	for i, wk := range crew.workers {
		wk.task, wk.stream = t, w.Stream(i, n)
		wk.verify, _ = wk.stream.(workload.Verifier)
		wk.ender, _ = wk.stream.(workload.Ender)
		wk.settler, _ = wk.stream.(Settler)
		_, apart := wk.stream.(Apart)
		wk.turns = wk.settler != nil && wk.verify != nil && !apart
	}
	return c
}

// openers is how many sessions are opened at the same time: authentication takes tens of milliseconds
// of both sides' processors per session.
const openers = 16

// open opens the session of every worker. If one fails, or ctx ends or the run is aborted before all
// are open, the others are closed again.
func (c *crew) open(ctx context.Context) error {
	var next atomic.Int64
	var stopping atomic.Bool
	errs := make([]error, len(c.workers))
	done := make(chan struct{})
	var group sync.WaitGroup
	for range min(openers, len(c.workers)) {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(c.workers)); i = next.Add(1) - 1 {
				if stopping.Load() {
					return
				}
				if c.workers[i].session, errs[i] = c.store.Session(int(i)); errs[i] != nil {
					stopping.Store(true) // one is enough
				}
			}
		})
	}
	go func() { group.Wait(); close(done) }()
	giveUp := func(why error) error { // sessions that are being opened are closed when they are open
		stopping.Store(true)
		go func() { <-done; c.closeSessions() }()
		return fmt.Errorf("load: interrupted while opening sessions: %w", why)
	}
	select {
	case <-done:
	case <-ctx.Done():
		return giveUp(ctx.Err())
	case <-c.abort:
		return giveUp(context.Canceled)
	}
	for i, err := range errs {
		if err != nil {
			c.closeSessions()
			return fmt.Errorf("load: cannot open the session of worker %d of %d: %w", i, len(c.workers), err)
		}
	}
	return nil
}

// closeSessions closes sessions that nothing was done with.
func (c *crew) closeSessions() {
	for _, w := range c.workers {
		if w.session != nil {
			_ = w.session.Close()
		}
	}
}

// halt makes all workers end after what they have under way.
func (c *crew) halt() {
	c.stopping.Store(true)
	c.once.Do(func() {
		close(c.stop)
		for _, l := range c.loops { // its workers cannot watch a channel
			l.wakeAll()
		}
	})
}

// roster counts the workers that have not ended. Only the last one that ends wakes the controller, which looks at every
// worker when it wakes: if every worker woke it, the end of a run would take the square of their number.
type roster struct {
	left atomic.Int64
	gone chan struct{} // closed when nobody is left
}

func newRoster(n int) *roster {
	r := &roster{gone: make(chan struct{})}
	r.left.Store(int64(n))
	return r
}

// leave takes one worker off, one that ended or one that was abandoned.
func (r *roster) leave() {
	if r.left.Add(-1) == 0 {
		close(r.gone)
	}
}

// drop counts n operations of a phase that are abandoned.
func (c *crew) drop(rec *measure.Recorder, phase int, now, n int64) {
	rec.Dropped(now, n)
	c.dropped[phase].Add(n)
}
