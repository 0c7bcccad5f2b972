package load

import (
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
)

// counts has the counts of a run, separately for the warm-up and the main phase.
type counts struct {
	plan    *plan
	of      [2]*phaseCounts // by phase; that of the warm-up is nil without one, and after it is closed
	counted int64           // until when the offered operations are counted
	ticked  int64           // when intervals are closed next

	displaced, rejected int64 // of the counts that are closed, see [measure.Collector]
}

// phaseCounts has the counts of one phase.
type phaseCounts struct {
	collector *measure.Collector
	rec       *measure.Recorder // the controller's own
	offered   int64             // counted in rec
}

// open makes the collectors of the main phase and of the warm-up, if there is one. loops is as in [measure.Options].
func (b *counts) open(p *plan, loops func() []measure.LoopUse) (err error) {
	b.plan = p
	first := p.name
	if p.from > 0 {
		if b.of[warm], err = newPhaseCounts(p, PhaseWarmup, loops); err != nil {
			return err
		}
		// Operations that end late do not extend the warm-up, or its rates would be too low.
		b.of[warm].collector.Phase(PhaseWarmupDrain, time.Duration(p.from))
		first = PhaseWarmup // nothing is ever counted in it
	}
	if b.of[measured], err = newPhaseCounts(p, first, loops); err != nil {
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

func newPhaseCounts(p *plan, phase string, loops func() []measure.LoopUse) (*phaseCounts, error) {
	collector, err := measure.NewCollector(measure.Options{Dims: p.dims, Phase: phase, Width: p.interval, Loops: loops})
	if err != nil {
		return nil, err
	}
	return &phaseCounts{collector: collector, rec: collector.Recorder()}, nil
}

// recorders makes a recorder for each phase that is open.
func (b *counts) recorders() (list [2]*measure.Recorder) {
	for phase, one := range b.of {
		if one != nil {
			list[phase] = one.collector.Recorder()
		}
	}
	return list
}

// gauge reads the operations in flight.
func (b *counts) gauge(now int64) {
	for _, one := range b.of {
		if one != nil {
			one.collector.Gauge(time.Duration(now))
		}
	}
}

// countOffered counts the operations that were due until now, in their intervals. before returns the number of
// operations that were due before a time. Its cost grows with the workers, so it is called once per interval.
func (b *counts) countOffered(now int64, before func(t int64) [2]int64) {
	for b.counted < now {
		b.counted = min(b.plan.border(b.counted), now)
		for phase, n := range before(b.counted) {
			if one := b.of[phase]; one != nil && n > one.offered {
				one.rec.Offered(b.counted-1, n-one.offered)
				one.offered = n
			}
		}
	}
}

// borderPassed reports whether intervals can be closed.
func (b *counts) borderPassed(now int64) bool { return now >= b.ticked }

func (b *counts) tick(now int64) ([]*measure.Interval, error) {
	b.ticked = b.plan.border(now)
	return b.close(func(c *measure.Collector) ([]*measure.Interval, error) { return c.Tick(time.Duration(now)) })
}

func (b *counts) finish(end int64) ([]*measure.Interval, error) {
	closed, err := b.close(func(c *measure.Collector) ([]*measure.Interval, error) { return c.Finish(time.Duration(end)) })
	for phase := range b.of {
		b.writeOff(phase)
	}
	return closed, err
}

// close closes intervals of both phases, without those in which nothing of their phase can be.
func (b *counts) close(how func(*measure.Collector) ([]*measure.Interval, error)) ([]*measure.Interval, error) {
	var all []*measure.Interval
	var failed error
	for phase, one := range b.of {
		if one == nil {
			continue
		}
		closed, err := how(one.collector)
		if failed == nil {
			failed = err
		}
		all = append(all, slices.DeleteFunc(closed, func(iv *measure.Interval) bool { return b.idle(phase, iv) })...)
	}
	return all, failed
}

// closeWarmup closes the counts of the warm-up when no worker uses it.
func (b *counts) closeWarmup(now int64) ([]*measure.Interval, error) {
	one := b.of[warm]
	if one == nil {
		return nil, nil
	}
	closed, err := one.collector.Finish(time.Duration(now))
	b.writeOff(warm)
	b.of[warm] = nil
	return slices.DeleteFunc(closed, func(iv *measure.Interval) bool { return b.idle(warm, iv) }), err
}

// writeOff keeps the numbers of displaced and rejected samples of a phase.
func (b *counts) writeOff(phase int) {
	if one := b.of[phase]; one != nil {
		b.displaced += one.collector.Displaced()
		b.rejected += one.collector.Rejected()
	}
}

// idle reports whether nothing of its phase can be in an interval: in the main phase before its beginning, and in the
// drain of the warm-up without operations.
func (b *counts) idle(phase int, iv *measure.Interval) bool {
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
