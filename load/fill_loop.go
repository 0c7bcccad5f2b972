package load

import (
	"context"
	"fmt"
	"time"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// fillLoop is the task of a worker of a load phase.
type fillLoop struct {
	fill   *fill
	loader workload.Loader

	// The controller reads these when it abandons the worker.
	batch   int64 // -1 for none
	judging bool
}

func (t *fillLoop) step(w *worker) bool {
	c, b := t.fill.pool, t.fill.batches
	if c.stopping.Load() {
		return false
	}
	what, batch := b.claim(c.stop)
	switch what {
	case judgeCount:
		return t.judge(w)
	case leaveFill:
		return false
	}
	t.batch = batch
	alive := t.insert(w, batch)
	if alive {
		t.batch = -1
	}
	return alive
}

func (t *fillLoop) finish(*worker) {}

// lost is called by the controller when it has abandoned the worker.
func (t *fillLoop) lost() {
	switch {
	case t.judging:
		t.fill.batches.end(fmt.Errorf("load phase: the count of the documents of %q did not return", t.fill.collection()))
	case t.batch >= 0:
		t.fill.batches.lose(t.batch)
	}
}

// insert inserts one batch, with retries, and returns false if the worker was abandoned.
func (t *fillLoop) insert(w *worker, batch int64) bool {
	f := t.fill
	seq, n := f.batches.recordsOf(batch)
	tolerant := f.batches.tolerates()
	for attempt := 0; ; attempt++ {
		t.loader.Load(seq, n, &w.op)
		if tolerant {
			for i := range w.op.Requests {
				w.op.Requests[i].Unordered = true
			}
		}
		start := f.pool.now()
		outcome, alive := w.perform(measured, start, start)
		if !alive {
			return false
		}
		next := judgeBatch(outcome, &w.res, tolerant)
		switch {
		case next.done:
			inserted := int64(w.total.Docs)
			if outcome == store.Conflict {
				inserted = 0
			}
			f.batches.succeed(batch, n, inserted, outcome != store.OK, outcome == store.Unacknowledged)
			return true
		case !next.retry || attempt >= f.cfg.Retries:
			f.batches.fail(batch, fmt.Sprintf("load phase: cannot insert records %d to %d after %d attempts: %s",
				seq, seq+int64(n)-1, attempt+1, failureText(outcome, &w.res)), f.cfg.MaxFailures)
			return true
		}
		tolerant = tolerant || next.unknown
		if f.batches.retried(); attempt == 0 {
			f.pool.event(f.pool.now(), EventRetry,
				fmt.Sprintf("retrying records %d to %d: %s", seq, seq+int64(n)-1, failureText(outcome, &w.res)))
		}
		if !w.wait.until(f.pool.now() + int64(fillPause(attempt))) {
			f.batches.release()
			return true
		}
	}
}

type verdict struct {
	done    bool
	retry   bool
	unknown bool // some of it may have been applied
}

// judgeBatch returns what to do with a batch after an attempt. Duplicates are the documents of this batch if an earlier
// attempt or load phase may have inserted them; otherwise they belong to another program.
func judgeBatch(o store.Outcome, res *store.Result, tolerant bool) verdict {
	duplicate := store.CodeName(res.Code) == "DuplicateKey"
	switch o {
	case store.OK, store.Unacknowledged, store.Batched:
		return verdict{done: true}
	case store.Conflict:
		return verdict{done: tolerant}
	case store.Partial:
		return verdict{done: tolerant && duplicate, retry: !duplicate, unknown: true}
	case store.NotApplied, store.Overloaded:
		return verdict{retry: true}
	case store.Indeterminate, store.Failed:
		return verdict{retry: true, unknown: true}
	}
	return verdict{}
}

// fillPause is the pause before a batch is retried.
func fillPause(attempt int) time.Duration {
	return min(time.Second, 10*time.Millisecond<<min(attempt, 7))
}

func failureText(o store.Outcome, r *store.Result) string {
	text := o.String()
	if r.Reason != store.NoReason {
		text += " (" + r.Reason.String() + ")"
	}
	if r.Message != "" {
		text += ": " + r.Message
	}
	if r.Code != 0 {
		text += fmt.Sprintf(" [code %d %s]", r.Code, r.CodeName)
	}
	return text
}

// judge compares the number of documents with the number of records after all batches. It ends the load phase or starts
// a second pass over all records.
func (t *fillLoop) judge(w *worker) bool {
	f := t.fill
	if f.cfg.SkipCount {
		f.batches.end(f.batches.uncounted())
		return false
	}
	n, alive, err := t.count(w)
	if !alive {
		return false
	}
	b := f.batches
	b.mu.Lock()
	b.count = n
	repairing := b.repairing
	b.mu.Unlock()
	switch {
	case err != nil && f.pool.stopping.Load():
		b.end(errInterrupted)
	case err != nil:
		b.end(fmt.Errorf("load phase: cannot count the documents of %q after loading: %w", f.collection(), err))
	case n == f.report.Records:
		b.end(nil)
	case n > f.report.Records:
		b.end(f.tooMany(n))
	case repairing:
		b.end(b.stillMissing(f.collection(), n))
	default:
		f.pool.event(f.pool.now(), EventRepair, fmt.Sprintf("the collection has %d of %d documents; checking and repairing all records", n, f.report.Records))
		b.repair()
		return true
	}
	return false
}

// count counts the documents. Without acknowledgements the last ones may not have arrived, so it counts again as long
// as the number grows.
func (t *fillLoop) count(w *worker) (n int64, alive bool, err error) {
	const countLimit = time.Hour // an exact count of 10⁹ documents takes minutes
	f := t.fill
	ctx, cancel := context.WithTimeout(f.ctx, countLimit)
	defer cancel()
	go func() {
		select {
		case <-f.pool.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	w.quiet, t.judging = true, true
	deadline := f.pool.now() + int64(countLimit)
	w.begin(deadline)
	n, err = f.st.Count(ctx, f.collection())
	for f.batches.anyUnconfirmed() && err == nil && n < f.report.Records {
		if !w.wait.until(f.pool.now() + int64(200*time.Millisecond)) {
			break
		}
		before := n
		if n, err = f.st.Count(ctx, f.collection()); n == before {
			break
		}
	}
	if !w.end(deadline) {
		return n, false, err
	}
	w.quiet, t.judging = false, false
	return n, true, err
}
