package ycsb

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
	"github.com/plimsoll-bench/plimsoll/ycsb/ycsbtext"
)

// threads is a workload whose streams end like YCSB's threads: each thread has its own number of operations, and a
// thread of the load phase ends at the first insert that fails after its retries.
type threads struct {
	workload.Workload
	settings *settings
	probes   *probes
	stop     context.Context // ends pauses
	print    func(string)    // prints a line to standard error

	insert, rmw int          // classes
	next        atomic.Int64 // load phase: the next record
	loaded      atomic.Int64 // load phase: records that are in the database
}

func newThreads(stop context.Context, w workload.Workload, s *settings, p *probes, print func(string)) *threads {
	y := &threads{Workload: w, settings: s, probes: p, stop: stop, print: print, insert: -1, rmw: -1}
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
		s := &loadStream{y: y, quota: q, loader: y.Loader(), probe: y.probes.workers[worker]}
		// The last batch is sent with the last record of the thread, so only a thread that is stopped early has buffered
		// records, which are not counted as loaded.
		return workload.Stream{Next: s.Next, Done: s.Done, Ended: s.Ended}
	}
	s := &runStream{y: y, quota: q, inner: y.Workload.Stream(worker, workers), probe: y.probes.workers[worker]}
	of := s.inner
	of.Next, of.Done, of.Ended = s.Next, s.Done, s.Ended
	if of.Verify != nil {
		of.Verify = s.Verify
	}
	return of
}

// quota is the number of remaining operations of a thread.
type quota struct {
	left    int64
	endless bool
}

func (q *quota) Ended() bool { return !q.endless && q.left <= 0 }

// share is the number of operations of one thread. The first threads do one more if total cannot be divided.
func share(total int64, worker, workers int) int64 {
	n := total / int64(workers)
	if int64(worker) < total%int64(workers) {
		n++
	}
	return n
}

// runStream has the operations of one thread of a run.
type runStream struct {
	quota
	y     *threads
	inner workload.Stream
	probe *probe
}

func (s *runStream) Next(op *workload.Op) {
	s.left--
	s.inner.Next(op)
}

func (s *runStream) Done(op *workload.Op, applied bool) {
	s.probe.operationEnded(op, op.Class == s.y.rmw)
	s.inner.Done(op, applied)
}

// Verify verifies a read and times that, like YCSB.
func (s *runStream) Verify(op *workload.Op, i int, doc []byte) (ok, checked bool) {
	begin := time.Now()
	ok, checked = s.inner.Verify(op, i, doc)
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
		if !s.probe.opts.every { // YCSB counts the read as successful
			s.probe.sample(ycsbtext.OpRead, s.probe.ended, s.probe.took)
		}
	}
	return ok, checked
}

// loadStream has the inserts of one thread of the load phase. A batch has consecutive records; the last one may be
// short.
type loadStream struct {
	quota
	y      *threads
	loader workload.Loader
	probe  *probe

	first   int64 // record of the current batch
	size    int64
	pending int64 // records of the batch that are counted as buffered
	tries   int64 // failed attempts to send the batch
	unsure  bool  // an attempt may have been applied
	failed  bool  // the thread has ended
}

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

// pause waits for the interval before another attempt. YCSB waits for 0.8 to 1.2 times the interval.
func (s *loadStream) pause() {
	t := time.NewTimer(s.y.settings.retryPause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.y.stop.Done():
	}
}

// Done ends the batch if it is loaded or has no retries left.
func (s *loadStream) Done(op *workload.Op, _ bool) {
	s.probe.operationEnded(op, false)
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
		s.y.print(fmt.Sprintf("Retrying insertion, retry count: %d", s.tries))
		return
	}
	s.y.print(fmt.Sprintf("Error inserting, not retrying any more. number of attempts: %dInsertion Retry Limit: %d",
		s.tries, s.y.settings.retries))
	if s.probe.docs > 0 && s.probe.docs < int(s.size) {
		s.y.loaded.Add(int64(s.probe.docs))
	}
	s.failed = !s.y.settings.keepGoing
	s.newBatch()
}

// isLoaded reports whether an attempt has loaded the batch. If a record exists after an attempt without a reply, that
// attempt has inserted it.
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
