package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
)

// controller runs a load: it advances phases and stages, watches the workers and calls the sink. Only the goroutine of
// the caller of [Run] or [Fill] uses it and its parts. Workers know the pool only.
type controller struct {
	*pool
	counter *counter // of due operations of an open loop; paced workers count their own
	counts  counts
	out     outlet
	watch   watch
	step    int    // next of steps
	stage   int    // next of stages
	phase   string // announced last
	loops   []*eventLoop
	spread  spread
	gauged  int64 // next time to read the operations in flight
	pauses  bool  // EventBackoff was announced

	interrupted bool
	cut         int64 // when the load ends before its window, otherwise never
}

func newController(c *pool, sink measure.Sink) *controller {
	return &controller{pool: c, out: outlet{sink: sink}, watch: watch{pool: c}, cut: never}
}

func (c *controller) conduct(ctx context.Context) (Report, error) {
	if err := c.start(); err != nil {
		c.closeSessions()
		return Report{}, fmt.Errorf("load: %w", err)
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	ended, abort, gone := ctx.Done(), c.abort, c.roster.gone
	for !c.over() {
		select {
		case <-timer.C:
		case <-gone:
			gone = nil
		case <-ended:
			ended = nil
			if errors.Is(context.Cause(ctx), ErrEnough) {
				c.endAt(c.border(c.now()))
			} else {
				c.interrupt(EventInterrupted, "the run was interrupted")
			}
		case <-abort:
			abort = nil
			c.aborted.Store(true)
			c.interrupt(EventAborted, "the run was aborted")
		}
		now := c.now()
		c.catchUp(now)
		timer.Reset(time.Duration(c.nextWake(now) - now))
	}
	return c.finish()
}

// start starts the workers. The run begins after everything is allocated, because that takes seconds for very many
// workers.
func (c *controller) start() error {
	if err := c.counts.open(&c.plan, c.loopUse); err != nil {
		return err
	}
	loops := c.wantedLoops()
	if loops > 0 {
		c.giveRecorders(&c.counts, loops)
	} else {
		c.giveRecorders(&c.counts, len(c.workers))
		if err := c.makeWaiters(); err != nil {
			return err
		}
	}
	c.base = time.Now()
	if loops > 0 {
		if err := c.makeLoops(loops); err != nil {
			return err
		}
	}
	c.warming.Store(int64(len(c.workers)))
	c.active.Store(int64(c.steps[0].n))
	c.step, c.watch.looked = 1, c.now()
	if len(c.loops) == 0 {
		for _, w := range c.workers {
			go w.main()
		}
	}
	for _, l := range c.loops {
		go l.loop.Run()
	}
	if len(c.loops) > 0 {
		c.spread.begin(c.now())
	}
	return nil
}

// over reports whether the run has ended. A window with an end always runs to its end, also if all workers are done
// before, because its length is part of the result.
func (c *controller) over() bool {
	if c.roster.left.Load() > 0 {
		return false
	}
	return c.stopping.Load() || c.until == never || c.allSent() || c.outOfWork() || c.now() >= c.until
}

// outOfWork reports whether the streams of all workers have ended, except those of abandoned workers.
func (c *controller) outOfWork() bool {
	ended := c.limit.ended.Load()
	return ended > 0 && ended+c.watch.abandoned >= int64(len(c.workers))
}

// allSent reports whether a limited schedule has ended.
func (c *controller) allSent() bool {
	return c.schedule != nil && c.schedule.ticket.Load() >= c.tickets
}

func (c *controller) interrupt(kind, text string) {
	c.halt()
	if !c.interrupted {
		c.interrupted = true
		c.endAt(c.now())
	}
	c.event(c.now(), kind, text)
}

// endAt ends the window at a time from now on.
func (c *controller) endAt(at int64) {
	if c.cut = min(c.cut, at); c.name == PhaseMeasure && c.cut >= c.from && c.cut < c.until {
		c.counts.of[measured].collector.Phase(PhaseDrain, time.Duration(c.cut))
	}
}

// end is when the last operation is due.
func (c *controller) end() int64 { return min(c.cut, c.until) }

const (
	// gaugeEvery is the time between two readings of the operations in flight. Borders of intervals lie between two.
	gaugeEvery = int64(10 * time.Millisecond)
	wakePause  = int64(100 * time.Millisecond) // the longest sleep of the controller
	abortPause = int64(time.Millisecond)       // the same while it waits for aborted workers
)

func (c *controller) catchUp(now int64) {
	c.moveUsers(now)
	c.announce(now)
	if c.dropAge != never && !c.stopping.Load() {
		c.skipLate(now)
	}
	if now >= c.gauged {
		c.counts.gauge(now)
		c.gauged = now + max(gaugeEvery, lookShare*(c.now()-now))
	}
	c.watch.self(now)
	c.watch.overdue(now, &c.counts)
	c.watchOutage(now)
	c.announceBackoff(now)
	c.spreadLoops(now)
	if now >= min(c.drained, c.cut) {
		c.halt()
	}
	c.out.events(&c.events)
	if c.counts.borderPassed(now) {
		c.countOffered(now)
		c.hand(c.counts.tick(now))
		if now > c.from && c.warming.Load() == 0 {
			c.hand(c.counts.closeWarmup(now))
		}
	}
	if c.out.err != nil && !c.stopping.Load() { // no results without a sink
		c.cut, c.interrupted = c.now(), true
		c.halt()
	}
	c.watch.sink(c.now())
}

// countOffered counts the operations that were due until now.
func (c *controller) countOffered(now int64) {
	if c.dims.Scheduled {
		c.counts.countOffered(min(now, c.end()), c.offered)
	}
}

// hand gives closed intervals to the sink, with the number of workers.
func (c *controller) hand(closed []*measure.Interval, err error) {
	c.out.fail(err)
	for _, iv := range closed {
		iv.Workers = max(0, c.usersAt(int64(iv.End))-int(c.watch.abandoned))
	}
	c.out.intervals(closed)
}

// nextWake is the next time at which the controller has something to do.
func (c *controller) nextWake(now int64) int64 {
	next := min(c.gauged, c.border(now), now+wakePause)
	if c.step < len(c.steps) {
		next = min(next, c.steps[c.step].at)
	}
	if c.stage < len(c.stages) {
		next = min(next, c.stages[c.stage].at)
	}
	for _, t := range []int64{c.from, c.until, c.drained, c.cut} {
		if t > now {
			next = min(next, t)
		}
	}
	if c.aborted.Load() {
		next = min(next, now+abortPause)
	}
	return max(next, now+1)
}

func (c *controller) moveUsers(now int64) {
	for c.step < len(c.steps) && c.steps[c.step].at <= now {
		before := int(c.active.Load())
		after := c.steps[c.step].n
		c.active.Store(int64(after))
		for _, w := range c.workers[min(before, after):after] {
			w.wait.wakeUp()
		}
		c.step++
	}
	if now >= c.until && c.phase != PhaseDrain { // wakes parked workers
		for _, w := range c.workers {
			w.wait.wakeUp()
		}
	}
}

// announce reports the borders of phases and stages.
func (c *controller) announce(now int64) {
	phase, at := PhaseWarmup, int64(0)
	if now >= c.from {
		phase, at = c.name, c.from
	}
	if now >= c.end() && c.name == PhaseMeasure {
		phase, at = PhaseDrain, c.end()
	}
	if phase != c.phase {
		c.phase = phase
		c.event(at, EventPhase, phase)
	}
	for c.stage < len(c.stages) && c.stages[c.stage].at <= min(now, c.end()) {
		c.event(c.stages[c.stage].at, EventStage, c.stages[c.stage].text)
		c.stage++
	}
}

// announceBackoff reports when workers start and stop to pause.
func (c *controller) announceBackoff(now int64) {
	n := c.pausing.Load()
	if (n > 0) == c.pauses {
		return
	}
	c.pauses = n > 0
	if c.pauses {
		c.event(now, EventBackoff, fmt.Sprintf("%d workers pause between operations because nothing can be sent", n))
	} else {
		c.event(now, EventBackoffEnd, "operations can be sent again")
	}
}

// skipLate drops operations that are too late while all workers are busy.
func (c *controller) skipLate(now int64) {
	early, late := c.schedule.skip(min(now-c.dropAge, c.end()), c.from)
	if early > 0 {
		c.drop(c.counts.of[warm].rec, warm, now, early)
	}
	if late > 0 {
		c.drop(c.counts.of[measured].rec, measured, now, late)
	}
}

// offered returns how many operations were due before t, by phase. t must not decrease.
func (c *controller) offered(t int64) (n [2]int64) {
	if c.counter != nil {
		return c.counter.before(t)
	}
	for _, w := range c.workers {
		w.pace.mu.Lock()
		due := w.pace.due(t, c.from)
		w.pace.mu.Unlock()
		n[warm] += due[warm]
		n[measured] += due[measured]
	}
	return n
}
