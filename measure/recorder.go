package measure

import (
	"sync"
	"sync/atomic"
	"time"
)

// bufferedSamples is the number of samples in a recorder before it takes the lock of its shard. With 256, a million
// operations per second take a shard lock 4,000 times per second.
const bufferedSamples = 256

// MaxClasses is the largest number of operation classes.
const MaxClasses = 252

// The classes that mark an entry of the buffer as a counter instead of a sample.
const (
	entryOffered = MaxClasses + iota
	entryDropped
	entryLate
)

// Recorder records the samples of one worker, or of several on one goroutine. Only that goroutine may call its methods,
// concurrently with the methods of the [Collector]. They allocate only for new kinds of failures.
type Recorder struct {
	collector *Collector
	shard     *shard
	flight    flight
	place     int // among those of the collector, under its lock; -1 once it is closed

	// Only the worker writes to the buffer and increases n; a tick of the collector reads below n. Folding and resetting n
	// need the lock.
	n      atomic.Int64
	buffer [bufferedSamples]Sample
	mu     sync.Mutex
	folded int64    // number of entries of the buffer that are folded
	_      [64]byte // keeps the next recorder's fields out of this cache line
}

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

// Offered counts n operations that were due at a time (nanoseconds since the start of the run). Call it when they are
// due, because a run may end before.
func (r *Recorder) Offered(at, n int64) {
	r.add(&Sample{Class: entryOffered, End: at, Response: n})
}

// Dropped counts n operations that were discarded at a time because they were too late. Count them with Offered too.
func (r *Recorder) Dropped(at, n int64) {
	r.add(&Sample{Class: entryDropped, End: at, Response: n})
}

// Late records the delay (in nanoseconds) of an operation that was sent late at a time although the worker was free.
func (r *Recorder) Late(at, ns int64) {
	r.add(&Sample{Class: entryLate, End: at, Response: ns})
}

// Fail records the failure of an operation, in addition to its [Sample]. end is the End of that sample. message must
// not contain credentials.
func (r *Recorder) Fail(f Failure, end int64, message string) {
	r.shard.mu.Lock()
	defer r.shard.mu.Unlock()
	const most = 500 // bytes
	if len(message) > most {
		message = message[:most] + "…"
	}
	// Under the key "other" if there are too many keys.
	countFailure(r.shard.binFor(end).failures,
		FailureCount{Failure: f, Count: 1, First: time.Duration(end), Last: time.Duration(end), Example: message})
}

// Begin marks the beginning of an operation at a time in nanoseconds since the start of the run. See [Collector.Gauge].
func (r *Recorder) Begin(at int64) { r.flight.begin(at) }

// End marks the end of an operation that began at start. Any goroutine may call it.
func (r *Recorder) End(start, end int64) { r.flight.end(start, end) }

// Close drains the recorder and removes it from the collector.
func (r *Recorder) Close() {
	r.drain()
	r.collector.remove(r)
}

// drain moves the buffer into the shard.
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
	if n == bufferedSamples { // the worker waits in add for the lock
		r.folded = 0
		r.n.Store(0)
	}
}
