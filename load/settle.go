package load

import (
	"time"
)

// settle closes what is open and writes the report.
func (c *crew) settle() (Report, error) {
	now := c.now()
	c.catchUp(now)
	r := c.report(now)
	closed := c.kept(warm, nil)
	for i, b := range c.books {
		if b != nil {
			closed = append(closed, c.kept(i, c.keep(b.collector.Finish(r.End)))...)
			c.lose(b)
		}
	}
	r.Displaced, r.Rejected = c.displaced, c.rejected
	c.handOverIntervals(closed)
	c.event(now, EventEnd, "")
	c.handOverEvents()
	r.EventsLost = c.events.lost
	return r, c.err
}

func (c *crew) report(now int64) Report {
	r := Report{
		Started: c.base, From: time.Duration(c.from), Scheduled: c.dims.Scheduled,
		Abandoned: c.abandoned, Backoffs: c.backoffs.Load(),
		Interrupted: c.interrupted && c.err == nil, Aborted: c.aborted.Load(),
	}
	for _, s := range c.steps {
		r.Workers = max(r.Workers, s.n)
	}
	var sent [2]int64
	var ended int64
	for _, w := range c.workers {
		sent[warm] += w.sent[warm]
		sent[measured] += w.sent[measured]
		ended = max(ended, w.ended)
		r.Flushed += w.flushed
		r.Verified += w.checks.verified
		r.Mismatch += w.checks.mismatch
		r.Missing += w.checks.missing
	}
	r.ByCount = c.allTaken() || c.outOfWork() || c.limit.most > 0 && sent[measured] >= c.limit.most
	if c.abandoned > 0 {
		ended = now
	}
	// Closing sessions takes time that is not the load's: a counted run is over with its last operation.
	until := min(c.end(), now)
	if r.ByCount && !c.interrupted {
		until = min(until, ended)
	}
	r.Until, r.End = time.Duration(until), time.Duration(max(until, ended))
	r.From = min(r.From, r.Until) // an interrupted warm-up leaves an empty window
	var offered [2]int64
	if c.dims.Scheduled {
		offered = c.offered(int64(r.Until))
	}
	r.Warmup = c.tally(warm, offered[warm], sent[warm], r.ByCount)
	r.Measured = c.tally(measured, offered[measured], sent[measured], r.ByCount)
	return r
}

// tally balances the books of one phase. Operations that fall due while the last of a counted number
// are under way, or in the microseconds in which an interruption takes hold, are not part of the run.
func (c *crew) tally(phase int, offered, sent int64, byCount bool) Tally {
	t := Tally{Offered: offered, Sent: sent, Dropped: c.dropped[phase].Load()}
	if !c.dims.Scheduled {
		return t
	}
	if done := t.Sent + t.Dropped; byCount || t.Offered < done {
		t.Offered = done
	}
	t.Unsent = t.Offered - t.Sent - t.Dropped
	return t
}
