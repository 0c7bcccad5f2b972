package load

import (
	"runtime"

	"github.com/plimsoll-bench/plimsoll/internal/loop"
	"github.com/plimsoll-bench/plimsoll/measure"
)

// coresPerLoop is the number of cores for each event loop. A busy loop uses one core. The kernel's work for its
// connections, the controller and often the target use another one.
const coresPerLoop = 2

// manyWorkers is the number of workers on each of these loops from which on every core has a loop. Then each loop has
// whole batches of replies, and two threads get more time on a machine that they share with the target.
const manyWorkers = 128

// eventLoop runs some of the workers of a pool on one thread, if their sessions can wait on the loop. A worker is the
// same sequential code there; it yields the thread when it waits.
type eventLoop struct {
	loop *loop.Loop
	// rec has the recorders of a loop that was added during the run. sharing counts the workers with the one of the
	// warm-up, and one more, so that it stays open for those that come later.
	rec     [2]*measure.Recorder
	sharing int
}

// makeWaiters makes the waiters of workers on goroutines.
func (c *pool) makeWaiters() error {
	for _, w := range c.workers {
		var err error
		if c.plain || !c.dims.Scheduled { // no precision is needed, and a timer needs a file
			w.wait = newTimerWaiter(&c.clock, c.stop)
		} else if w.wait, err = newPreciseWaiter(&c.clock, c.stop); err != nil {
			return err
		}
	}
	return nil
}

// wantedLoops is the number of event loops, 0 if the workers need goroutines. Workers of the load phase do, because
// they wait for each other.
func (c *pool) wantedLoops() int {
	st, ok := c.store.(loop.Store)
	if !ok || !loop.Supported || !c.alone || c.plain || !st.OnLoops() {
		return 0
	}
	cores := runtime.GOMAXPROCS(0)
	n := max(1, cores/coresPerLoop)
	if len(c.workers) >= manyWorkers*n {
		n = cores
	}
	return min(n, len(c.workers))
}

// makeLoops spreads the workers over n loops.
func (c *controller) makeLoops(n int) error {
	for range n {
		l, err := loop.New(c.base)
		if err != nil {
			return err
		}
		c.loops = append(c.loops, &eventLoop{loop: l})
	}
	for i, w := range c.workers {
		l := c.loops[i%len(c.loops)]
		t := l.loop.Go(w.mainOn)
		w.wait = &taskWaiter{pool: c.pool, task: t}
		c.tasks = append(c.tasks, t)
	}
	return nil
}

// giveRecorders gives every goroutine a recorder for each phase. The workers of an event loop share theirs, which then
// stays in the caches of the processor. shares is the number of loops or goroutines.
func (c *pool) giveRecorders(from *counts, shares int) {
	for i, w := range c.workers {
		if i >= shares {
			first := c.workers[i%shares]
			w.rec, w.sharing = first.rec, first.sharing
		} else {
			w.sharing, w.rec = new(int), from.recorders()
		}
		*w.sharing++
	}
}

// loopUse is what the event loops did until now.
func (c *controller) loopUse() (list []measure.LoopUse) {
	for _, l := range c.loops {
		list = append(list, l.loop.Use())
	}
	return list
}

// mainOn is the main function of a worker on an event loop.
func (w *worker) mainOn(t *loop.Task) {
	if s, ok := w.session.(loop.Session); ok {
		s.RunOn(t)
	}
	w.task = fair{w.task, t}
	w.main()
}

// fair yields the thread after every step that did not wait, such as an unacknowledged write, so that other workers
// run.
type fair struct {
	task
	thread *loop.Task
}

func (f fair) step(w *worker) bool {
	goOn := f.task.step(w)
	if goOn && f.thread.Invited() {
		w.move(f.thread)
	}
	if !f.thread.Waited() {
		f.thread.Yield()
	}
	return goOn
}

// taskWaiter waits on an event loop.
type taskWaiter struct {
	pool *pool
	task *loop.Task
}

func (w *taskWaiter) until(due int64) bool {
	for due > w.pool.now() {
		if w.pool.stopping.Load() {
			return false
		}
		w.task.Park(due)
	}
	return true
}

func (w *taskWaiter) park() bool {
	w.task.Park(loop.Never)
	return !w.pool.stopping.Load()
}

func (w *taskWaiter) wakeUp() { w.task.Wake() }
func (w *taskWaiter) close()  {}
