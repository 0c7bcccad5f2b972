package load

import "time"

// finish closes all intervals and makes the report.
func (c *controller) finish() (Report, error) {
	now := c.now()
	c.catchUp(now)
	c.countOffered(now)
	r := c.report(now)
	c.hand(c.counts.finish(int64(r.End)))
	r.Displaced, r.Rejected = c.counts.displaced, c.counts.rejected
	c.event(now, EventEnd, "")
	c.out.events(&c.events)
	r.EventsLost = c.events.lost
	return r, c.out.err
}

func (c *controller) report(now int64) Report {
	r := Report{
		Started: c.base, From: time.Duration(c.from), Scheduled: c.dims.Scheduled,
		Abandoned: c.watch.abandoned, Backoffs: c.backoffs.Load(),
		Interrupted: c.interrupted && c.out.err == nil, Aborted: c.aborted.Load(),
	}
	for _, s := range c.steps {
		r.Workers = max(r.Workers, s.n)
	}
	var all account
	for _, w := range c.workers {
		all.add(&w.account)
	}
	r.Flushed, r.Verified, r.Mismatch, r.Missing = all.flushed, all.verified, all.mismatch, all.missing
	r.ByCount = c.allSent() || c.outOfWork() || c.limit.most > 0 && all.sent[measured] >= c.limit.most
	ended := all.ended
	if c.watch.abandoned > 0 {
		ended = now
	}
	// Closing sessions takes time, so a counted run ends with its last operation.
	until := min(c.end(), now)
	if r.ByCount && !c.interrupted {
		until = min(until, ended)
	}
	r.Until, r.End = time.Duration(until), time.Duration(max(until, ended))
	r.From = min(r.From, r.Until) // an interrupted warm-up leaves an empty window
	var offered [2]int64
	if c.dims.Scheduled {
		offered = c.offered(until)
	}
	r.Warmup = c.tally(warm, offered[warm], all.sent[warm], r.ByCount)
	r.Measured = c.tally(measured, offered[measured], all.sent[measured], r.ByCount)
	return r
}

// tally sums up one phase. Operations that become due during the last of a counted number, or in the microseconds of an
// interruption, are not part of the run.
func (c *controller) tally(phase int, offered, sent int64, byCount bool) Tally {
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
