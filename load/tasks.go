package load

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-bench/plimsoll/store"
)

// limit ends a run after a number of measured operations.
type limit struct {
	most  int64 // 0: none
	taken atomic.Int64
	ended atomic.Int64 // workers whose stream has come to its end
	_     [40]byte
}

// admit reports whether one more measured operation may be sent.
func (l *limit) admit() bool {
	return l.most == 0 || l.taken.Add(1) <= l.most
}

// spent reports whether the worker's stream has ended. When all have, the run ends, even before the end of its window.
func (w *worker) spent() bool {
	if w.stream.Ended == nil || !w.stream.Ended() {
		return false
	}
	w.pool.limit.ended.Add(1)
	return true
}

// asSoonAsPossible marks an operation that is due when it is sent.
const asSoonAsPossible = -1

// next fills w.op with the next operation of the workload and sends it.
func (w *worker) next(phase int, due int64) bool {
	w.stream.Next(&w.op)
	if w.op.Think > 0 && due == asSoonAsPossible {
		if !w.think() {
			return false
		}
		phase = w.pool.phaseOf(w.pool.now())
	}
	start := w.pool.now()
	if due == asSoonAsPossible {
		due = start
	}
	outcome, alive := w.perform(phase, due, start)
	if !alive {
		return false
	}
	// An unacknowledged write counts as applied, or key sequences would wait for it forever. A duplicate is in the
	// database already.
	w.stream.Done(&w.op, outcome == store.OK || outcome == store.Unacknowledged || outcome == store.Conflict)
	return true
}

// flush sends the rest of the stream, such as a last, short batch.
func (w *worker) flush() {
	if w.pool.aborted.Load() || w.stream.Flush == nil || !w.stream.Flush(&w.op) {
		return
	}
	now := w.pool.now()
	w.flushed++
	phase := w.pool.phaseOf(now)
	w.sent[phase]-- // perform counts it, but it was never due
	if outcome, alive := w.perform(phase, now, now); alive {
		w.stream.Done(&w.op, outcome == store.OK || outcome == store.Unacknowledged)
	}
}

// closedLoop sends the next operation when the last one is answered.
type closedLoop struct{}

func (t closedLoop) step(w *worker) bool {
	c := w.pool
	if c.stopping.Load() || !w.present() || w.spent() {
		return false
	}
	now := c.now()
	if now >= c.until {
		return false
	}
	// An operation that is taken before the border belongs to the warm-up, even if the stream prepares it across the
	// border.
	phase := c.phaseOf(now)
	if phase == measured && !c.limit.admit() {
		c.halt()
		return false
	}
	return w.next(phase, asSoonAsPossible) && w.breathe()
}

func (t closedLoop) finish(w *worker) { w.flush() }

// openLoop takes operations from the schedule that all workers share.
type openLoop struct{ schedule *schedule }

func (t openLoop) step(w *worker) bool {
	c := w.pool
	if c.stopping.Load() {
		return false
	}
	number, due := t.schedule.draw()
	if due >= c.until {
		return false
	}
	now := c.now()
	switch {
	case due > now:
		if !w.wait.until(due) {
			return false
		}
		w.late(c.phaseOf(due), due)
	case now >= c.drained:
		return false
	case now-due > c.dropAge:
		c.drop(w.recorder(c.phaseOf(due)), c.phaseOf(due), now, 1)
		return true
	}
	if w.stream.Turn != nil {
		w.stream.Turn(t.schedule.source.turns.Nth(number))
	}
	return w.next(c.phaseOf(due), due)
}

func (t openLoop) finish(w *worker) { w.flush() }

// late records the lateness of a worker that was free and waited.
func (w *worker) late(phase int, due int64) {
	now := w.pool.now()
	w.recorder(phase).Late(now, now-due)
}

// pacedLoop gives every worker separate ticks.
type pacedLoop struct {
	tick int64
	seed uint64
}

// pace is the progress of a paced worker. The controller, which counts due operations, holds the lock for a few
// instructions only.
type pace struct {
	mu      sync.Mutex
	running bool
	ticks   paceTicks
	taken   int64
	offered [2]int64 // by phase, of earlier stretches of this virtual user
}

func (t pacedLoop) step(w *worker) bool {
	c := w.pool
	if c.stopping.Load() || !w.present() || w.spent() {
		return false
	}
	if !w.pace.running && !t.begin(w) {
		return false
	}
	due := w.pace.ticks.at(w.pace.taken)
	now := c.now()
	if due >= c.until || now >= c.drained {
		return false
	}
	if due > now {
		if !w.wait.until(due) {
			return false
		}
		w.late(c.phaseOf(due), due)
	}
	phase := c.phaseOf(due)
	if phase == measured && !c.limit.admit() {
		c.halt()
		return false
	}
	w.pace.taken++
	return w.next(phase, due)
}

func (t pacedLoop) finish(w *worker) { w.flush() }

// begin starts the ticks of a worker: after a random part of the first tick if ticks are at least 1 ms, so that workers
// are not synchronous.
func (t pacedLoop) begin(w *worker) bool {
	start := w.pool.now()
	if t.tick >= int64(time.Millisecond) {
		rng := rand.New(rand.NewPCG(t.seed, uint64(w.id)))
		start += rng.Int64N(t.tick)
		if !w.wait.until(min(start, w.pool.until)) {
			return false
		}
	}
	w.pace.mu.Lock()
	defer w.pace.mu.Unlock()
	w.pace.running, w.pace.taken = true, 0
	w.pace.ticks = paceTicks{start: start, tick: t.tick}
	return true
}

// end stops the ticks of a virtual user. Due operations that were not sent stay offered.
func (p *pace) end(now, from int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.offered = p.due(now, from)
	p.running = false
}

// due returns the number of operations of this worker that were due before t, by phase. The caller holds the lock.
func (p *pace) due(t, from int64) [2]int64 {
	n := p.offered
	if p.running {
		early := p.ticks.before(min(t, from))
		n[warm] += early
		n[measured] += p.ticks.before(t) - early
	}
	return n
}

// present waits while there are too few virtual users for this worker, and returns false when the run ends.
func (w *worker) present() bool {
	c := w.pool
	for int64(w.id) >= c.active.Load() {
		now := c.now()
		if w.pace.running {
			w.pace.end(now, c.from)
		}
		if now >= c.until {
			return false
		}
		if !w.wait.park() {
			return false
		}
	}
	return true
}

// The back-off of closed loops. An unreachable target refuses in microseconds, so a closed loop would have hundreds of
// thousands of failures per second. If a worker could not send its last backoffAfter operations, it pauses before the
// next one: 1 ms at first, twice as long each time, at most 100 ms, until an operation is sent. Scheduled loads do not
// pause, because their rate limits the failures.
const (
	backoffAfter = 100
	backoffFirst = time.Millisecond
	backoffMost  = 100 * time.Millisecond
	backoffSteps = 7 // doublings until backoffMost
)

// breathe pauses if nothing can be sent. It returns false when the run ends.
func (w *worker) breathe() bool {
	if w.total.Attempts > 0 || store.Outcome(w.total.Outcome).Success() {
		w.unsent = 0
		if w.paused {
			w.paused = false
			w.pool.pausing.Add(-1)
		}
		return true
	}
	w.unsent++
	if w.unsent < backoffAfter {
		return true
	}
	if !w.paused {
		w.paused = true
		w.pool.pausing.Add(1)
	}
	w.pool.backoffs.Add(1)
	pause := min(backoffMost, backoffFirst<<min(w.unsent-backoffAfter, backoffSteps))
	return w.wait.until(w.pool.now() + int64(pause))
}
