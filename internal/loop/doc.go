// Package loop runs many tasks on one goroutine. A task is an ordinary function on a separate coroutine. When it waits
// for a connection, a time or a call on another goroutine, the loop switches to the next task that can continue. One
// epoll instance reports these tasks.
//
// Waiting for the network on a goroutine costs more than the transfer: the goroutine is parked, the last idle thread
// searches for work and sleeps, and the reply wakes it through epoll and a futex. A switch between coroutines takes
// less than 0.1 µs.
//
// A task delays all tasks of its loop until its next wait, so it must not block otherwise. Locks that are held for a
// few instructions are fine; for channels and system calls that wait use [Task.Offload]. The package supports Linux
// only; elsewhere [New] fails and [Supported] is false.
package loop

import (
	"math"
	"time"
)

// Never is the end of a wait without a timer.
const Never = math.MaxInt64

// Session can wait on a loop instead of blocking its thread.
type Session interface {
	// RunOn makes the session wait on the loop of t. Only t calls it and the other methods of the session after it.
	RunOn(t *Task)
}

// Store is implemented by stores whose sessions may implement [Session].
type Store interface {
	// OnLoops reports whether all sessions of the store can wait on a loop.
	OnLoops() bool
}

// nanos is a time as nanoseconds since base; a zero time is [Never].
func nanos(base, at time.Time) int64 {
	if at.IsZero() {
		return Never
	}
	return int64(at.Sub(base))
}
