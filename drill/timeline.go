package drill

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// clock turns moments of this machine into run time: nanoseconds since the record of the run began.
type clock struct{ zero time.Time }

func (c clock) at(t time.Time) int64 { return int64(t.Sub(c.zero)) }

// scope is a part of the target of which a story is told by itself: a shard, or all of it ("").
type scope struct {
	shard   string
	courses []course // by class, the first one being all of them
}

// scopes are the parts of the target: each shard by itself, because the others go on.
func (r *round) scopes() []scope {
	if len(r.result.Shards) == 0 {
		return []scope{{"", r.courses}}
	}
	var list []scope
	for i, s := range r.result.Shards {
		list = append(list, scope{s.Name, byClass(onShard(r.parts, i))})
	}
	return list
}

// timelineOf puts everything that happened after the first fault on the clock of the run, in order of time: what was
// broken, what members did, and when reads and writes came back, each by itself.
func timelineOf(r *record.DrillRound, scopes []scope, events []record.LabEvent, c clock,
	shift int64) []record.DrillMoment {
	if !broke(r.Faults) {
		return nil
	}
	var moments []record.DrillMoment
	add := func(kind, shard string, at int64, fault int, text string) {
		if at >= 0 {
			moments = append(moments, record.DrillMoment{Kind: kind, Shard: shard, At: at, Fault: fault, Text: text})
		}
	}
	for i, f := range r.Faults {
		if f.Injected <= 0 {
			continue // it could not be done
		}
		add(record.MomentFault, "", f.Injected, i, f.Fault.String()+" "+f.Target)
		if f.Healed > f.Done { // what does not last ends as soon as it is done
			add(record.MomentHealed, "", f.Healed, i, f.Fault.String()+" "+f.Target)
		}
	}
	first := r.Faults[0].Injected
	for _, s := range scopes {
		if at := firstFailure(s.courses[0], first-shift); at >= 0 {
			add(record.MomentFirstError, s.shard, at+shift, lastBefore(r.Faults, at+shift), "the first operation failed")
		}
		for _, k := range kinds {
			w := window{from: r.WindowStart - shift, fault: first - shift, until: r.WindowEnd - shift}
			c := ofKind(s.courses, k.writes)
			e := effectOf(c, w)
			for _, g := range stops(c, w, e) {
				at := g.to + shift
				add(k.first, s.shard, at, lastBefore(r.Faults, at), fmt.Sprintf("none succeeded for %s before", figure.Duration(time.Duration(g.to-g.from))))
			}
			if e.Recovery > 0 { // otherwise it never fell below
				add(k.back, s.shard, first+e.Recovery, lastBefore(r.Faults, first+e.Recovery),
					fmt.Sprintf("%s %s/s before the fault", figure.Rate(e.Before), k.name))
			}
		}
	}
	for _, e := range events {
		if kind, at := momentOf(e), c.at(happened(e)); kind != "" && at >= first {
			add(kind, shardNamed(r, e.Data["set"]), at, lastBefore(r.Faults, at), e.Text)
		}
	}
	slices.SortStableFunc(moments, earlier)
	return moments
}

// kinds are the kinds of operations, and their moments.
var kinds = []struct {
	writes            bool
	name, first, back string
}{
	{false, record.KindReads, record.MomentFirstRead, record.MomentReadsBack},
	{true, record.KindWrites, record.MomentFirstWrite, record.MomentWritesBack},
}

// shardNamed is the shard of a name, "" if there is none.
func shardNamed(r *record.DrillRound, name string) string {
	if slices.ContainsFunc(r.Shards, func(s record.DrillShard) bool { return s.Name == name }) {
		return name
	}
	return ""
}

// newPrimaries notes how long after the first fault that struck it each shard had a new primary.
func newPrimaries(r *record.DrillRound) {
	for i := range r.Shards {
		s := &r.Shards[i]
		for _, m := range r.Moments {
			if m.Kind != record.MomentElected || m.Shard != s.Name {
				continue
			}
			for _, f := range r.Faults {
				if s.NewPrimary == 0 && f.Injected > 0 && slices.Contains(f.Shards, s.Name) && m.At > f.Injected {
					s.NewPrimary = m.At - f.Injected
				}
			}
		}
	}
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

// happened is when that was of which an event tells. A primary of mongod says itself when its term began, and the lab,
// which looks twice a second, hears of it later. A time without a fraction is one of those that are told in whole
// seconds.
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
