package drill

import (
	"cmp"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
)

// clock turns moments of this machine into run time: nanoseconds since the record of the run began.
type clock struct{ zero time.Time }

func (c clock) at(t time.Time) int64 { return int64(t.Sub(c.zero)) }

// timelineOf puts everything that happened after the first fault on the clock of the run, in order.
func timelineOf(r *record.DrillRound, list []course, events []record.LabEvent, c clock, shift int64) []record.DrillMoment {
	if !broke(r.Faults) {
		return nil
	}
	var moments []record.DrillMoment
	add := func(kind string, at int64, fault int, text string) {
		if at >= 0 {
			moments = append(moments, record.DrillMoment{Kind: kind, At: at, Fault: fault, Text: text})
		}
	}
	for i, f := range r.Faults {
		if f.Injected <= 0 {
			continue // it could not be done
		}
		add(record.MomentFault, f.Injected, i, f.Fault+" "+f.Target)
		if f.Healed > f.Done { // what does not last ends as soon as it is done
			add(record.MomentHealed, f.Healed, i, f.Fault+" "+f.Target)
		}
	}
	first := r.Faults[0].Injected
	if at := firstFailure(list[0], first-shift); at >= 0 {
		add(record.MomentFirstError, at+shift, 0, "the first operation failed")
	}
	writes := writesOf(list)
	gap := effectOf(writes, window{from: r.WindowStart - shift, fault: first - shift, until: r.WindowEnd - shift})
	if gap.Outage >= gapSure || gap.Outage >= 0 && gap.Failed > 0 { // otherwise writes never ceased
		add(record.MomentFirstWrite, gap.OutageFrom+gap.Outage+shift, 0, "the first acknowledged write")
	}
	if all := r.Whole(); all != nil && all.Recovery >= 0 {
		add(record.MomentThroughput, first+all.Recovery, 0, "95 % of the throughput before")
	}
	for _, e := range events {
		if kind, at := momentOf(e), c.at(happened(e)); kind != "" && at >= first {
			add(kind, at, lastBefore(r.Faults, at), e.Text)
		}
	}
	slices.SortStableFunc(moments, earlier)
	return moments
}

// broke says whether anything was broken. The faults that could be done come first.
func broke(faults []record.DrillFault) bool { return len(faults) > 0 && faults[0].Injected > 0 }

// earlier orders moments by time.
func earlier(a, b record.DrillMoment) int { return cmp.Compare(a.At, b.At) }

// momentOf is the kind of moment that an event of a lab, or of the client, stands for; "" for none.
func momentOf(e record.LabEvent) string {
	switch {
	case e.Kind == "promotion", e.Kind == "election":
		return record.MomentElected
	case e.Kind == primaryGone:
		return record.MomentPrimaryOut
	}
	return ""
}

// happened is when that was of which an event tells. A primary of mongod says itself when its term began, and the lab, which
// looks twice a second, hears of it later. A time without a fraction is one of those that are told in whole seconds.
func happened(e record.LabEvent) time.Time {
	at, err := time.Parse(time.RFC3339Nano, e.Data["elected"])
	if err != nil || at.Nanosecond() == 0 || at.After(e.Time) {
		return e.Time
	}
	return at
}

// primaryGone is the kind of the event by which a client that follows a set tells that it sees no primary.
const primaryGone = "primary-gone"

// lastBefore is the index of the last fault before a moment.
func lastBefore(faults []record.DrillFault, at int64) int {
	last := 0
	for i, f := range faults {
		if f.Injected > 0 && f.Injected <= at {
			last = i
		}
	}
	return last
}
