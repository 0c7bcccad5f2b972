// Package loop runs many tasks on one goroutine. A task is an ordinary function on a coroutine of its own: where it
// would block, on a connection, until a moment, or for a call on another goroutine, it hands over to the next task that
// can go on. One epoll instance tells which ones can.
//
// A goroutine that waits for the network costs more than the bytes that it waits for: it is parked, the last idle
// thread looks for work and sleeps, and the reply wakes it through epoll and a futex. A switch between coroutines takes
// less than 0.1 µs.
//
// What a task does between two waits holds up all tasks of its loop, so it must not block otherwise: locks that are
// held for a few instructions are fine, channels and system calls that wait are not ([Task.Offload] is for them). The
// package knows nothing of what tasks do. It works on Linux only; elsewhere [New] fails and [Supported] is false.
package loop

import (
	"math"
	"time"
)

// Never is the moment of a wait that no timer ends.
const Never = math.MaxInt64

// Session is implemented by what can wait on a loop instead of blocking its thread.
type Session interface {
	// RunOn makes the session wait on the loop of t from now on. It is called by t, and so is everything of the session
	// after it.
	RunOn(t *Task)
}

// Store is implemented by stores whose sessions may implement [Session].
type Store interface {
	// OnLoops reports whether all sessions of the store can wait on a loop.
	OnLoops() bool
}

// nanos is a moment as nanoseconds since base.
func nanos(base, at time.Time) int64 {
	if at.IsZero() {
		return Never
	}
	return int64(at.Sub(base))
}
