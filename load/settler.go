package load

import (
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// Settlement is what became of one operation, as far as the client that sent it can know. Times are
// nanoseconds of run time.
type Settlement struct {
	// Outcome is that of the request that failed, otherwise [store.OK], [store.Unacknowledged] or
	// [store.Batched]. A read among the requests whose content was wrong makes it [store.Corrupt].
	Outcome store.Outcome
	Reason  store.Reason
	// Confirmed is how many requests, from the first on, were answered with [store.OK].
	Confirmed int
	// Failed is the index of the request that failed, after which no other was sent; -1 if none did. If
	// Abandoned, nobody knows how many were sent.
	Failed int
	// Attempts is how many commands were sent for the request that failed, or for all of them. More commands
	// than requests are hidden retries: what the last one was told does not say what the first one did.
	Attempts int
	// Intended is when the operation was due, Sent when its first request was sent, Ended when the last
	// answer was there or was abandoned.
	Intended, Sent, Ended int64
	// Server is host:port of the server that the last request was sent to, "" if that is not known.
	Server string
	// Abandoned means that the session did not return and its worker was abandoned. A write among the
	// requests may still be applied, long after Ended.
	Abandoned bool
}

// Settler is implemented by streams that keep books about their operations: a ledger of writes.
//
// Settle is called exactly once for each operation that Next or Flush returned, before Done, and never while
// another method of the stream runs. The worker calls it right after the operation; if that was abandoned, the
// controller calls it in its place, with the outcome [store.Indeterminate] (writes) or [store.Failed], and
// nothing of the stream is called after that. The session of a worker that was abandoned may still read the
// requests of op, so Settle must not change them or the bytes that they refer to.
//
// Settle is on the path of every operation: it should not allocate. s is valid until it returns.
type Settler interface {
	Settle(op *workload.Op, s *Settlement)
}

// Apart is implemented by Settlers whose Settle and Verify share nothing, so that one may be called while the other
// runs. A worker then needs no turn with the controller each time that it compares what it read.
type Apart interface {
	SettlesApart()
}

// compare has the stream compare what was read, unless the worker was abandoned: then it returns false. If
// the worker were abandoned meanwhile, the controller would settle the operation while the stream is busy with it.
func (w *worker) compare(i int, deadline int64) (compared, alive bool) {
	if !w.turns || w.op.Requests[i].Verb != workload.Find {
		return w.check(i), true // which does not call the stream, or nobody minds
	}
	if !w.hold(deadline) {
		return false, false
	}
	compared = w.check(i)
	w.release(deadline)
	return compared, true
}

// reportOutcome tells the stream what became of the operation that has just ended.
func (w *worker) reportOutcome(outcome store.Outcome, end int64) {
	if w.settler == nil {
		return
	}
	s := &w.settlement
	s.Outcome, s.Intended, s.Sent, s.Ended = outcome, w.due, w.start, end
	s.Attempts, s.Reason, s.Abandoned, s.Server = int(w.total.Attempts), store.NoReason, false, w.res.Server
	if s.Failed >= 0 {
		s.Attempts, s.Reason = w.res.Attempts, w.res.Reason
	}
	w.settler.Settle(&w.op, s)
}

// reportLost tells the stream of a worker that was abandoned that nothing is known about its operation. Only
// the controller calls it, once it has custody of the worker.
func (w *worker) reportLost(outcome store.Outcome, reason store.Reason, now int64) {
	if w.settler == nil {
		return
	}
	w.settler.Settle(&w.op, &Settlement{Outcome: outcome, Reason: reason, Failed: -1, Attempts: 1,
		Intended: w.due, Sent: w.start, Ended: now, Abandoned: true})
}
