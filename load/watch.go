package load

import (
	"fmt"
	"strconv"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/store"
)

// watch abandons workers whose session does not return, and detects when this process did not run.
type watch struct {
	pool      *pool
	looked    int64 // last check of this process
	amnesty   int64 // until when no worker is abandoned
	next      int64 // next check of all workers
	looks     int64 // number of checks
	abandoned int64 // operations whose worker was abandoned

	lost func(*worker) // called for every abandoned worker, if not nil
}

// If the controller did not run for stallLeast, the process did not run.
const stallLeast = int64(500 * time.Millisecond)

// lookShare is the pause between two checks of all workers as a multiple of the time of a check, so that a million
// workers do not take a core.
const lookShare = 10

// self detects that this process did not run. Its sessions could not return meanwhile, so they get the grace again.
func (a *watch) self(now int64) {
	if gap := now - a.looked; gap >= stallLeast {
		a.amnesty = now + int64(a.pool.grace)
		a.pool.events.add(measure.Event{At: time.Duration(a.looked), Kind: EventStalled,
			Text: "this process did not run for " + time.Duration(gap).Round(time.Millisecond).String(),
			Data: map[string]string{"gap_ns": strconv.FormatInt(gap, 10)}})
	}
	a.looked = now
}

// sink distinguishes a slow sink, during which workers ran, from a process that did not run.
func (a *watch) sink(now int64) {
	if took := now - a.looked; took >= stallLeast {
		a.amnesty = now + int64(a.pool.grace) // the process may not have run
		a.pool.event(now, EventSlowRecord, "storing the results of a second took "+time.Duration(took).Round(time.Millisecond).String())
	}
	a.looked = now
}

// overdue abandons workers whose session does not return after deadline and grace, or at once after an abort.
func (a *watch) overdue(now int64, counts *counts) {
	if now < a.next {
		return
	}
	a.looks++
	aborted := a.pool.aborted.Load()
	for _, w := range a.pool.workers {
		deadline, busy := w.deadline()
		if !busy || !aborted && now <= max(deadline+int64(a.pool.grace), a.amnesty) {
			continue
		}
		if w.giveUp(deadline) {
			a.abandon(w, now, aborted, counts)
			a.pool.roster.leave()
		}
	}
	a.next = now + lookShare*(a.pool.now()-now)
}

// abandon counts the operation of an abandoned worker, whose outcome is unknown.
func (a *watch) abandon(w *worker, now int64, aborted bool, counts *counts) {
	if a.lost != nil {
		a.lost(w)
	}
	if w.quiet {
		return
	}
	a.abandoned++
	outcome := store.Failed
	for i := range w.op.Requests {
		if w.op.Requests[i].Writes() {
			outcome = store.Indeterminate
		}
	}
	reason, text := store.Timeout, "the session did not return after its deadline, so its worker was abandoned"
	if aborted {
		reason, text = store.Client, "the run was aborted before the reply"
	} else {
		a.pool.event(now, EventAbandoned, fmt.Sprintf("worker %d: %s", w.id, text))
	}
	w.reportLost(outcome, reason, now)
	if !w.free() {
		w.rec[w.phase].End(w.start, now)
	}
	rec := counts.of[w.phase].rec // the worker's own recorder may be in use by others of its loop
	rec.Record(&measure.Sample{End: now, Service: now - w.start, Response: now - w.due, Attempts: 1,
		Class: uint8(w.op.Class), Outcome: uint8(outcome)})
	rec.Fail(measure.Failure{Class: a.pool.dims.Classes[w.op.Class].Name, Outcome: outcome.String(),
		Reason: reason.String()}, now, text)
}
