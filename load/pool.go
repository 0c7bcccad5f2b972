package load

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/plimsoll-bench/plimsoll/internal/loop"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// pool is the workers of a run and their shared state. It is on the path of every operation: fields that are not atomic
// and have no lock do not change after start.
type pool struct {
	plan
	clock
	store    store.Store
	workers  []*worker
	tasks    []*loop.Task // of the workers, nil if every worker is a goroutine
	schedule *schedule    // of an open loop, otherwise nil
	limit    *limit
	roster   *roster
	free     int64 // workers that no schedule drives

	stop     chan struct{}   // closed to send no new operation
	once     sync.Once       // closes it
	stopping atomic.Bool     // the same, for running workers
	aborted  atomic.Bool     // do not wait for current operations
	active   atomic.Int64    // active virtual users: the workers with lower numbers
	warming  atomic.Int64    // workers that may still record warm-up operations
	pausing  atomic.Int64    // workers that back off
	backoffs atomic.Int64    // pauses taken for that
	dropped  [2]atomic.Int64 // operations, by phase
	outage   outage
	events   eventQueue
}

// newPool prepares n workers, without sessions.
func newPool(p plan, n int, st store.Store) *pool {
	c := &pool{plan: p, store: st, limit: &limit{}, stop: make(chan struct{}), roster: newRoster(n)}
	for i := range n {
		w := &worker{pool: c, id: i}
		w.lastOK.Store(-1)
		c.workers = append(c.workers, w)
	}
	return c
}

func newRun(cfg Config, w workload.Workload, st store.Store, sink measure.Sink) *controller {
	n := cfg.MaxWorkers()
	pool := newPool(planOf(cfg, w), n, st)
	c := newController(pool, sink)
	var t task
	switch {
	case cfg.Open():
		pool.schedule = newSchedule(newArrivals(cfg, pool.tickets))
		c.counter = newCounter(newArrivals(cfg, pool.tickets), pool.from)
		t = openLoop{pool.schedule}
	case cfg.Pace != 0:
		pool.limit.most = cfg.Turns.Before(cfg.Operations)
		t = pacedLoop{tick: ticksFor(cfg.Pace), seed: cfg.Seed}
	default:
		pool.limit.most = cfg.Turns.Before(cfg.Operations)
		t = closedLoop{}
	}
	for i, wk := range pool.workers {
		wk.task, wk.stream = t, w.Stream(i, n)
		if wk.stream.Free {
			wk.task = freeLoop{}
			pool.free++
		}
		if cfg.Observe != nil {
			wk.observe = cfg.Observe(i)
		}
	}
	return c
}

// openers is how many sessions are opened at the same time. Authentication takes tens of milliseconds of processor time
// per session on both sides.
const openers = 16

// open opens the sessions of all workers. If one fails, ctx ends or the run is aborted, it closes the others.
func (c *pool) open(ctx context.Context) error {
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
	giveUp := func(why error) error { // sessions that are being opened are closed then
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

// closeSessions closes unused sessions.
func (c *pool) closeSessions() {
	for _, w := range c.workers {
		if w.session != nil {
			_ = w.session.Close()
		}
	}
}

// halt makes all workers end after their current operations.
func (c *pool) halt() {
	c.stopping.Store(true)
	c.once.Do(func() {
		close(c.stop)
		for _, t := range c.tasks { // workers of a loop do not watch a channel
			t.Wake()
		}
	})
}

// roster counts the running workers. Only the last one wakes the controller, which then checks every worker. Otherwise
// the end of a run would take time quadratic in the number of workers.
type roster struct {
	left atomic.Int64
	gone chan struct{} // closed when all workers have ended
}

func newRoster(n int) *roster {
	r := &roster{gone: make(chan struct{})}
	r.left.Store(int64(n))
	return r
}

// leave removes a worker that ended or was abandoned.
func (r *roster) leave() {
	if r.left.Add(-1) == 0 {
		close(r.gone)
	}
}

// drop counts n dropped operations of a phase.
func (c *pool) drop(rec *measure.Recorder, phase int, now, n int64) {
	rec.Dropped(now, n)
	c.dropped[phase].Add(n)
}
