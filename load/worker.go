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

// The indices of the phases that are counted separately.
const (
	warm     = 0
	measured = 1
)

// task is the loop of a worker.
type task interface {
	// step does the next operation of w; it returns false when there is nothing more to do.
	step(w *worker) bool
	// finish sends held back operations after the last step.
	finish(w *worker)
}

// worker is one goroutine, or one task of an event loop, with one session. Except custody, lastOK and pace, its fields
// belong to the holder of its custody.
type worker struct {
	pool    *pool
	id      int
	session store.Session
	stream  workload.Stream // without functions in the load phase
	observe Observer        // nil without one
	task    task
	wait    waiter

	custody
	lastOK atomic.Int64 // end of the last success, for the length of an outage
	_      [48]byte

	rec     [2]*measure.Recorder      // by phase; that of the warm-up is nil after it
	sharing *int                      // workers that still hold the warm-up's recorder
	goal    atomic.Pointer[eventLoop] // the loop to move to, if one has invited the worker
	unsent  int                       // consecutive operations that could not even be sent
	paused  bool
	pace    pace
	account
	operation
}

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

// checks counts the verified reads.
type checks struct{ verified, mismatch, missing int64 }

func (c *checks) add(d checks) {
	c.verified += d.verified
	c.mismatch += d.mismatch
	c.missing += d.missing
}

// operation is the current operation of a worker.
type operation struct {
	op         workload.Op
	phase      int
	due        int64
	start      int64
	resumed    int64 // when the last answer was read, which may have arrived before
	quiet      bool  // the call under way is not an operation
	res        store.Result
	abort      store.Result // of giving a transaction up
	total      measure.Sample
	parts      []measure.Sample
	checked    checks
	settlement Settlement
}

// custody decides who may use a worker: its goroutine or, after abandoning it, the controller. Only one of them can end
// a call, by exchanging its deadline, so the run can safely continue without the worker.
type custody struct {
	state atomic.Int64 // the deadline of the current call in run time, or one of the following
}

const (
	idle      = 0
	abandoned = -1 // the controller has it
	checking  = -2 // the stream verifies a document; the worker cannot be abandoned
)

// begin starts a call of a worker that has custody.
func (c *custody) begin(deadline int64) { c.state.Store(deadline) }

// end ends a call and reports whether the worker still has custody.
func (c *custody) end(deadline int64) bool { return c.state.CompareAndSwap(deadline, idle) }

// kept reports whether the worker has custody during a call.
func (c *custody) kept(deadline int64) bool { return c.state.Load() == deadline }

// lost reports whether the controller has custody.
func (c *custody) lost() bool { return c.state.Load() == abandoned }

// hold keeps the controller from abandoning the worker until release. It returns false if the worker is abandoned.
func (c *custody) hold(deadline int64) bool { return c.state.CompareAndSwap(deadline, checking) }

func (c *custody) release(deadline int64) { c.state.Store(deadline) }

// deadline returns the deadline of the current call; busy is false without a call that can be abandoned.
func (c *custody) deadline() (deadline int64, busy bool) {
	deadline = c.state.Load()
	return deadline, deadline > 0
}

// giveUp gives custody to the controller, unless the call has returned.
func (c *custody) giveUp(deadline int64) bool { return c.state.CompareAndSwap(deadline, abandoned) }

func (w *worker) main() {
	for w.task.step(w) {
	}
	if !w.lost() {
		w.task.finish(w)
	}
	if w.leave() {
		w.pool.roster.leave()
	}
}

// leave closes the session under the watch of an operation, and reports whether the pool still waits for this worker.
func (w *worker) leave() bool {
	w.wait.close()
	alive := !w.lost()
	deadline := w.pool.now() + int64(w.pool.timeout)
	if alive {
		w.quiet = true
		w.begin(deadline)
	}
	_ = w.session.Close() // every operation has its outcome already
	return alive && w.end(deadline)
}

// perform sends the operation in w.op, which belongs to the phase and was due at the time, and counts it. It returns
// false if the worker was abandoned; the caller must then not use the worker.
func (w *worker) perform(phase int, due, start int64) (store.Outcome, bool) {
	deadline := start + int64(w.pool.timeout)
	rec := w.recorder(phase)
	w.phase, w.due, w.start = phase, due, start
	w.parts, w.checked = w.parts[:0], checks{}
	w.total = measure.Sample{Class: uint8(w.op.Class), Late: -1}
	w.resumed = start
	w.settlement.Confirmed, w.settlement.Failed, w.settlement.Undone = 0, -1, false
	counted := !w.free()
	if counted {
		w.sent[phase]++
		rec.Begin(start)
	}
	w.begin(deadline)
	outcome, end := w.exchange(start, deadline)
	if !w.end(deadline) {
		return outcome, false
	}
	if counted { // it held its worker until that continued
		rec.End(start, end+max(0, w.total.Late))
	}
	w.count(rec, outcome, end)
	w.reportOutcome(outcome, max(end, w.resumed))
	return outcome, true
}

// free reports whether the current operation is beside the load: the read of a change stream, which waits for changes.
func (w *worker) free() bool { return w.pool.dims.Classes[w.op.Class].Part }

// recorder returns the recorder of a phase. Its first use for the measured phase releases that of the warm-up.
func (w *worker) recorder(phase int) *measure.Recorder {
	if phase == measured && w.rec[warm] != nil {
		if *w.sharing--; *w.sharing == 0 {
			w.rec[warm].Close()
		}
		w.rec[warm] = nil
		w.pool.warming.Add(-1)
	}
	return w.rec[phase]
}

// exchange sends the requests of the operation in order until one fails, with one deadline, and returns the outcome of
// the operation and its end.
func (w *worker) exchange(start, deadline int64) (store.Outcome, int64) {
	if len(w.op.Requests) == 0 {
		return store.Batched, start
	}
	limit := w.pool.base.Add(time.Duration(deadline))
	outcome, begin, end := store.OK, start, start
	var commits commits
	w.settlement.OperationTime, w.settlement.SnapshotTime = 0, 0
	for i := 0; i < len(w.op.Requests); i++ {
		if begin != start && !w.kept(deadline) {
			return store.Failed, end
		}
		w.session.Do(limit, &w.op.Requests[i], &w.res)
		end = w.arrival()
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
		if !w.res.Outcome.Success() && w.op.Transaction {
			next, again := w.undo(i, limit, &commits)
			if end, w.total.Late = w.pool.now(), -1; !again || end >= deadline {
				return w.settleTransaction(i, outcome, &commits), end
			}
			outcome, begin, i = store.OK, end, next-1
			continue
		}
		if !w.res.Outcome.Success() {
			w.settlement.Failed = i
			break
		}
		heard, alive := w.answer(i, deadline)
		if !alive {
			return store.Failed, end
		}
		if i < len(w.op.Requests)-1 { // the next one was not sent before this answer was read
			w.total.Inside += w.resumed - end
		}
		if begin = w.resumed; compared || heard { // verifying is not part of the next request
			begin = w.pool.now()
		}
	}
	if outcome == store.OK && w.res.Attempts == 1 && !commits.resent {
		w.settlement.OperationTime, w.settlement.SnapshotTime = w.res.OperationTime, w.res.SnapshotTime
	}
	return outcome, end
}

// arrival returns when the answer arrived, which is now if that is unknown. It sets the delays of the sample.
func (w *worker) arrival() int64 {
	w.resumed = w.pool.now()
	if w.res.Arrived.IsZero() {
		w.total.Late = -1
		return w.resumed
	}
	at := min(w.resumed, int64(w.res.Arrived.Sub(w.pool.base)))
	w.total.Late, w.total.Inside = w.resumed-at, w.total.Inside+int64(w.res.Delayed)
	return at
}

// check verifies a read, if the workload can. It returns whether that took time.
func (w *worker) check(i int) bool {
	if w.stream.Verify == nil || w.op.Requests[i].Verb != workload.Find {
		return false
	}
	if w.res.Outcome != store.OK && w.res.Outcome != store.NotFound {
		return false
	}
	ok, checked := w.stream.Verify(&w.op, i, w.res.Doc)
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

// part adds one request to its operation, and keeps a sample for it if it has a class. The wait of the operation is
// part of the response time of each of its requests.
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
			Class: uint8(class), Outcome: uint8(r.Outcome), Retries: retries, Late: -1,
		})
	}
}

func (w *worker) count(rec *measure.Recorder, outcome store.Outcome, end int64) {
	w.ended = end
	w.checks.add(w.checked)
	for i := range w.parts {
		rec.Record(&w.parts[i])
	}
	w.total.End, w.total.Service, w.total.Response = end, end-w.start, end-w.due
	w.total.Outcome = uint8(outcome)
	if w.total.Inside > w.total.Service { // a clock was set
		w.total.Late = -1
	}
	rec.Record(&w.total)
	if outcome.Success() {
		if w.pool.outage.open.Load() {
			w.pool.succeeded(end)
		}
		w.lastOK.Store(end)
		return
	}
	w.fail(rec, outcome, end)
}

// fail records the details of a failure. A plain not-found has none, and workloads with absent keys would take the lock
// here for every operation.
func (w *worker) fail(rec *measure.Recorder, outcome store.Outcome, end int64) {
	if outcome == store.NotFound && w.res.Code == 0 {
		return
	}
	rec.Fail(w.failure(outcome), end, w.res.Message)
	switch outcome {
	case store.NotApplied, store.Overloaded, store.Indeterminate, store.Failed:
		w.pool.failed(w.start, end, &w.res)
	}
}

func (w *worker) failure(outcome store.Outcome) measure.Failure {
	labels := w.res.Labels
	if len(labels) > 1 {
		labels = slices.Sorted(slices.Values(labels))
	}
	return measure.Failure{
		Class: w.pool.dims.Classes[w.op.Class].Name, Outcome: outcome.String(), Reason: w.res.Reason.String(),
		Code: w.res.Code, CodeName: w.res.CodeName, Labels: strings.Join(labels, ","),
	}
}
