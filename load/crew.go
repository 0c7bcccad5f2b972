package load

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// crew is the workers of a run and all that they share. One goroutine, the conductor (the caller of
// Run or Fill), moves time along, watches over the workers and alone talks to the sink.
type crew struct {
	clock
	name     string // of the main phase
	timeout  time.Duration
	grace    time.Duration
	interval time.Duration
	plain    bool
	alone    bool // no worker ever waits for another one
	abort    <-chan struct{}

	from    int64 // of the measured window
	until   int64 // of the measured window, never if it has no end
	drained int64 // when nothing due in the window is sent any more

	store   store.Store
	sink    measure.Sink
	dims    measure.Dims
	classes []measure.Class
	workers []*worker
	steps   []userStep
	stages  []stageStart

	schedule *schedule // of an open loop
	counter  *counter
	tickets  int64 // how many operations the schedule has, never if it has no end
	drops    bool
	dropAge  int64
	limit    *limit

	loops    []*eventLoop // none: every worker is a goroutine
	stop     chan struct{}
	once     sync.Once
	stopping atomic.Bool
	aborted  atomic.Bool
	roster   *roster
	active   atomic.Int64 // virtual users that shall work: the workers with lower numbers
	warming  atomic.Int64 // workers that may still count for the warm-up
	pausing  atomic.Int64 // workers that back off
	backoffs atomic.Int64
	dropped  [2]atomic.Int64
	outage   outage
	events   eventQueue
	lost     func(*worker) // told of every worker that was given up, nil for nobody

	conductor
}

// newCrew prepares n workers, without sessions.
func newCrew(n int, w workload.Workload, st store.Store, sink measure.Sink, scheduled bool) *crew {
	c := &crew{store: st, sink: sink, dims: Dims(w, scheduled), stop: make(chan struct{}), limit: &limit{},
		until: never, drained: never, tickets: never, roster: newRoster(n)}
	c.classes = c.dims.Classes
	c.steps = []userStep{{n: n}}
	for i := range n {
		wk := &worker{crew: c, id: i}
		wk.lastOK.Store(-1)
		c.workers = append(c.workers, wk)
	}
	return c
}

// newRun builds the crew of [Run].
func newRun(cfg Config, w workload.Workload, st store.Store, sink measure.Sink) (*crew, error) {
	n := cfg.MaxWorkers()
	c := newCrew(n, w, st, sink, cfg.Scheduled())
	c.name, c.abort, c.plain = PhaseMeasure, cfg.Abort, cfg.PlainTimers
	c.timeout, c.grace, c.interval, c.alone = cfg.Timeout, cfg.Grace, cfg.Interval, true
	c.from, c.until = cfg.bounds()
	if c.until != never {
		c.drained = c.until
		if cfg.Scheduled() {
			c.drained += int64(cfg.Timeout)
		}
	}
	c.steps, c.stages = userSteps(cfg), stageStarts(cfg)
	t := c.newTask(cfg)
	for i, wk := range c.workers {
		wk.task, wk.stream = t, w.Stream(i, n)
		wk.verify, _ = wk.stream.(workload.Verifier)
		wk.ender, _ = wk.stream.(workload.Ender)
		wk.settler, _ = wk.stream.(Settler)
		_, apart := wk.stream.(Apart)
		wk.turns = wk.settler != nil && wk.verify != nil && !apart
	}
	return c, nil
}

func (c *crew) newTask(cfg Config) task {
	switch {
	case cfg.Open():
		return c.newOpenLoop(cfg)
	case cfg.Pace != 0:
		c.limit.most = cfg.Operations
		return pacedLoop{limit: c.limit, tick: ticksFor(cfg.Pace), seed: cfg.Seed}
	}
	c.limit.most = cfg.Operations
	return closedLoop{limit: c.limit}
}

func (c *crew) newOpenLoop(cfg Config) task {
	if cfg.Operations > 0 {
		warmup := newCounter(newArrivals(cfg, math.MaxInt64), c.from).before(c.from)[warm]
		c.tickets = warmup + cfg.Operations
	}
	c.schedule = newSchedule(newArrivals(cfg, c.tickets))
	c.counter = newCounter(newArrivals(cfg, c.tickets), c.from)
	c.drops, c.dropAge = cfg.Late == Drop, never
	if c.drops {
		c.dropAge = int64(cfg.DropAfter)
	}
	return openLoop{schedule: c.schedule, drop: c.dropAge}
}

// phaseOf returns the phase of what was due at t.
func (c *crew) phaseOf(t int64) int {
	if t < c.from {
		return warm
	}
	return measured
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

// drop counts n operations of a phase that are given up.
func (c *crew) drop(rec *measure.Recorder, phase int, now, n int64) {
	rec.Dropped(now, n)
	c.dropped[phase].Add(n)
}

// openers is how many sessions are opened at the same time: authentication takes tens of milliseconds
// of both sides' processors per session.
const openers = 16

// open opens the session of every worker. If one fails, or ctx ends or the run is aborted before all
// are open, the others are closed again.
func (c *crew) open(ctx context.Context) error {
	var next atomic.Int64
	errs := make([]error, len(c.workers))
	done := make(chan struct{})
	var group sync.WaitGroup
	for range min(openers, len(c.workers)) {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(c.workers)); i = next.Add(1) - 1 {
				if c.stopping.Load() {
					return
				}
				if c.workers[i].session, errs[i] = c.store.Session(int(i)); errs[i] != nil {
					c.stopping.Store(true) // one is enough
				}
			}
		})
	}
	go func() { group.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
		return c.giveUpOpening(done, ctx.Err())
	case <-c.abort:
		return c.giveUpOpening(done, context.Canceled)
	}
	for i, err := range errs {
		if err != nil {
			c.closeSessions()
			return fmt.Errorf("load: opening the session of worker %d of %d: %w", i, len(c.workers), err)
		}
	}
	return nil
}

// giveUpOpening leaves sessions that are being opened to be closed when they are open.
func (c *crew) giveUpOpening(done <-chan struct{}, why error) error {
	c.stopping.Store(true)
	go func() { <-done; c.closeSessions() }()
	return fmt.Errorf("load: interrupted while sessions were being opened: %w", why)
}

func (c *crew) closeSessions() {
	for _, w := range c.workers {
		if w.session != nil {
			_ = w.session.Close() // nothing was done with it
		}
	}
}

// start makes what needs the clock of the run, and sets the workers going.
func (c *crew) start() error {
	c.base = time.Now()
	if err := c.makeBooks(); err != nil {
		return err
	}
	if err := c.makeWaiters(); err != nil {
		return err
	}
	c.makeRecorders()
	c.warming.Store(int64(len(c.workers)))
	c.active.Store(int64(c.steps[0].n))
	c.step, c.looked = 1, c.now()
	if len(c.loops) == 0 {
		for _, w := range c.workers {
			go w.main()
		}
	}
	for _, l := range c.loops {
		go l.loop.Run()
	}
	return nil
}

// makeRecorders gives every goroutine a recorder for each phase: the workers of an event loop share theirs, which then stays in the
// caches of the processor.
func (c *crew) makeRecorders() {
	shares := len(c.loops)
	if shares == 0 {
		shares = len(c.workers)
	}
	for i, w := range c.workers {
		if i >= shares {
			first := c.workers[i%shares]
			w.rec, w.sharing = first.rec, first.sharing
		} else {
			w.sharing = new(int)
			for phase, b := range c.books {
				if b != nil {
					w.rec[phase] = b.collector.Recorder()
				}
			}
		}
		*w.sharing++
	}
}

// makeWaiters decides what the workers run on, event loops or goroutines.
func (c *crew) makeWaiters() error {
	if c.onLoops() {
		return c.makeLoops()
	}
	for _, w := range c.workers {
		var err error
		if c.plain || !c.dims.Scheduled { // nothing to be precise about, and a timer costs a file
			w.wait = newTimerWaiter(c.clock, c.stop)
		} else if w.wait, err = newPreciseWaiter(c.clock, c.stop); err != nil {
			return err
		}
	}
	return nil
}

// makeBooks makes the collectors: one of the main phase and, with a warm-up, one of its own for that.
func (c *crew) makeBooks() (err error) {
	if c.from > 0 {
		if c.books[warm], err = newBook(c, PhaseWarmup); err != nil {
			return err
		}
		// Those that end late do not make the warm-up longer, or its rates would be too small.
		c.books[warm].collector.Phase(PhaseWarmupDrain, time.Duration(c.from))
	}
	first := c.name
	if c.from > 0 {
		first = PhaseWarmup // nothing is ever counted in it
	}
	if c.books[measured], err = newBook(c, first); err != nil {
		return err
	}
	if c.from > 0 {
		c.books[measured].collector.Phase(c.name, time.Duration(c.from))
	}
	if c.until != never {
		c.books[measured].collector.Phase(PhaseDrain, time.Duration(c.until))
	}
	return nil
}

// book is where one phase is counted.
type book struct {
	collector *measure.Collector
	rec       *measure.Recorder // the conductor's own
	offered   int64             // handed to rec so far
}

func newBook(c *crew, phase string) (*book, error) {
	collector, err := measure.NewCollector(measure.Options{Dims: c.dims, Phase: phase, Width: c.interval})
	if err != nil {
		return nil, err
	}
	return &book{collector: collector, rec: collector.Recorder()}, nil
}
