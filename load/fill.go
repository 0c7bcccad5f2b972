package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// The values that replace zeros in a [FillConfig].
const (
	defaultBatch       = 100
	defaultParallel    = 4
	defaultRetries     = 20 // for about 14 s of immediate refusals, longer than a failover
	defaultMaxFailures = 3
)

// FillConfig configures the load phase.
type FillConfig struct {
	Batch    int // documents per insert
	Parallel int // sessions that insert at the same time
	// Resume continues an earlier load phase of the same workload. Without it the collection must be empty.
	Resume bool
	// From and To limit the load phase to the records [From, To), for one of several processes that share it. To is 0 for
	// all records. A part needs SkipCount: all documents are counted when all parts are loaded.
	From, To int64
	// Again loads records that may exist, because documents are missing after a first load phase.
	Again bool
	// SkipCount skips the comparison of the number of documents with the number of records, before and after. Clients that
	// share a data set need it.
	SkipCount   bool
	Timeout     time.Duration // deadline of each attempt of a batch
	Retries     int           // of a batch, with pauses from 10 ms to 1 s; negative for none
	MaxFailures int           // the load phase ends after this number of consecutive failed batches

	Grace       time.Duration   // see [Config.Grace]
	Interval    time.Duration   // see [Config.Interval]
	PlainTimers bool            // see [Config.PlainTimers]
	Abort       <-chan struct{} // see [Config.Abort]
}

func (c FillConfig) withDefaults() FillConfig {
	c.Batch, c.Parallel = cmp.Or(c.Batch, defaultBatch), cmp.Or(c.Parallel, defaultParallel)
	c.Retries, c.MaxFailures = cmp.Or(c.Retries, defaultRetries), cmp.Or(c.MaxFailures, defaultMaxFailures)
	c.Timeout, c.Grace = cmp.Or(c.Timeout, defaultTimeout), cmp.Or(c.Grace, defaultGrace)
	c.Interval = cmp.Or(c.Interval, DefaultInterval)
	return c
}

func (c FillConfig) check(records int64) error {
	const maxBatch = 100_000 // MongoDB's limit of documents per insert command
	switch {
	case c.Batch < 1 || c.Batch > maxBatch:
		return fmt.Errorf("batch: %d documents are not between 1 and %d, what one insert may hold", c.Batch, maxBatch)
	case c.Parallel < 1 || c.Parallel > maxWorkers:
		return fmt.Errorf("parallel: %d sessions are not between 1 and %d", c.Parallel, maxWorkers)
	case c.MaxFailures < 0:
		return fmt.Errorf("failures: %d is negative", c.MaxFailures)
	case c.From < 0 || c.From > c.To || c.To > records:
		return fmt.Errorf("records %d to %d are not a part of the %d records", c.From, c.To, records)
	case c.To-c.From < records && !c.SkipCount:
		return errors.New("a part of the records cannot be counted")
	}
	return Config{Timeout: c.Timeout, Grace: c.Grace, Interval: c.Interval}.checkTimes()
}

// FillReport is what a load phase did.
type FillReport struct {
	Started     time.Time     `json:"started"`      // wall clock at time 0 of the intervals
	End         time.Duration `json:"end_ns"`       // length of the load phase
	Records     int64         `json:"records"`      // of the workload, or of the part
	From        int64         `json:"from"`         // record at which it began; more than FillConfig.From when resumed
	Inserted    int64         `json:"inserted"`     // documents acknowledged (or sent, with w:0) by this load phase
	Present     int64         `json:"present"`      // documents that already existed
	Batches     int64         `json:"batches"`      // batches that are done
	Retries     int64         `json:"retries"`      // attempts beyond the first of each batch
	Failed      int64         `json:"failed"`       // abandoned batches
	Count       int64         `json:"count"`        // documents in the collection at the end, -1 if not counted
	Repaired    bool          `json:"repaired"`     // documents were missing at first, and all records were loaded again
	Complete    bool          `json:"complete"`     // all records exist (or were sent, without a count)
	Safe        int64         `json:"safe"`         // all records before this one are done; Resume continues there
	LastFail    string        `json:"last_failure"` // of the last batch that failed
	Abandoned   int64         `json:"abandoned"`    // batches whose session did not return past the deadline
	Displaced   int64         `json:"displaced"`    // samples that came after their interval was closed
	Interrupted bool          `json:"interrupted"`  // ended early because its context ended; what was loaded stays
	Aborted     bool          `json:"aborted"`      // ended at once because Abort was closed
}

// Fill inserts the records of w into st in parallel batches and verifies their number.
//
// Batches begin in order, at most a fixed number before the oldest unfinished one. A batch is retried if nothing of it
// was applied, or else with duplicates as existing documents. At the end the collection must have exactly the records
// of the workload. If some are missing, all are loaded once more.
//
// After an interruption, by its context, a failure or a crash, Resume continues: it finds the first missing record by
// bisection and starts a fixed number of records before it.
//
// When ctx ends, Fill waits for the current batches and returns with FillReport.Interrupted and no error. All attempts
// are counted in intervals of phase "load", one operation per attempt of a batch, with the class of the loader.
func Fill(ctx context.Context, cfg FillConfig, w workload.Workload, st store.Store,
	sink measure.Sink) (FillReport, error) {
	cfg = cfg.withDefaults()
	if cfg.To == 0 {
		cfg.To = w.Records()
	}
	if err := cfg.check(w.Records()); err != nil {
		return FillReport{}, fmt.Errorf("load phase: %w", err)
	}
	f := newFill(ctx, cfg, w, st, sink)
	done, err := f.prepare()
	if done || err != nil {
		return f.interruptedOr(err)
	}
	return f.run()
}

type fill struct {
	ctx     context.Context
	cfg     FillConfig
	w       workload.Workload
	st      store.Store
	sink    measure.Sink
	pool    *pool
	batches *batches
	report  FillReport
}

func newFill(ctx context.Context, cfg FillConfig, w workload.Workload, st store.Store, sink measure.Sink) *fill {
	p := plan{name: PhaseLoad, abort: cfg.Abort, plain: cfg.PlainTimers,
		timeout: cfg.Timeout, grace: cfg.Grace, interval: cfg.Interval,
		until: never, drained: never, tickets: never, dropAge: never,
		dims: Dims(w, false), steps: []userStep{{n: cfg.Parallel}}}
	c := newPool(p, cfg.Parallel, st)
	f := &fill{ctx: ctx, cfg: cfg, w: w, st: st, pool: c, sink: sink}
	f.report = FillReport{Records: cfg.To - cfg.From, From: cfg.From, Count: -1}
	f.batches = newBatches(cfg.From, cfg.To, int64(cfg.Batch), int64(cfg.Parallel))
	f.batches.tolerant = cfg.Again
	for _, wk := range c.workers {
		wk.task = &fillLoop{fill: f, loader: w.Loader(), batch: -1}
	}
	return f
}

func (f *fill) collection() string { return f.w.Collections()[0] }

// prepare checks the existing documents, opens the sessions and finds the first record. done is true if there is
// nothing to do.
func (f *fill) prepare() (done bool, err error) {
	if len(f.w.Collections()) == 0 {
		return false, errors.New("the workload has no collection to load")
	}
	if !f.cfg.SkipCount {
		if done, err = f.lookAtCount(); done || err != nil {
			return done, err
		}
	}
	if err := f.pool.open(f.ctx); err != nil {
		return false, err
	}
	if !f.cfg.Resume {
		return false, nil
	}
	if err := f.findStart(); err != nil {
		f.pool.closeSessions()
		return false, err
	}
	return false, nil
}

func (f *fill) lookAtCount() (done bool, err error) {
	n, err := f.st.Count(f.ctx, f.collection())
	if err != nil {
		return false, fmt.Errorf("cannot count the documents of %q before loading: %w", f.collection(), err)
	}
	f.report.Count = n
	switch {
	case n > f.report.Records:
		return false, f.tooMany(n)
	case n > 0 && n == f.report.Records && f.cfg.Resume:
		f.report.Complete, f.report.Safe, f.report.From, f.report.Present = true, n, n, n
		return true, nil
	case n > 0 && !f.cfg.Resume:
		return false, fmt.Errorf("collection %q already has %d documents. Drop it, choose another one, or resume an earlier load of "+
			"the same data", f.collection(), n)
	}
	return false, nil
}

func (f *fill) tooMany(n int64) error {
	return fmt.Errorf("collection %q has %d documents, and the workload has only %d records, so other documents are in it. Drop it or "+
		"choose another one", f.collection(), n, f.report.Records)
}

// interruptedOr returns a report of an interruption if the context ended.
func (f *fill) interruptedOr(err error) (FillReport, error) {
	if err != nil && (f.ctx.Err() != nil || closed(f.cfg.Abort)) {
		f.report.Interrupted, f.report.Aborted = true, closed(f.cfg.Abort)
		return f.report, nil
	}
	if err != nil {
		err = fmt.Errorf("load phase: %w", err)
	}
	return f.report, err
}

func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// run loads, from open sessions to the final report.
func (f *fill) run() (FillReport, error) {
	c := newController(f.pool, f.sink)
	c.watch.lost = func(w *worker) { w.task.(*fillLoop).lost() }
	load, err := c.conduct(f.ctx)
	b := f.batches
	b.mu.Lock()
	defer b.mu.Unlock()
	r := &f.report
	r.Started, r.End, r.Abandoned, r.Displaced = load.Started, load.End, load.Abandoned, load.Displaced
	r.Interrupted, r.Aborted = load.Interrupted && !b.complete, load.Aborted
	r.Inserted, r.Present, r.Batches, r.Retries, r.Failed = b.inserted, b.present, b.completed, b.retries, b.failed
	r.LastFail, r.Count, r.Repaired, r.Complete = b.lastFailure, b.count, b.repairing, b.complete
	r.Safe = b.safe()
	if err == nil && b.err != errInterrupted {
		err = b.err
	}
	if err == nil && !r.Complete && !r.Interrupted {
		err = fmt.Errorf("load phase: ended after %d of %d batches, because no session is left (%d did not return after their "+
			"deadline). Resume the load", r.Batches, b.total, r.Abandoned)
	}
	return *r, err
}
