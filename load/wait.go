package load

import (
	"time"
)

// waiter makes one worker wait for a moment.
type waiter interface {
	// until returns true when due is reached and false as soon as stop is closed (within
	// interruptible, in the precise implementation).
	until(due int64) bool
	// close gives back what the waiter holds.
	close()
}

// clock is the time of a run: nanoseconds since its start.
type clock struct{ base time.Time }

// now costs one reading of the monotonic clock and nothing else.
func (c clock) now() int64 { return int64(time.Since(c.base)) }

// timerWaiter waits with the runtime's timers. On Linux those wake up to about 1 ms late, because the
// runtime's poller rounds its timeout to whole milliseconds.
type timerWaiter struct {
	clock clock
	stop  <-chan struct{}
	timer *time.Timer
}

func newTimerWaiter(c clock, stop <-chan struct{}) *timerWaiter {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return &timerWaiter{clock: c, stop: stop, timer: t}
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

func (w *timerWaiter) close() { w.timer.Stop() }
