package ycsb

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
	"github.com/plimsoll-bench/plimsoll/ycsb/ycsbtext"
)

// YCSB gives every thread its own number of operations, and a thread of the load phase ends at the first
// insert that fails for good. The streams here do the same around those of the workload.

// threads is a workload whose streams end by themselves.
type threads struct {
	workload.Workload
	settings *settings
	probes   *probes
	stop     context.Context // ends pauses
	say      func(string)    // a line for standard error

	insert, rmw int          // classes
	next        atomic.Int64 // load phase: the next record
	loaded      atomic.Int64 // load phase: records that are in the database
}

func newThreads(stop context.Context, w workload.Workload, s *settings, p *probes, say func(string)) *threads {
	y := &threads{Workload: w, settings: s, probes: p, stop: stop, say: say, insert: -1, rmw: -1}
	for i, c := range w.Classes() {
		switch ycsbtext.OpName(c.Name) {
		case ycsbtext.OpInsert:
			y.insert = i
		case ycsbtext.OpReadModifyWrite:
			y.rmw = i
		}
	}
	return y
}

// Stream returns the stream of one thread.
func (y *threads) Stream(worker, workers int) workload.Stream {
	q := quota{left: share(y.settings.operations, worker, workers), endless: y.settings.operations == 0}
	if y.settings.load {
		return &loadStream{y: y, quota: q, loader: y.Loader(), probe: y.probes.workers[worker]}
	}
	s := &runStream{y: y, quota: q, inner: y.Workload.Stream(worker, workers), probe: y.probes.workers[worker]}
	s.verifier, _ = s.inner.(workload.Verifier)
	return s
}

// quota is how many operations a thread has left to do.
type quota struct {
	left    int64
	endless bool
}

func (q *quota) Ended() bool { return !q.endless && q.left <= 0 }

// share is the part of total that one thread does: the first ones do one more if it cannot be divided.
func share(total int64, worker, workers int) int64 {
	n := total / int64(workers)
	if int64(worker) < total%int64(workers) {
		n++
	}
	return n
}

// runStream are the operations of one thread of a run.
type runStream struct {
	quota
	y        *threads
	inner    workload.Stream
	verifier workload.Verifier // nil if the stream cannot
	probe    *probe
}

func (s *runStream) Next(op *workload.Op) {
	s.left--
	s.inner.Next(op)
}

func (s *runStream) Done(op *workload.Op, applied bool) {
	s.probe.operation(op, op.Class == s.y.rmw)
	s.inner.Done(op, applied)
}

func (s *runStream) Flush(op *workload.Op) bool { return s.inner.Flush(op) }

// Verify passes a check on and times it, as YCSB does.
func (s *runStream) Verify(op *workload.Op, i int, doc []byte) (ok, checked bool) {
	if s.verifier == nil {
		return true, false
	}
	begin := time.Now()
	ok, checked = s.verifier.Verify(op, i, doc)
	if !checked {
		return ok, checked
	}
	end := time.Now()
	switch {
	case doc == nil:
		s.probe.verified("ERROR", end, end.Sub(begin))
	case ok:
		s.probe.verified("OK", end, end.Sub(begin))
	default:
		s.probe.verified("UNEXPECTED_STATE", end, end.Sub(begin))
		if !s.probe.opts.every { // the read itself went well, and YCSB times it as such
			s.probe.sample(ycsbtext.OpRead, s.probe.ended, s.probe.took)
		}
	}
	return ok, checked
}

// loadStream are the inserts of one thread of the load phase. With batches, a thread takes a batch of
// records at once, so that each batch is one run of records; the last one may be short.
type loadStream struct {
	quota
	y      *threads
	loader workload.Loader
	probe  *probe

	first   int64 // of the batch under way
	size    int64
	pending int64 // records of the batch that are counted as buffered so far
	tries   int64 // failed attempts to send the batch
	unsure  bool  // an attempt may have been applied
	failed  bool  // the thread has given up
}

// Ended implements [workload.Ender].
func (s *loadStream) Ended() bool {
	return s.failed || (s.tries == 0 && s.quota.Ended())
}

func (s *loadStream) Next(op *workload.Op) {
	if s.tries > 0 {
		s.pause()
		s.loader.Load(s.first, int(s.size), op)
		return
	}
	if s.pending == 0 {
		s.size = min(s.y.settings.batch, s.left)
		s.first = s.y.next.Add(s.size) - s.size
	}
	s.left--
	s.pending++
	if s.pending < s.size {
		op.Class, op.Seq, op.Requests = s.y.insert, s.first+s.pending-1, nil
		return
	}
	s.loader.Load(s.first, int(s.size), op)
}

// pause waits before another attempt: 0.8 to 1.2 times the interval in YCSB, the interval itself here.
func (s *loadStream) pause() {
	t := time.NewTimer(s.y.settings.retryPause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.y.stop.Done():
	}
}

// Done decides what becomes of the batch: it is loaded, tried again, or given up.
func (s *loadStream) Done(op *workload.Op, _ bool) {
	s.probe.operation(op, false)
	if len(op.Requests) == 0 {
		return
	}
	if s.isLoaded() {
		s.y.loaded.Add(s.size)
		s.newBatch()
		return
	}
	s.unsure = s.unsure || s.probe.outcome == store.Indeterminate
	s.tries++
	if s.tries <= s.y.settings.retries && s.y.stop.Err() == nil {
		s.y.say(retryingText(s.tries))
		return
	}
	s.y.say(givingUpText(s.tries, s.y.settings.retries))
	if s.probe.docs > 0 && s.probe.docs < int(s.size) {
		s.y.loaded.Add(int64(s.probe.docs))
	}
	s.failed = !s.y.settings.keepGoing
	s.newBatch()
}

// isLoaded reports whether the last attempt, or one before it, put the batch into the database. A record
// that is there already after an attempt without an answer was put there by that attempt.
func (s *loadStream) isLoaded() bool {
	switch s.probe.outcome {
	case store.OK, store.Unacknowledged:
		return true
	case store.Conflict:
		return s.unsure
	}
	return false
}

func (s *loadStream) newBatch() { s.pending, s.tries, s.unsure = 0, 0, false }

// Flush implements [workload.Stream]. The last batch is sent when the thread's records are all there, so
// only a thread that is stopped early holds something back, and that was never counted as loaded.
func (s *loadStream) Flush(*workload.Op) bool { return false }
