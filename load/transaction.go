package load

import (
	"time"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// commits is what is known about the commits of the current transaction.
type commits struct {
	doubt  bool // one may have been applied, and no later reply has decided it
	resent bool // the last one is a repetition
}

// undo decides what follows a failed request of a transaction, as drivers do. A transient error repeats the transaction
// from its first request, an unknown result of the commit repeats the commit. Before a repetition, and at the end
// without a commit, it gives the transaction up on the server.
func (w *worker) undo(i int, limit time.Time, c *commits) (next int, again bool) {
	last := len(w.op.Requests) - 1
	commit := i == last
	switch {
	case commit && w.res.TransientTransaction(true):
		// The server proves that the transaction was not committed: it knows none, with majority after a repetition.
		c.doubt = false
	case commit:
		c.doubt = c.doubt || w.res.Outcome == store.Indeterminate
		c.resent = true
		return last, w.res.UnknownCommit() && w.total.Retries < mostRepeats
	}
	w.settlement.Confirmed, c.resent = 0, false
	if !commit {
		transient := w.res.TransientTransaction(false)
		giveUp := workload.Request{Verb: workload.Abort, Class: workload.NoClass, Concern: w.op.Requests[i].Concern}
		w.session.Do(limit, &giveUp, &w.abort)
		if !transient {
			return 0, false
		}
	}
	w.total.Retries++
	return 0, w.total.Retries < mostRepeats
}

// mostRepeats bounds the repetitions of an operation, which the deadline ends otherwise.
const mostRepeats = 1000

// settleTransaction returns the outcome of a transaction that has failed at request i.
func (w *worker) settleTransaction(i int, outcome store.Outcome, c *commits) store.Outcome {
	w.settlement.Failed, w.settlement.Confirmed = i, 0
	if c.doubt {
		w.res.Outcome = store.Indeterminate
		return store.Indeterminate
	}
	w.settlement.Undone = true
	if outcome == store.Indeterminate { // of a request; nothing is applied without a commit
		w.res.Outcome, outcome = store.NotApplied, store.NotApplied
	}
	return outcome
}

// answer tells the stream the answer to request i, if a later request depends on it. It returns false if the worker was
// abandoned.
func (w *worker) answer(i int, deadline int64) (heard, alive bool) {
	if w.stream.Listens == nil || !w.stream.Listens(&w.op, i) {
		return false, true
	}
	if !w.hold(deadline) {
		return false, false
	}
	w.stream.Answer(&w.op, i, w.res.Doc)
	w.release(deadline)
	return true, true
}

// freeLoop sends the next operation when the last one is answered, in every kind of load, until all other workers have
// ended.
type freeLoop struct{}

func (freeLoop) step(w *worker) bool {
	c := w.pool
	now := c.now()
	if c.stopping.Load() || now >= c.until || c.roster.left.Load() <= c.free {
		return false
	}
	return w.next(c.phaseOf(now), asSoonAsPossible)
}

func (freeLoop) finish(*worker) {}

// think waits as long as a virtual user does before an operation. It returns false if the run ends meanwhile.
func (w *worker) think() bool {
	until := w.pool.now() + int64(w.op.Think)
	if w.wait.until(min(until, w.pool.until)) && until < w.pool.until {
		return true
	}
	w.settlement = Settlement{Outcome: store.NotApplied, Undone: true, Sent: w.pool.now(), Ended: w.pool.now()}
	if w.observe != nil {
		w.observe(&w.op, &w.settlement)
	}
	return false
}
