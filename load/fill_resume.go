package load

import (
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// resumeMargin is how many records before the first missing one are sent again at least: the load phase
// that was cut short had batches under way, and may have had a larger batch or more sessions.
const resumeMargin = 1 << 16

// findStart finds how far an earlier load phase came.
//
// Records are inserted in order but for a bounded window, so "record n is there" is true up to some
// record, false from some later record on, and anything between the two, which lie at most a window
// apart. Bisection ends at a border inside that stretch; starting a window before it misses nothing.
// Holes that batches left which failed for good are found by the count at the end.
func (f *fill) findStart() error {
	p := prober{fill: f, session: f.crew.workers[0].session, loader: f.w.Loader()}
	low, high := int64(0), f.report.Records // every record before low may be there; high is missing or the end
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
	f.batches.startAt(max(0, low-margin))
	f.report.From = f.batches.next * f.batches.size
	f.crew.events.add(measure.Event{Kind: EventResume,
		Text: fmt.Sprintf("record %d of %d is the first missing one; loading from record %d", low, f.report.Records, f.report.From)})
	return nil
}

// prober asks for single records.
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
		if !f.sleep(fillPause(attempt)) {
			return false, errInterrupted
		}
	}
}

// sleep pauses before the workers are started; it returns false if the load phase was asked to end.
func (f *fill) sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-f.ctx.Done():
	case <-f.cfg.Abort:
	}
	return false
}
