package measure

import (
	"sync"
	"sync/atomic"
	"time"
)

// bufferedSamples is how many samples a recorder keeps before it takes the lock of its shard. With 256,
// a million operations per second take a shard lock 4,000 times per second.
const bufferedSamples = 256

// MaxClasses is how many operation classes there may be.
const MaxClasses = 252

// The classes that mark an entry of the buffer as a counter instead of a sample.
const (
	entryOffered = MaxClasses + iota
	entryDropped
	entryLate
)

// Recorder takes the samples of one worker, or of several that run on one goroutine in turn. Its methods may be called
// by that goroutine only, but at the same time as the methods of the [Collector]. They allocate nothing, except for new
// kinds of failures.
type Recorder struct {
	collector *Collector
	shard     *shard
	busy      atomic.Int64 // operations under way
	place     int          // among those of the collector, under its lock; -1 once it is closed

	// The worker alone writes to the buffer and raises n; a tick of the collector reads below n. Only the
	// one who folds takes the lock, and only under it n goes back to zero.
	n      atomic.Int64
	buffer [bufferedSamples]Sample
	mu     sync.Mutex
	folded int64    // how much of the buffer is folded already
	_      [64]byte // keeps the next recorder's fields out of this cache line
}

// Record counts one operation. s is copied.
func (r *Recorder) Record(s *Sample) {
	if s.Class >= MaxClasses {
		r.collector.rejected.Add(1)
		return
	}
	r.add(s)
}

func (r *Recorder) add(s *Sample) {
	i := r.n.Load()
	r.buffer[i&(bufferedSamples-1)] = *s
	r.n.Store(i + 1)
	if i+1 == bufferedSamples {
		r.drain()
	}
}

// Offered counts n operations that fell due at the given time (nanoseconds since the start of the run).
// Call it when they are due, not before: a run that ends early would count what it never owed.
func (r *Recorder) Offered(at, n int64) {
	r.add(&Sample{Class: entryOffered, End: at, Response: n})
}

// Dropped counts n operations that were abandoned at the given time because they were too late. They
// must have been counted as offered as well.
func (r *Recorder) Dropped(at, n int64) {
	r.add(&Sample{Class: entryDropped, End: at, Response: n})
}

// Late counts how late (in nanoseconds) an operation was sent although the worker was free: this is the
// pacer's own fault, not the target's. at is when it was sent.
func (r *Recorder) Late(at, ns int64) {
	r.add(&Sample{Class: entryLate, End: at, Response: ns})
}

// Fail keeps what is known about an operation that did not succeed, in addition to its [Sample]. end is
// the End of that sample. message must not contain credentials.
func (r *Recorder) Fail(f Failure, end int64, message string) {
	r.shard.mu.Lock()
	defer r.shard.mu.Unlock()
	r.shard.binFor(end).fail(f, time.Duration(end), shorten(message))
}

// maxExample bounds the length of an example message in bytes.
const maxExample = 500

func shorten(message string) string {
	if len(message) > maxExample {
		return message[:maxExample] + "…"
	}
	return message
}

// Begin says that an operation is under way. See [Collector.Gauge].
func (r *Recorder) Begin() { r.busy.Add(1) }

// End says that an operation is over. It may be called from anywhere.
func (r *Recorder) End() { r.busy.Add(-1) }

// Close hands over what is buffered and takes the recorder out of the collector.
func (r *Recorder) Close() {
	r.drain()
	r.collector.remove(r)
}

// drain moves what is buffered into the shard.
func (r *Recorder) drain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.n.Load()
	if n > r.folded {
		r.shard.mu.Lock()
		r.shard.fold(r.buffer[r.folded:n])
		r.shard.mu.Unlock()
	}
	r.folded = n
	if n == bufferedSamples { // the worker is in add and appends nothing until it gets the lock
		r.folded = 0
		r.n.Store(0)
	}
}
