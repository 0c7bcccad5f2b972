package load

import (
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// resumeMargin is the least number of records before the first missing one that are sent again: the interrupted load
// phase had batches in flight, and may have had a larger batch or more sessions.
const resumeMargin = 1 << 16

// findStart finds the progress of an earlier load phase.
//
// Records are inserted in order within a window, so all records before some record exist, none exists after a later
// one, and both are at most a window apart. Bisection ends between them, so a start one window before misses nothing.
// The count at the end finds the records of failed batches.
func (f *fill) findStart() error {
	p := prober{fill: f, session: f.pool.workers[0].session, loader: f.w.Loader()}
	low, high := f.cfg.From, f.cfg.To // every record before low may be there; high is missing or the end
	for low < high {
		middle := low + (high-low)/2
		there, err := p.probe(middle)
		if err != nil {
			return err
		}
		if there {
			low = middle + 1
		} else {
			high = middle
		}
	}
	margin := max(resumeMargin, f.batches.window*f.batches.size)
	f.batches.startAt(max(f.cfg.From, low-margin))
	f.report.From = f.cfg.From + f.batches.next*f.batches.size
	f.pool.events.add(measure.Event{Kind: EventResume,
		Text: fmt.Sprintf("record %d of %d is the first missing one; loading from record %d", low, f.cfg.To, f.report.From)})
	return nil
}

// prober reads single records.
type prober struct {
	fill    *fill
	session store.Session
	loader  workload.Loader
	op      workload.Op
	res     store.Result
}

// probe reports whether a record is in the database.
func (p *prober) probe(seq int64) (bool, error) {
	f := p.fill
	for attempt := 0; ; attempt++ {
		if f.ctx.Err() != nil || closed(f.cfg.Abort) {
			return false, errInterrupted
		}
		p.loader.Probe(seq, &p.op)
		if len(p.op.Requests) != 1 {
			return false, errors.New("the workload cannot read single records, so its load phase cannot be resumed. Drop the collection and load again")
		}
		p.session.Do(time.Now().Add(f.cfg.Timeout), &p.op.Requests[0], &p.res)
		switch p.res.Outcome {
		case store.OK:
			return p.res.Docs > 0, nil
		case store.NotFound:
			return false, nil
		}
		if attempt >= f.cfg.Retries {
			return false, fmt.Errorf("cannot read record %d to resume the load: %s", seq, failureText(p.res.Outcome, &p.res))
		}
		select {
		case <-time.After(fillPause(attempt)):
		case <-f.ctx.Done():
		case <-f.cfg.Abort:
		}
	}
}
