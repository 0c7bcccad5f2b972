package load

import (
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// The indices of a run's phases: what is counted apart.
const (
	warm     = 0
	measured = 1
)

// task is what a worker does: one kind of loop.
type task interface {
	// step does the next operation of w; it returns false when there is nothing more to do.
	step(w *worker) bool
	// finish ends what is held back, after the last step.
	finish(w *worker)
}

// worker is one goroutine, or one task of an event loop, with one session. What it has beside its custody, lastOK and
// pace belongs to whoever has custody of it.
type worker struct {
	crew    *crew
	id      int
	session store.Session
	stream  workload.Stream   // nil in the load phase
	verify  workload.Verifier // nil if the stream cannot
	ender   workload.Ender    // nil if the stream is endless
	settler Settler           // nil if the stream keeps no books
	turns   bool              // it must not settle while it verifies
	task    task
	wait    waiter

	custody
	lastOK atomic.Int64 // end of the last success, for the length of an outage
	_      [48]byte

	rec     [2]*measure.Recorder // by phase; the warm-up's is nil once it is over for this worker
	sharing *int                 // how many workers have not given the warm-up's recorder back
	unsent  int                  // consecutive operations that could not even be sent
	paused  bool
	pace    pace
	account
	operation
}

// account is what a worker did.
type account struct {
	sent    [2]int64 // by phase
	ended   int64    // when the last operation ended
	flushed int64
	checks  // of all operations that ended
}

func (a *account) add(b *account) {
	a.sent[warm] += b.sent[warm]
	a.sent[measured] += b.sent[measured]
	a.ended = max(a.ended, b.ended)
	a.flushed += b.flushed
	a.checks.add(b.checks)
}

// checks counts the comparisons of what was read with what was written.
type checks struct{ verified, mismatch, missing int64 }

func (c *checks) add(d checks) {
	c.verified += d.verified
	c.mismatch += d.mismatch
	c.missing += d.missing
}

// operation is what a worker has under way.
type operation struct {
	op         workload.Op
	phase      int
	due        int64
	start      int64
	quiet      bool // the call under way is not an operation
	res        store.Result
	total      measure.Sample
	parts      []measure.Sample
	checked    checks
	settlement Settlement
}

// custody decides who may touch a worker: its goroutine, or the controller, once that has abandoned a session that does
// not return. Only one of them ends a call, by exchanging its deadline: that makes it safe to go on without the worker.
type custody struct {
	state atomic.Int64 // the deadline of the call under way in run time, or one of the following
}

const (
	idle      = 0
	abandoned = -1 // the controller has it
	checking  = -2 // the stream looks at a document: for so long the worker cannot be abandoned
)

// begin starts a call. The worker has custody and keeps it, or else it would not get here.
func (c *custody) begin(deadline int64) { c.state.Store(deadline) }

// end ends a call and reports whether the worker still has custody.
func (c *custody) end(deadline int64) bool { return c.state.CompareAndSwap(deadline, idle) }

// kept reports whether the worker has custody during a call.
func (c *custody) kept(deadline int64) bool { return c.state.Load() == deadline }

// lost reports whether the controller has custody.
func (c *custody) lost() bool { return c.state.Load() == abandoned }

// hold keeps the controller from abandoning the worker until release. It returns false if that has happened.
func (c *custody) hold(deadline int64) bool { return c.state.CompareAndSwap(deadline, checking) }

func (c *custody) release(deadline int64) { c.state.Store(deadline) }

// deadline returns until when the call under way shall return; busy is false if there is none that could be abandoned.
func (c *custody) deadline() (deadline int64, busy bool) {
	deadline = c.state.Load()
	return deadline, deadline > 0
}

// giveUp gives custody to the controller, unless the call has returned meanwhile.
func (c *custody) giveUp(deadline int64) bool { return c.state.CompareAndSwap(deadline, abandoned) }

// main is the life of a worker.
func (w *worker) main() {
	for w.task.step(w) {
	}
	if !w.lost() {
		w.task.finish(w)
	}
	if w.leave() {
		w.crew.roster.leave()
	}
}

// leave closes the session, watched like an operation, and reports whether the crew still waits for
// this worker.
func (w *worker) leave() bool {
	w.wait.close()
	alive := !w.lost()
	deadline := w.crew.now() + int64(w.crew.timeout)
	if alive {
		w.quiet = true
		w.begin(deadline)
	}
	_ = w.session.Close() // nothing is lost with it: every operation has its outcome
	return alive && w.end(deadline)
}

// perform sends the operation in w.op, which belongs to the given phase and was due at the given time,
// and counts it. It returns false if the worker was abandoned meanwhile: then nothing of it may be
// touched any more.
func (w *worker) perform(phase int, due, start int64) (store.Outcome, bool) {
	deadline := start + int64(w.crew.timeout)
	rec := w.recorder(phase)
	w.phase, w.due, w.start = phase, due, start
	w.parts, w.checked = w.parts[:0], checks{}
	w.total = measure.Sample{Class: uint8(w.op.Class)}
	w.settlement.Confirmed, w.settlement.Failed = 0, -1
	w.sent[phase]++
	rec.Begin()
	w.begin(deadline)
	outcome, end := w.exchange(start, deadline)
	if !w.end(deadline) {
		return outcome, false
	}
	rec.End()
	w.count(rec, outcome, end)
	w.reportOutcome(outcome, end)
	return outcome, true
}

// recorder returns the recorder of a phase. The first use of the second one gives the warm-up's back:
// a worker never returns to an earlier phase.
func (w *worker) recorder(phase int) *measure.Recorder {
	if phase == measured && w.rec[warm] != nil {
		if *w.sharing--; *w.sharing == 0 {
			w.rec[warm].Close()
		}
		w.rec[warm] = nil
		w.crew.warming.Add(-1)
	}
	return w.rec[phase]
}

// exchange sends the requests of the operation one after the other until one fails, all before the
// same deadline, and returns the outcome of the whole and when it was known.
func (w *worker) exchange(start, deadline int64) (store.Outcome, int64) {
	if len(w.op.Requests) == 0 {
		return store.Batched, start
	}
	limit := w.crew.base.Add(time.Duration(deadline))
	outcome, begin, end := store.OK, start, start
	for i := range w.op.Requests {
		if i > 0 && !w.kept(deadline) {
			return store.Failed, end
		}
		w.session.Do(limit, &w.op.Requests[i], &w.res)
		end = w.crew.now()
		compared, alive := w.compare(i, deadline)
		if !alive {
			return store.Failed, end
		}
		w.part(i, begin, end)
		if w.res.Outcome != store.OK {
			outcome = w.res.Outcome
		} else if w.settlement.Confirmed == i {
			w.settlement.Confirmed++
		}
		if !w.res.Outcome.Success() {
			w.settlement.Failed = i
			break
		}
		if begin = end; compared { // comparing documents is not part of the next request
			begin = w.crew.now()
		}
	}
	return outcome, end
}

// check compares what a read returned, where the workload can. It returns whether that took time.
func (w *worker) check(i int) bool {
	if w.verify == nil || w.op.Requests[i].Verb != workload.Find {
		return false
	}
	if w.res.Outcome != store.OK && w.res.Outcome != store.NotFound {
		return false
	}
	ok, checked := w.verify.Verify(&w.op, i, w.res.Doc)
	if !checked {
		return true
	}
	w.checked.verified++
	switch {
	case w.res.Outcome == store.NotFound || w.res.Doc == nil:
		w.checked.missing++
	case !ok:
		w.checked.mismatch++
		w.res.Fail(store.Corrupt, store.Verification, "the document that was read differs from the one that was written")
	}
	return true
}

// part adds one request to its operation, and keeps its sample if it is timed apart. The wait of the
// operation counts in the response time of each of its parts.
func (w *worker) part(i int, begin, end int64) {
	t, r := &w.total, &w.res
	t.Docs += int32(r.Docs)
	t.Bytes += int32(r.Bytes)
	t.Attempts += int32(r.Attempts)
	retries := uint16(min(max(r.Attempts-1, 0), math.MaxUint16))
	t.Retries += min(retries, math.MaxUint16-t.Retries)
	t.PoolWait += int64(r.PoolWait)
	if class := w.op.Requests[i].Class; class != workload.NoClass {
		service := end - begin
		w.parts = append(w.parts, measure.Sample{
			End: end, Service: service, Response: service + w.start - w.due, PoolWait: int64(r.PoolWait),
			Docs: int32(r.Docs), Attempts: int32(r.Attempts), Bytes: int32(r.Bytes),
			Class: uint8(class), Outcome: uint8(r.Outcome), Retries: retries,
		})
	}
}

// count records the operation that has just ended.
func (w *worker) count(rec *measure.Recorder, outcome store.Outcome, end int64) {
	w.ended = end
	w.checks.add(w.checked)
	for i := range w.parts {
		rec.Record(&w.parts[i])
	}
	w.total.End, w.total.Service, w.total.Response = end, end-w.start, end-w.due
	w.total.Outcome = uint8(outcome)
	rec.Record(&w.total)
	if outcome.Success() {
		if w.crew.outage.open.Load() {
			w.crew.succeeded(end)
		}
		w.lastOK.Store(end)
		return
	}
	w.fail(rec, outcome, end)
}

// fail keeps what is known about a failure. A plain not-found has nothing to tell beyond its outcome,
// and workloads that look for absent keys would take the lock of this path for every operation.
func (w *worker) fail(rec *measure.Recorder, outcome store.Outcome, end int64) {
	if outcome == store.NotFound && w.res.Code == 0 {
		return
	}
	rec.Fail(w.failure(outcome), end, w.res.Message)
	switch outcome {
	case store.NotApplied, store.Overloaded, store.Indeterminate, store.Failed:
		w.crew.failed(w.start, end, &w.res)
	}
}

func (w *worker) failure(outcome store.Outcome) measure.Failure {
	return measure.Failure{
		Class: w.crew.dims.Classes[w.op.Class].Name, Outcome: outcome.String(), Reason: w.res.Reason.String(),
		Code: w.res.Code, CodeName: w.res.CodeName, Labels: joinLabels(w.res.Labels),
	}
}

func joinLabels(labels []string) string {
	switch len(labels) {
	case 0:
		return ""
	case 1:
		return labels[0]
	}
	sorted := slices.Clone(labels)
	slices.Sort(sorted)
	return strings.Join(sorted, ",")
}
