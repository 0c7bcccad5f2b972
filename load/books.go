package load

import (
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
)

// books has the counts of a run, separately for the warm-up and the main phase.
type books struct {
	plan    *plan
	of      [2]*book // by phase; that of the warm-up is nil without one, and after it is closed
	counted int64    // until when the offered operations are counted
	ticked  int64    // when intervals are closed next

	displaced, rejected int64 // of the books that are closed, see [measure.Collector]
}

// book has the counts of one phase.
type book struct {
	collector *measure.Collector
	rec       *measure.Recorder // the controller's own
	offered   int64             // counted in rec
}

// open makes the collectors of the main phase and of the warm-up, if there is one. loops is as in [measure.Options].
func (b *books) open(p *plan, loops func() []measure.LoopUse) (err error) {
	b.plan = p
	first := p.name
	if p.from > 0 {
		if b.of[warm], err = newBook(p, PhaseWarmup, loops); err != nil {
			return err
		}
		// Operations that end late do not extend the warm-up, or its rates would be too low.
		b.of[warm].collector.Phase(PhaseWarmupDrain, time.Duration(p.from))
		first = PhaseWarmup // nothing is ever counted in it
	}
	if b.of[measured], err = newBook(p, first, loops); err != nil {
		return err
	}
	if p.from > 0 {
		b.of[measured].collector.Phase(p.name, time.Duration(p.from))
	}
	if p.until != never {
		b.of[measured].collector.Phase(PhaseDrain, time.Duration(p.until))
	}
	return nil
}

func newBook(p *plan, phase string, loops func() []measure.LoopUse) (*book, error) {
	collector, err := measure.NewCollector(measure.Options{Dims: p.dims, Phase: phase, Width: p.interval, Loops: loops})
	if err != nil {
		return nil, err
	}
	return &book{collector: collector, rec: collector.Recorder()}, nil
}

// recorders makes a recorder for each phase that is open.
func (b *books) recorders() (list [2]*measure.Recorder) {
	for phase, book := range b.of {
		if book != nil {
			list[phase] = book.collector.Recorder()
		}
	}
	return list
}

// gauge reads the operations in flight.
func (b *books) gauge(now int64) {
	for _, book := range b.of {
		if book != nil {
			book.collector.Gauge(time.Duration(now))
		}
	}
}

// countOffered counts the operations that were due until now, in their intervals. before returns the number of
// operations that were due before a time. Its cost grows with the workers, so it is called once per interval.
func (b *books) countOffered(now int64, before func(t int64) [2]int64) {
	for b.counted < now {
		b.counted = min(b.plan.border(b.counted), now)
		for phase, n := range before(b.counted) {
			if book := b.of[phase]; book != nil && n > book.offered {
				book.rec.Offered(b.counted-1, n-book.offered)
				book.offered = n
			}
		}
	}
}

// borderPassed reports whether intervals can be closed.
func (b *books) borderPassed(now int64) bool { return now >= b.ticked }

func (b *books) tick(now int64) ([]*measure.Interval, error) {
	b.ticked = b.plan.border(now)
	return b.close(func(c *measure.Collector) ([]*measure.Interval, error) { return c.Tick(time.Duration(now)) })
}

func (b *books) finish(end int64) ([]*measure.Interval, error) {
	closed, err := b.close(func(c *measure.Collector) ([]*measure.Interval, error) { return c.Finish(time.Duration(end)) })
	for phase := range b.of {
		b.writeOff(phase)
	}
	return closed, err
}

// close closes intervals of both phases, without those in which nothing of their phase can be.
func (b *books) close(how func(*measure.Collector) ([]*measure.Interval, error)) ([]*measure.Interval, error) {
	var all []*measure.Interval
	var failed error
	for phase, book := range b.of {
		if book == nil {
			continue
		}
		closed, err := how(book.collector)
		if failed == nil {
			failed = err
		}
		all = append(all, slices.DeleteFunc(closed, func(iv *measure.Interval) bool { return b.idle(phase, iv) })...)
	}
	return all, failed
}

// closeWarmup closes the book of the warm-up when no worker uses it.
func (b *books) closeWarmup(now int64) ([]*measure.Interval, error) {
	book := b.of[warm]
	if book == nil {
		return nil, nil
	}
	closed, err := book.collector.Finish(time.Duration(now))
	b.writeOff(warm)
	b.of[warm] = nil
	return slices.DeleteFunc(closed, func(iv *measure.Interval) bool { return b.idle(warm, iv) }), err
}

// writeOff keeps the numbers of displaced and rejected samples of a book.
func (b *books) writeOff(phase int) {
	if book := b.of[phase]; book != nil {
		b.displaced += book.collector.Displaced()
		b.rejected += book.collector.Rejected()
	}
}

// idle reports whether nothing of its phase can be in an interval: in the main phase before its beginning, and in the
// drain of the warm-up without operations.
func (b *books) idle(phase int, iv *measure.Interval) bool {
	if phase == measured {
		return int64(iv.Start) < b.plan.from
	}
	if int64(iv.Start) < b.plan.from {
		return false
	}
	for _, class := range iv.Classes {
		for _, n := range class.Counts {
			if n > 0 {
				return false
			}
		}
	}
	return iv.Offered == 0 && iv.Dropped == 0 && len(iv.Failures) == 0
}
