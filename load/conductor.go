package load

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// conductor is the part of a crew that only the conducting goroutine touches.
type conductor struct {
	books       [2]*book
	step        int // next of steps
	stage       int // next of stages
	phase       string
	counted     int64 // until when the offered operations are counted
	ticked      int64 // when intervals are closed next
	gauged      int64 // when operations under way are counted next
	looked      int64 // when the conductor looked last
	amnesty     int64 // until when no worker is given up
	watched     int64 // when all workers are looked at next
	looks       int64 // how often that was done
	cut         int64 // when the run was interrupted, 0 if it was not
	backingOff  bool
	abandoned   int64
	displaced   int64
	rejected    int64
	err         error // of the sink
	interrupted bool
}

// conduct runs the crew to its end.
func (c *crew) conduct(ctx context.Context) (Report, error) {
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
			c.interrupt(EventInterrupted, "the run was interrupted")
		case <-abort:
			abort = nil
			c.aborted.Store(true)
			c.interrupt(EventAborted, "the run was aborted")
		}
		now := c.now()
		c.catchUp(now)
		timer.Reset(time.Duration(c.nextWake(now) - now))
	}
	return c.settle()
}

// over reports whether nothing more can happen. A window with an end is always seen through, even if
// all workers are done before it ends: its length is part of the result.
func (c *crew) over() bool {
	if c.roster.left.Load() > 0 {
		return false
	}
	return c.stopping.Load() || c.until == never || c.allTaken() || c.outOfWork() || c.now() >= c.until
}

// outOfWork reports whether the streams of all workers have come to their end, but for those of workers
// that were given up.
func (c *crew) outOfWork() bool {
	ended := c.limit.ended.Load()
	return ended > 0 && ended+c.abandoned >= int64(len(c.workers))
}

// allTaken reports whether a schedule of limited length was used up.
func (c *crew) allTaken() bool {
	return c.schedule != nil && c.schedule.ticket.Load() >= c.tickets
}

func (c *crew) interrupt(kind, text string) {
	c.halt()
	if !c.interrupted {
		c.interrupted = true
		c.cut = c.now()
		if c.name == PhaseMeasure && c.cut >= c.from && c.cut < c.until {
			c.books[measured].collector.Phase(PhaseDrain, time.Duration(c.cut))
		}
	}
	c.event(c.now(), kind, text)
}

func (c *crew) event(at int64, kind, text string) {
	c.events.add(measure.Event{At: time.Duration(at), Kind: kind, Text: text})
}

// gaugeMean is the mean distance between two looks at how many operations are under way. Distances are
// random (half to one and a half of it), so that they cannot fall in step with the load.
const gaugeMean = int64(10 * time.Millisecond)

// watchPause is how long the conductor sleeps at most; abortPause while it waits for aborted workers.
// If it did not run for stallLeast, the whole process did not.
const (
	watchPause = int64(100 * time.Millisecond)
	abortPause = int64(time.Millisecond)
	stallLeast = int64(500 * time.Millisecond)
)

// lookShare is how many times as long as a look at all workers took the next one waits, so that a million workers do not cost
// the conductor, and the machine, a processor.
const lookShare = 10

// catchUp does everything that is due until now.
func (c *crew) catchUp(now int64) {
	c.moveUsers(now)
	c.announce(now)
	c.countOffered(min(now, c.end()))
	if c.drops && !c.stopping.Load() {
		c.skipLate(now)
	}
	if now >= c.gauged {
		for _, b := range c.books {
			if b != nil {
				b.collector.Gauge(time.Duration(now))
			}
		}
		c.gauged = now + max(gaugeMean/2+rand.Int64N(gaugeMean), lookShare*(c.now()-now))
	}
	c.watchSelf(now)
	c.watchWorkers(now)
	c.watchOutage(now)
	c.watchBackoff(now)
	if now >= c.drained {
		c.halt()
	}
	c.handOver(now)
	c.watchSink()
}

// watchSink keeps a sink that takes long, on a disk that is busy, apart from a process that stood still:
// the workers went on.
func (c *crew) watchSink() {
	now := c.now()
	if took := now - c.looked; took >= stallLeast {
		c.amnesty = now + int64(c.grace) // it may have been the whole process after all
		c.event(now, EventSlowRecord, "keeping the results took "+time.Duration(took).Round(time.Millisecond).String())
	}
	c.looked = now
}

// end is when operations stop falling due.
func (c *crew) end() int64 {
	if c.interrupted {
		return min(c.cut, c.until)
	}
	return c.until
}

// nextWake returns when the conductor has to look again.
func (c *crew) nextWake(now int64) int64 {
	next := min(c.gauged, c.border(now), now+watchPause)
	if c.step < len(c.steps) {
		next = min(next, c.steps[c.step].at)
	}
	if c.stage < len(c.stages) {
		next = min(next, c.stages[c.stage].at)
	}
	for _, t := range []int64{c.from, c.until, c.drained} {
		if t > now {
			next = min(next, t)
		}
	}
	if c.aborted.Load() {
		next = min(next, now+abortPause)
	}
	return max(next, now+1)
}

// border returns the first border of intervals after t.
func (c *crew) border(t int64) int64 {
	start, end := int64(0), c.from
	switch {
	case t >= c.until:
		start, end = c.until, never
	case t >= c.from:
		start, end = c.from, c.until
	}
	width := int64(c.interval)
	return min(start+((t-start)/width+1)*width, end)
}

// moveUsers starts and stops virtual users.
func (c *crew) moveUsers(now int64) {
	for c.step < len(c.steps) && c.steps[c.step].at <= now {
		before := int(c.active.Load())
		after := c.steps[c.step].n
		c.active.Store(int64(after))
		for _, w := range c.workers[min(before, after):after] {
			w.wait.wakeUp()
		}
		c.step++
	}
	if now >= c.until && c.phase != PhaseDrain { // those that are parked have to see that it is over
		for _, w := range c.workers {
			w.wait.wakeUp()
		}
	}
}

// announce reports the borders of phases and stages.
func (c *crew) announce(now int64) {
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

// countOffered counts the operations that fell due until now into the intervals in which they did,
// whether or not a worker took them.
func (c *crew) countOffered(now int64) {
	if !c.dims.Scheduled {
		return
	}
	for c.counted < now {
		c.counted = min(c.border(c.counted), now)
		for phase, n := range c.offered(c.counted) {
			if b := c.books[phase]; b != nil && n > b.offered {
				b.rec.Offered(c.counted-1, n-b.offered)
				b.offered = n
			}
		}
	}
}

// offered returns how many operations fell due before t, by phase. t must not decrease.
func (c *crew) offered(t int64) (n [2]int64) {
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

// skipLate gives up what is too late while all workers are busy.
func (c *crew) skipLate(now int64) {
	early, late := c.schedule.skip(min(now-c.dropAge, c.end()), c.from)
	if early > 0 {
		c.drop(c.books[warm].rec, warm, now, early)
	}
	if late > 0 {
		c.drop(c.books[measured].rec, measured, now, late)
	}
}

// watchSelf notices when this process stood still. Its workers then look as if their sessions had not
// returned, although they had no chance to; they get the grace once more.
func (c *crew) watchSelf(now int64) {
	if gap := now - c.looked; gap >= stallLeast {
		c.amnesty = now + int64(c.grace)
		c.events.add(measure.Event{At: time.Duration(c.looked), Kind: EventStalled,
			Text: "this process did not run for " + time.Duration(gap).Round(time.Millisecond).String(),
			Data: map[string]string{"gap_ns": strconv.FormatInt(gap, 10)}})
	}
	c.looked = now
}

// watchWorkers gives up workers whose session does not return: past deadline and grace, or at once if
// the run is aborted.
func (c *crew) watchWorkers(now int64) {
	if now < c.watched {
		return
	}
	c.looks++
	aborted := c.aborted.Load()
	for _, w := range c.workers {
		deadline := w.state.Load()
		if deadline <= 0 || !aborted && now <= max(deadline+int64(c.grace), c.amnesty) {
			continue
		}
		if w.state.CompareAndSwap(deadline, abandoned) {
			c.abandon(w, now, aborted)
			c.roster.leave()
		}
	}
	c.watched = now + lookShare*(c.now()-now)
}

// abandon counts the operation of a worker that was given up. What it did is unknown.
func (c *crew) abandon(w *worker, now int64, aborted bool) {
	if c.lost != nil {
		c.lost(w)
	}
	if w.quiet {
		return
	}
	c.abandoned++
	outcome := store.Failed
	for _, r := range w.op.Requests {
		if r.Verb == workload.Insert || r.Verb == workload.Update {
			outcome = store.Indeterminate
		}
	}
	reason, text := store.Timeout, "the session did not return after its deadline; its worker was given up"
	if aborted {
		reason, text = store.Client, "the run was aborted before the answer came"
	} else {
		c.event(now, EventAbandoned, fmt.Sprintf("worker %d: %s", w.id, text))
	}
	w.settleLost(outcome, reason, now)
	w.rec[w.phase].End()
	rec := c.books[w.phase].rec // that of the worker may be in use by others of its loop
	rec.Record(&measure.Sample{End: now, Service: now - w.start, Response: now - w.due, Attempts: 1,
		Class: uint8(w.op.Class), Outcome: uint8(outcome)})
	rec.Fail(measure.Failure{Class: c.classes[w.op.Class].Name, Outcome: outcome.String(),
		Reason: reason.String()}, now, text)
}

// watchBackoff reports when workers begin and cease to pause.
func (c *crew) watchBackoff(now int64) {
	n := c.pausing.Load()
	if (n > 0) == c.backingOff {
		return
	}
	c.backingOff = n > 0
	if c.backingOff {
		c.event(now, EventBackoff, fmt.Sprintf("%d workers pause between operations: nothing can be sent", n))
	} else {
		c.event(now, EventBackoffEnd, "operations can be sent again")
	}
}

// handOver gives the sink what happened and, once per interval, the intervals that can be closed.
func (c *crew) handOver(now int64) {
	c.handOverEvents()
	if now < c.ticked {
		return
	}
	c.ticked = c.border(now)
	var closed []*measure.Interval
	for i, b := range c.books {
		if b != nil {
			closed = append(closed, c.kept(i, c.keep(b.collector.Tick(time.Duration(now))))...)
		}
	}
	c.handOverIntervals(closed)
	if c.books[warm] != nil && now > c.from && c.warming.Load() == 0 {
		c.handOverIntervals(c.kept(warm, c.keep(c.books[warm].collector.Finish(time.Duration(now)))))
		c.lose(c.books[warm])
		c.books[warm] = nil
	}
}

// lose takes over what a book could not count as it should.
func (c *crew) lose(b *book) {
	c.displaced += b.collector.Displaced()
	c.rejected += b.collector.Rejected()
}

func (c *crew) handOverEvents() {
	events := c.events.take()
	slices.SortStableFunc(events, func(a, b measure.Event) int { return cmp.Compare(a.At, b.At) })
	for _, e := range events {
		if c.err == nil {
			c.fail(c.sink.Event(e))
		}
	}
}

func (c *crew) handOverIntervals(closed []*measure.Interval) {
	slices.SortStableFunc(closed, func(a, b *measure.Interval) int { return cmp.Compare(a.Start, b.Start) })
	for _, iv := range closed {
		iv.Workers = c.usersAt(int64(iv.End))
		if c.err == nil {
			c.fail(c.sink.Interval(iv))
		}
	}
}

// fail ends the run because its results cannot be kept.
func (c *crew) fail(err error) {
	if err == nil {
		return
	}
	if c.err == nil {
		c.err = fmt.Errorf("load: the run was ended because its results cannot be kept: %w", err)
	}
	if !c.stopping.Load() {
		c.cut, c.interrupted = c.now(), true
		c.halt()
	}
}

func (c *crew) keep(closed []*measure.Interval, err error) []*measure.Interval {
	c.fail(err)
	return closed
}

// kept leaves out intervals in which nothing of their phase can be: the main phase before it began,
// and late ends of the warm-up if there were none.
func (c *crew) kept(phase int, closed []*measure.Interval) []*measure.Interval {
	return slices.DeleteFunc(closed, func(iv *measure.Interval) bool {
		if phase == measured {
			return int64(iv.Start) < c.from
		}
		return int64(iv.Start) >= c.from && empty(iv)
	})
}

func empty(iv *measure.Interval) bool {
	for _, class := range iv.Classes {
		for _, n := range class.Counts {
			if n > 0 {
				return false
			}
		}
	}
	return iv.Offered == 0 && iv.Dropped == 0 && len(iv.Failures) == 0
}

// usersAt returns how many workers there were at t, without those that were given up.
func (c *crew) usersAt(t int64) int {
	n := 0
	for _, s := range c.steps {
		if s.at > t {
			break
		}
		n = s.n
	}
	return max(0, n-int(c.abandoned))
}
