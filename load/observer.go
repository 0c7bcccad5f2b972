package load

import (
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// Settlement is the result of one operation as its client knows it. Times are nanoseconds of run time.
type Settlement struct {
	// Outcome is that of the request that failed, otherwise [store.OK], [store.Unacknowledged] or
	// [store.Batched]. A read among the requests whose content was wrong makes it [store.Corrupt].
	Outcome store.Outcome
	Reason  store.Reason
	// Confirmed is how many requests from the first on had the reply [store.OK].
	Confirmed int
	// Failed is the index of the failed request, the last one sent; -1 if none failed. If Abandoned, the number of sent
	// requests is unknown.
	Failed int
	// Undone says that a transaction was given up, so none of its requests was applied.
	Undone bool
	// Attempts is how many commands were sent for the failed request, or for all requests. More commands than requests are
	// hidden retries; the reply to the last one does not show the effect of the first.
	Attempts int
	// Due is when it was due, for a closed loop when it was sent. Sent is when the first request was sent, Ended when the
	// last reply was received or the operation was abandoned.
	Due, Sent, Ended int64
	// Server is host:port of the server of the last request, "" if it is unknown.
	Server string
	// OperationTime and SnapshotTime are those of the last reply (see [store.Result]), if no request failed. They are 0 if
	// the last request was sent more than once: then the time is later than the effect.
	OperationTime, SnapshotTime uint64
	// Abandoned means that the session did not return and its worker was abandoned. A write among the
	// requests may still be applied, long after Ended.
	Abandoned bool
}

// Observer is told the result of each operation of one worker.
//
// It is called exactly once for each operation that the stream's Next or Flush returned, before Done, and never while a
// function of the stream runs. The worker calls it right after the operation. After an abandoned operation the
// controller calls it, with the outcome [store.Indeterminate] (writes) or [store.Failed], and nothing calls it or the
// stream after that. The session of a worker that was abandoned may still read the requests of op, so an observer must
// not change them or the bytes that they refer to.
//
// It is on the path of every operation: it should not allocate, and share no lock with other workers. s is valid until
// it returns.
type Observer func(op *workload.Op, s *Settlement)

// compare lets the stream verify a read. It returns false if the worker was abandoned. It keeps the controller from
// abandoning the worker, and so from calling the observer, during the verification.
func (w *worker) compare(i int, deadline int64) (compared, alive bool) {
	if w.observe == nil || w.stream.Verify == nil || w.op.Requests[i].Verb != workload.Find {
		return w.check(i), true // which does not call the stream, or nobody observes it
	}
	if !w.hold(deadline) {
		return false, false
	}
	compared = w.check(i)
	w.release(deadline)
	return compared, true
}

// reportOutcome tells the observer of the operation that has ended.
func (w *worker) reportOutcome(outcome store.Outcome, end int64) {
	if w.observe == nil {
		return
	}
	s := &w.settlement
	s.Outcome, s.Due, s.Sent, s.Ended = outcome, w.due, w.start, end
	s.Attempts, s.Reason, s.Abandoned, s.Server = int(w.total.Attempts), store.NoReason, false, w.res.Server
	if s.Failed >= 0 {
		s.Attempts, s.Reason = w.res.Attempts, w.res.Reason
	}
	w.observe(&w.op, s)
}

// reportLost tells the observer that the result of the operation of an abandoned worker is unknown. Only the controller
// calls it, when it has custody of the worker.
func (w *worker) reportLost(outcome store.Outcome, reason store.Reason, now int64) {
	if w.observe == nil {
		return
	}
	w.observe(&w.op, &Settlement{Outcome: outcome, Reason: reason, Failed: -1, Attempts: 1,
		Due: w.due, Sent: w.start, Ended: now, Abandoned: true})
}
