package drill

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// runClock converts times to run time: nanoseconds since the record of the run began. It counts from the beginning of
// the load as this process saw it, because that time has a monotonic reading: it stays right when the machine's wall
// clock is set.
type runClock struct {
	began time.Time // of the load
	shift int64     // run time at that moment. Times of operations begin there
}

func (c runClock) at(t time.Time) int64 { return int64(t.Sub(c.began)) + c.shift }

// clockSlack is how far the wall clock and the monotonic clock may differ in a round, because time servers make the
// wall clock a little faster or slower all the time.
const clockSlack = 100 * time.Millisecond

// clockSet returns by how much the wall clock was set while these times passed on both clocks, 0 if it was not. Times
// of faults and operations are of the monotonic clock, those of the lab's events of the wall clock.
func clockSet(wall, monotonic time.Duration) time.Duration {
	by := wall - monotonic
	if by.Abs() <= clockSlack+monotonic/1000 {
		return 0
	}
	return by
}

// scope is a part of the target that has a timeline of its own: a shard, or all of it ("").
type scope struct {
	shard   string
	courses []course // by class, the first is that of all classes
}

// scopes returns each shard, because the others go on when one is out, or the whole target if it has no shards.
func (o *operations) scopes(shards []record.DrillShard) []scope {
	if len(shards) == 0 {
		return []scope{{"", o.byClass}}
	}
	var list []scope
	for i, s := range shards {
		list = append(list, scope{s.Name, byClass(onShard(o.parts, i))})
	}
	return list
}

// timelineOf returns, in order of time, what happened since the first fault: faults, changes of primaries, and when
// reads and writes were back.
func timelineOf(r *record.DrillRound, scopes []scope, events []record.LabEvent, clock runClock) []record.DrillMoment {
	if !anyInjected(r.Faults) {
		return nil
	}
	shift := clock.shift
	var moments []record.DrillMoment
	add := func(kind, shard string, at int64, fault int, text string) {
		if at >= 0 {
			moments = append(moments, record.DrillMoment{Kind: kind, Shard: shard, At: at, Fault: fault, Text: text})
		}
	}
	for i, f := range r.Faults {
		if f.Injected <= 0 {
			continue
		}
		begun := record.MomentFault
		if f.Event != nil {
			begun = record.MomentEvent
		}
		add(begun, "", f.Injected, i, f.Fault.String()+" on "+f.Target)
		commandMoments(f, func(kind string, at int64, text string) { add(kind, "", at, i, text) })
		if f.Event != nil {
			add(record.MomentEnded, "", f.Done, i, f.Fault.String()+" "+f.Event.Outcome)
		} else if f.Healed > f.Done {
			add(record.MomentHealed, "", f.Healed, i, f.Fault.String()+" on "+f.Target)
		}
	}
	first := r.Faults[0].Injected
	for _, s := range scopes {
		if at := firstFailure(s.courses[0], first-shift); at >= 0 {
			add(record.MomentFirstError, s.shard, at+shift, lastBefore(r.Faults, at+shift), "")
		}
		for _, k := range kinds {
			w := window{from: r.WindowStart - shift, fault: first - shift, until: r.WindowEnd - shift}
			c := ofKind(s.courses, k.writes)
			e := effectOf(c, w)
			for _, g := range stops(c, w, e) {
				at := g.to + shift
				add(k.first, s.shard, at, lastBefore(r.Faults, at),
					fmt.Sprintf("the first %s after %s without any", k.one, figure.Duration(time.Duration(g.to-g.from))))
			}
			if e.Recovery > 0 { // otherwise it never fell below
				add(k.back, s.shard, first+e.Recovery, lastBefore(r.Faults, first+e.Recovery),
					fmt.Sprintf("at 95 %% of the %s %s/s before the fault", figure.Rate(e.Before), k.name))
			}
		}
	}
	for _, e := range events {
		if kind, at := momentOf(e), clock.at(happened(e)); kind != "" && at >= first {
			add(kind, shardNamed(r, e.Data["set"]), at, lastBefore(r.Faults, at), e.Text)
		}
	}
	slices.SortStableFunc(moments, earlier)
	explainPrimaries(moments)
	return moments
}

// seenLate is why a new primary is on the timeline after the first write that it acknowledged. The lab polls its
// members twice a second; primarySeen is how long that takes at most on a busy machine.
const (
	seenLate    = "seen after its first write, because the lab polls its members twice a second"
	primarySeen = 2 * time.Second
)

// explainPrimaries says why writes succeed before there is a new primary: it was one already, and was not seen yet. A
// write long before may be one of the old primary.
func explainPrimaries(moments []record.DrillMoment) {
	wrote := map[string]int64{} // by shard
	for i := range moments {
		m := &moments[i]
		switch at, ok := wrote[m.Shard]; {
		case m.Kind == record.MomentFirstWrite:
			wrote[m.Shard] = m.At
		case m.Kind == record.MomentPrimaryOut || m.Kind == record.MomentElected && !ok:
			delete(wrote, m.Shard)
		case m.Kind == record.MomentElected && m.At-at <= int64(primarySeen):
			m.Text = strings.TrimPrefix(m.Text+"; "+seenLate, "; ")
			delete(wrote, m.Shard)
		}
	}
}

// commandMoments adds the times of the commands of a fault.
func commandMoments(f record.DrillFault, add func(kind string, at int64, text string)) {
	by := "Plimsoll's own connection to the member"
	for _, c := range f.Commands {
		if c.Step == "witness" {
			if c.Returned == f.Seen {
				by = "the witness"
			}
			continue
		}
		if c.Step == "heal" {
			add(record.MomentReverting, c.Asked, f.Fault.String()+" on "+f.Target)
		}
		add(record.MomentReturned, c.Returned, c.Step+": "+c.Result())
	}
	if f.Seen > 0 {
		add(record.MomentSeen, f.Seen, by)
	}
}

// kinds are the kinds of operations, with the moments of the first success after an outage and of the recovery.
var kinds = []struct {
	writes                 bool
	name, one, first, back string
}{
	{false, record.KindReads, "successful read", record.MomentFirstRead, record.MomentReadsBack},
	{true, record.KindWrites, "acknowledged write", record.MomentFirstWrite, record.MomentWritesBack},
}

// shardNamed returns the name if a shard has it, otherwise "".
func shardNamed(r *record.DrillRound, name string) string {
	if slices.ContainsFunc(r.Shards, func(s record.DrillShard) bool { return s.Name == name }) {
		return name
	}
	return ""
}

// newPrimaries sets how long after the first fault that struck it each shard had a new primary.
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

// anyInjected reports whether a fault was injected. Those that were come first.
func anyInjected(faults []record.DrillFault) bool { return len(faults) > 0 && faults[0].Injected > 0 }

func earlier(a, b record.DrillMoment) int { return cmp.Compare(a.At, b.At) }

// momentOf returns the kind of moment of an event of a lab, or of a client's view; "" if it belongs on no timeline.
func momentOf(e record.LabEvent) string {
	switch e.Kind {
	case "promotion", "election":
		return record.MomentElected
	case "etcd":
		return record.MomentEtcd
	case "restart":
		return record.MomentRestart
	case primaryGone:
		return record.MomentPrimaryOut
	}
	return ""
}

// happened returns when an event happened. A primary of mongod reports when its term began; the lab, which polls it
// twice a second, knows that later. A time without a fraction is rounded to seconds, so the lab's own time is better.
func happened(e record.LabEvent) time.Time {
	at, err := time.Parse(time.RFC3339Nano, e.Data["elected"])
	if err != nil || at.Nanosecond() == 0 || at.After(e.Time) {
		return e.Time
	}
	return at
}

// lastBefore returns the index of the last fault before a moment.
func lastBefore(faults []record.DrillFault, at int64) int {
	last := 0
	for i, f := range faults {
		if f.Injected > 0 && f.Injected <= at {
			last = i
		}
	}
	return last
}
