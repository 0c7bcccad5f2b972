package run

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// loadData takes the records of the workload as they are, loads the missing ones, or drops and loads all, as specified.
func (r *runner) loadData(ctx context.Context) error {
	if r.opts.Loaded != nil {
		r.keepFill(*r.opts.Loaded)
		return nil
	}
	p := r.spec.LoadPhase
	if p.Skip {
		if err := r.spread(ctx); err != nil {
			return err
		}
		if r.opts.share().Clients > 1 {
			return nil // the parent process has counted
		}
		for i, part := range workload.Parts(r.workload) {
			r.collection, r.collectionNumber = part, i
			count, err := r.count(ctx)
			if err != nil {
				return err
			}
			r.keepFill(record.FillResult{Records: part.Records(), Present: count, Counted: count, Skipped: true})
		}
		return nil
	}
	if r.lab != nil && r.lab.before != nil {
		if err := checkRoom(r.lab.before.Specification, r.spec); err != nil {
			return err
		}
	}
	if p.Drop {
		if err := r.dropAll(ctx); err != nil {
			return err
		}
	}
	if err := r.spread(ctx); err != nil {
		return err
	}
	for i, part := range workload.Parts(r.workload) {
		if err := r.loadCollection(ctx, i, part); err != nil {
			return err
		}
	}
	return nil
}

// loadCollection loads the records of one collection.
func (r *runner) loadCollection(ctx context.Context, number int, part workload.Workload) error {
	r.collection, r.collectionNumber = part, number
	count, err := r.count(ctx)
	if err != nil {
		return err
	}
	if count > 0 && part.Records() > 0 {
		if err := r.checkForeign(ctx, count); err != nil {
			return err
		}
	}
	if number == 0 { // also of collections that nothing is loaded into
		if err := r.store.EnsureIndexes(ctx, r.workload.Indexes()); err != nil {
			return err
		}
	}
	if count >= part.Records() {
		r.keepFill(record.FillResult{Records: part.Records(), Present: count, Counted: count})
		return nil
	}
	if err := r.fillUp(ctx, count); err != nil {
		return err
	}
	return r.verify(ctx)
}

func (r *runner) count(ctx context.Context) (int64, error) {
	name := r.collection.Collections()[0]
	if !r.target.StoresNothing() {
		r.opts.Progress.Step("counting the documents of " + name)
	}
	return r.store.Count(ctx, name)
}

// fillUp loads what is missing. before is the number of documents that exist.
func (r *runner) fillUp(ctx context.Context, before int64) error {
	r.opts.Progress.Begin(Plan{Phase: load.PhaseLoad, Operations: r.collection.Records()})
	r.discardSamples()
	var report load.FillReport
	var err error
	if !r.opts.Others.fills() {
		all := FillRange{Collection: r.collectionNumber, To: r.collection.Records(), Resume: before > 0}
		report, err = r.fillRange(ctx, all, r.sink(false))
	} else {
		report, err = r.fillTogether(ctx, before)
	}
	r.keepFill(record.FillResult{
		Records: report.Records, Inserted: report.Inserted, Present: report.Present, Counted: report.Count,
		Seconds: report.End.Seconds(),
	})
	if err == nil && report.Interrupted {
		return context.Canceled
	}
	return err
}

// FillRange is what one process does of a load phase: the records [From, To).
type FillRange struct {
	Collection int `json:",omitempty"` // number of the collection among those that are loaded
	From, To   int64
	Resume     bool // an earlier load phase was interrupted
	Again      bool // documents are missing after a first load phase
}

// fillRange loads a range of the records in this process. If that is all of them, it counts them.
func (r *runner) fillRange(ctx context.Context, p FillRange, sink measure.Sink) (load.FillReport, error) {
	st, done, err := r.fillStore(ctx)
	if err != nil {
		return load.FillReport{}, err
	}
	defer done()
	return load.Fill(ctx, load.FillConfig{
		Batch: int(r.spec.LoadPhase.Batch), Parallel: int(r.spec.LoadPhase.Parallel),
		From: p.From, To: p.To, Resume: p.Resume, Again: p.Again, SkipCount: r.opts.share().Clients > 1,
		Timeout: max(r.config.Timeout, 30*time.Second), Abort: r.opts.Abort,
	}, r.collection, st, sink)
}

// fillTogether loads in other processes, and counts the documents. If some are missing, all records are loaded once
// more.
func (r *runner) fillTogether(ctx context.Context, before int64) (all load.FillReport, err error) {
	records, name := r.collection.Records(), r.collection.Collections()[0]
	for _, again := range []bool{false, true} {
		report, err := r.opts.Others.Fill(ctx, r.labAddress(), FillRange{Collection: r.collectionNumber, To: records,
			Resume: before > 0 && !again, Again: again},
			r.sink(false))
		all.Records, all.Count = records, -1
		all.Inserted, all.Present, all.End = all.Inserted+report.Inserted, report.Present, all.End+report.End
		if all.Interrupted = report.Interrupted; err != nil || all.Interrupted {
			return all, err
		}
		if all.Count, err = r.count(ctx); err != nil {
			return all, err
		}
		switch {
		case all.Count == records:
			all.Inserted, all.Present = records-before, before // a process that was lost has no report
			return all, nil
		case all.Count > records:
			return all, fmt.Errorf("collection %q has %d documents, and the workload has only %d records, so other documents are in it. Drop it or "+
				"choose another one", name, all.Count, records)
		case !again:
			r.watch.Tell(load.EventRepair, fmt.Sprintf("the collection has %d of %d documents; checking and repairing all records", all.Count,
				records), nil)
		}
	}
	return all, fmt.Errorf("load phase: collection %q has %d documents instead of %d after a second pass, so it loses documents or another "+
		"client deletes them", name, all.Count, records)
}

// Fill loads a range of the records of a run, for one of several processes that share its load phase. It writes no
// record; intervals and events go to the progress.
func Fill(ctx context.Context, asked spec.Run, opts Options, p FillRange) (load.FillReport, error) {
	r, err := prepare(ctx, asked, opts)
	if err != nil {
		return load.FillReport{}, at(Specification, err)
	}
	defer r.watch.Stop()
	if err := r.openTarget(ctx); err != nil {
		return load.FillReport{}, at(Reaching, orEnded(ctx, err))
	}
	defer r.closeTarget()
	parts := workload.Parts(r.workload)
	if p.Collection < 0 || p.Collection >= len(parts) {
		return load.FillReport{}, at(Specification, fmt.Errorf("the workload has no collection %d", p.Collection))
	}
	r.collection, r.collectionNumber = parts[p.Collection], p.Collection
	report, err := r.fillRange(ctx, p, passOn{r.opts.Progress, load.Dims(r.workload, false)})
	return report, at(Filling, orEnded(ctx, err))
}

// passOn is a sink without a record.
type passOn struct {
	to   Progress
	dims measure.Dims
}

func (p passOn) Interval(iv *measure.Interval) error { p.to.Interval(p.dims, iv); return nil }
func (p passOn) Event(e measure.Event) error         { p.to.Event(e); return nil }

// fillStore returns the store of the load phase and its close function. For unacknowledged writes it is a second
// connection with w:1. Otherwise the measured run could begin before the data have arrived, and losses would stay
// unknown.
func (r *runner) fillStore(ctx context.Context) (store.Store, func(), error) {
	if r.target.Kind != "mongodb" || !r.unacknowledged() {
		return r.store, func() {}, nil
	}
	cfg := r.storeConfig()
	cfg.Concern = store.Concern{W: "1"}
	st, err := r.target.Open(ctx, r.spec.Client, cfg, nil)
	if err != nil {
		return nil, nil, err
	}
	return st, func() { _ = st.Close() }, nil // the data are counted; a connection that does not close changes nothing
}

// unacknowledged reports whether the specification or, if it has no w, the address asks for w:0.
func (r *runner) unacknowledged() bool {
	return Concern(r.spec.Durability.At(r.target.URI)).Unacknowledged()
}

// keepFill records what was loaded: the sum of all collections.
func (r *runner) keepFill(f record.FillResult) {
	if r.fill != nil && r.collectionNumber > 0 {
		f.Records, f.Inserted, f.Present = f.Records+r.fill.Records, f.Inserted+r.fill.Inserted, f.Present+r.fill.Present
		f.Counted, f.Seconds = f.Counted+r.fill.Counted, f.Seconds+r.fill.Seconds
		f.Verified += r.fill.Verified
	}
	r.fill = &f
	r.writer.SetFill(f)
}

// verifyAtMost is the number of documents of a collection that are read back after the load phase.
const verifyAtMost = 200

// verify reads documents back, evenly spread, and compares them with what the workload makes.
func (r *runner) verify(ctx context.Context) error {
	_, can := workload.As[workload.Compound](r.workload)
	if !can || r.target.StoresNothing() || r.opts.share().Clients > 1 {
		return nil
	}
	session, err := r.store.Session(0)
	if err != nil {
		return err
	}
	defer session.Close()
	loader, records := r.collection.Loader(), r.collection.Records()
	n := min(records, verifyAtMost)
	var read, made workload.Op
	var res store.Result
	for i := range n {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		seq := i * (records - 1) / max(n-1, 1)
		loader.Probe(seq, &read)
		find := read.Requests[0]
		find.Projection = nil
		session.Do(time.Now().Add(r.config.Timeout), &find, &res)
		if res.Outcome != store.OK {
			return fmt.Errorf("cannot read record %d of %s after the load phase: %s %s", seq, find.Collection, res.Outcome, res.Message)
		}
		got := bytes.Clone(res.Doc)
		loader.Load(seq, 1, &made)
		if want := made.Requests[0].Docs[0]; !r.timed() && !bytes.Equal(got, want) {
			return fmt.Errorf("record %d of %s is not the document that was inserted. Inserted:\n%s\nread:\n%s", seq, find.Collection,
				bson.Raw(want), bson.Raw(got))
		}
	}
	r.fill.Verified += n
	r.writer.SetFill(*r.fill)
	return nil
}

// timed reports whether documents of the collection depend on the time, so that they cannot be compared.
func (r *runner) timed() bool {
	t, ok := r.collection.(interface{ Timed() bool })
	return ok && t.Timed()
}

// checkForeign checks that existing documents are those of this workload: the first record must exist and have about
// the size that this workload makes. If there are at least as many documents as records, the last record must exist
// too, because inserts of earlier runs also count.
func (r *runner) checkForeign(ctx context.Context, count int64) error {
	remedy := "Load into another database (--database), drop the collection (--load drop), or use the data as they are " +
		"(--load skip)"
	name := r.spec.Database + "." + r.collection.Collections()[0]
	first, err := r.sizeInTarget(ctx, 0)
	switch {
	case err != nil || first == notAsked:
		return err
	case first == notThere:
		return fmt.Errorf("%s has %d documents that this workload did not load. %s", name, count, remedy)
	}
	if want := sizeOf(r.collection, 0); !r.target.StoresNothing() && (first > want+want/2 || want > first+first/2) {
		return fmt.Errorf("%s has documents of %d bytes, and this workload makes %d bytes. %s", name, first, want, remedy)
	}
	if last := r.collection.Records() - 1; count > last {
		switch size, err := r.sizeInTarget(ctx, last); {
		case err != nil:
			return err
		case size == notThere:
			return fmt.Errorf("%s has %d documents without record %d of %d. They were loaded for fewer records, and runs inserted "+
				"the others. %s", name, count, last+1, last+1, remedy)
		}
	}
	return nil
}

// Results of sizeInTarget that are no size.
const (
	notThere = -1
	notAsked = -2 // the workload cannot read single records
)

// sizeInTarget returns the size of a record in the target. It returns when ctx ends, although a session has no context.
func (r *runner) sizeInTarget(ctx context.Context, seq int64) (size int, err error) {
	type answer struct {
		size int
		err  error
	}
	answers := make(chan answer, 1)
	go func(st store.Store) {
		size, err := r.probeSize(st, seq)
		answers <- answer{size, err}
	}(r.store)
	select {
	case a := <-answers:
		return a.size, a.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func (r *runner) probeSize(st store.Store, seq int64) (size int, err error) {
	session, err := st.Session(0)
	if err != nil {
		return 0, err
	}
	defer session.Close()
	var op workload.Op
	var res store.Result
	r.collection.Loader().Probe(seq, &op)
	if len(op.Requests) == 0 {
		return notAsked, nil
	}
	op.Requests[0].Projection = nil // the whole document, to see its size
	session.Do(time.Now().Add(r.config.Timeout), &op.Requests[0], &res)
	switch res.Outcome {
	case store.OK:
		return len(res.Doc), nil
	case store.NotFound:
		return notThere, nil
	}
	return 0, fmt.Errorf("cannot read record %d: %s", seq, res.Message)
}

// sizeOf returns the size of a record of a workload, 0 if it loads none.
func sizeOf(w workload.Workload, seq int64) int {
	var op workload.Op
	w.Loader().Load(seq, 1, &op)
	if len(op.Requests) == 0 || len(op.Requests[0].Docs) == 0 {
		return 0
	}
	return len(op.Requests[0].Docs[0])
}
