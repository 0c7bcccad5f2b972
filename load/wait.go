package load

import "time"

// waiter makes one worker wait.
type waiter interface {
	until(due int64) bool // true when due is reached, false when stop is closed (within interruptible, if precise)
	park() bool           // true after wakeUp, also an earlier one, and false when stop is closed
	wakeUp()              // may be called from any goroutine
	close()
}

// clock is the time of a run: nanoseconds since its start.
type clock struct{ base time.Time }

func (c clock) now() int64 { return int64(time.Since(c.base)) }

// timerWaiter waits with the runtime's timers. On Linux they are up to about 1 ms late, because the runtime's poller
// rounds its timeout to whole milliseconds.
type timerWaiter struct {
	clock *clock
	stop  <-chan struct{}
	wake  chan struct{}
	timer *time.Timer
}

func newTimerWaiter(c *clock, stop <-chan struct{}) *timerWaiter {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return &timerWaiter{clock: c, stop: stop, wake: make(chan struct{}, 1), timer: t}
}

func (w *timerWaiter) until(due int64) bool {
	for {
		d := due - w.clock.now()
		if d <= 0 {
			return true
		}
		w.timer.Reset(time.Duration(d))
		select {
		case <-w.timer.C:
		case <-w.stop:
			w.timer.Stop()
			return false
		}
	}
}

func (w *timerWaiter) park() bool {
	select {
	case <-w.wake:
		return true
	case <-w.stop:
		return false
	}
}

func (w *timerWaiter) wakeUp() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *timerWaiter) close() { w.timer.Stop() }
