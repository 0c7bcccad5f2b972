package load

import (
	"runtime"

	"github.com/plimsoll-bench/plimsoll/internal/loop"
)

// coresPerLoop is how many cores there are for each event loop. A loop that is busy all the time keeps one core busy; what the
// kernel does for its connections, the conductor and, often, the target take as much again.
const coresPerLoop = 2

// manyWorkers is from how many workers on each of these loops every core gets a loop. So many connections keep both busy with whole
// batches of replies, and two threads get more of a machine that they share with the target than one.
const manyWorkers = 128

// eventLoop runs some of the workers of a crew on one thread, if their sessions wait on it and not on the thread. A worker is the
// same straight code there; it gives the thread away wherever it waits.
type eventLoop struct {
	loop  *loop.Loop
	tasks []*loop.Task
}

// onLoops reports whether the workers can run on event loops. The load phase stays on goroutines: its workers wait for each other.
func (c *crew) onLoops() bool {
	st, ok := c.store.(loop.Store)
	return ok && loop.Supported && c.alone && !c.plain && st.OnLoops()
}

// makeLoops spreads the workers over as many loops as the cores are worth.
func (c *crew) makeLoops() error {
	cores := runtime.GOMAXPROCS(0)
	n := max(1, cores/coresPerLoop)
	if len(c.workers) >= manyWorkers*n {
		n = cores
	}
	for range min(n, len(c.workers)) {
		l, err := loop.New(c.base)
		if err != nil {
			return err
		}
		c.loops = append(c.loops, &eventLoop{loop: l})
	}
	for i, w := range c.workers {
		l := c.loops[i%len(c.loops)]
		t := l.loop.Go(w.mainOn)
		w.wait = &taskWaiter{crew: c, task: t}
		l.tasks = append(l.tasks, t)
	}
	return nil
}

func (l *eventLoop) wakeAll() {
	for _, t := range l.tasks {
		t.Wake()
	}
}

// mainOn is the life of a worker on an event loop.
func (w *worker) mainOn(t *loop.Task) {
	if s, ok := w.session.(loop.Session); ok {
		s.RunOn(t)
	}
	w.task = fair{w.task, t}
	w.main()
}

// fair gives the thread away after every step that waited for nothing, such as a write that nobody confirms. No other worker
// would ever have it otherwise.
type fair struct {
	task
	thread *loop.Task
}

func (f fair) step(w *worker) bool {
	goOn := f.task.step(w)
	if !f.thread.Waited() {
		f.thread.Yield()
	}
	return goOn
}

// taskWaiter waits on an event loop.
type taskWaiter struct {
	crew *crew
	task *loop.Task
}

func (w *taskWaiter) until(due int64) bool {
	for due > w.crew.now() {
		if w.crew.stopping.Load() {
			return false
		}
		w.task.Park(due)
	}
	return true
}

func (w *taskWaiter) park() bool {
	w.task.Park(loop.Never)
	return !w.crew.stopping.Load()
}

func (w *taskWaiter) wakeUp() { w.task.Wake() }
func (w *taskWaiter) close()  {}
