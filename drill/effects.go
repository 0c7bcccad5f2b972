package drill

import (
	"iter"
	"math"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
)

// window is the measured time of a round and the first fault in it, in nanoseconds of run time.
type window struct {
	from, fault, until int64
	// baseline is when the throughput before the fault begins to count; 0 is from the beginning.
	baseline int64
	// done is when the fault took effect. healed is when its effect ended, 0 if it did not end or that is not known.
	done, healed int64
}

// broken returns how long the fault was in effect.
func (w window) broken() (from, until int64) {
	from, until = max(w.fault, w.done), w.until
	if w.healed > 0 {
		until = min(until, w.healed)
	}
	return from, until
}

const (
	// baselineLength is the time before a fault that gives the throughput before it, where the load has stages. In a
	// ramp, the mean since the beginning is far less than the throughput just before the fault.
	baselineLength = int64(5e9)
	// backAt is the share of the throughput before that counts as recovered.
	backAt = 0.95
	// startsAt is the share that the first tenth of a span must reach to count as recovered. Operations that waited
	// arrive in a burst, and the burst must not count for the time before it.
	startsAt = 0.8
	// gapLeast is the shortest time without a success after which recovery is searched. A slow load has shorter ones
	// between any two operations.
	gapLeast = int64(100e6)
	// gapSure is the shortest time without a success after which recovery is searched even if the run ends too early to
	// find it. Shorter ones at the end of a run, long after the recovery, are hiccups.
	gapSure = int64(1e9)
)

// spanMost is the longest time over which throughput is compared.
const spanMost = 5 * time.Second

// spanOf returns the time over which throughput is compared. It is 1 to 5 s, so that the scatter of a thousand
// operations does not decide.
func spanOf(before float64) int64 { return int64(min(max(1000/before, 1), spanMost.Seconds()) * 1e9) }

// addEffects adds what the first fault meant to a round: for all clients, for each client and for each shard.
func (o *operations) addEffects(out *record.DrillRound, shift int64) {
	o.effectsOf(out, shift, -1, "", o.byClass, out.WindowEnd)
	for client, list := range o.perClient {
		until := out.WindowEnd
		for _, u := range o.unknown {
			if u.Client == client {
				until = u.From
			}
		}
		if until > out.Faults[0].Injected {
			o.effectsOf(out, shift, client, "", byClass(list), until)
		}
	}
	for i, s := range out.Shards {
		o.effectsOf(out, shift, -1, s.Name, byClass(onShard(o.parts, i)), out.WindowEnd)
	}
}

// effectsOf adds the effects on all operations, on reads and writes where there are both, and on each class.
func (o *operations) effectsOf(out *record.DrillRound, shift int64, client int, shard string, list []course,
	until int64) {
	f := out.Faults[0]
	w := window{from: out.WindowStart - shift, fault: f.Injected - shift, until: until - shift,
		done: f.Done - shift}
	if f.Healed > 0 {
		w.healed = f.Healed - shift
	}
	if f.Event != nil { // it has an effect from its begin
		w.done, w.healed = w.fault, f.Done-shift
	}
	if len(o.spec.Load.Stages) > 0 {
		w.baseline = w.fault - baselineLength
	}
	add := func(c course, kind string) {
		e := effectOf(c, w)
		if e.OutageFrom >= 0 {
			e.OutageFrom += shift
		}
		e.Client, e.Kind, e.Shard = client, kind, shard
		out.Effects = append(out.Effects, e)
	}
	add(list[0], "")
	if reads, writes := ofKind(list, false), ofKind(list, true); reads.loaded() && writes.loaded() {
		add(reads, record.KindReads)
		add(writes, record.KindWrites)
	}
	if shard != "" {
		return // its classes would be too many figures
	}
	for _, c := range list[1:] {
		if !c.ofProbes() {
			add(c, "")
		}
	}
}

// acknowledgedBefore counts the operations with checked writes that were acknowledged in the second before the first
// fault, -1 without one.
func (o *operations) acknowledgedBefore(faults []record.DrillFault, shift int64) int64 {
	if !anyInjected(faults) || o.byClass == nil {
		return -1
	}
	at := faults[0].Injected - shift
	return checkedBefore(o.byClass, at)
}

// markStruck marks the shards that a fault struck: in a lab, those with a data-bearing member on the target. Of a
// fault that names no member that is not known, so every shard counts.
func (o *operations) markStruck(out *record.DrillRound, shift int64) {
	for i := range out.Shards {
		s := &out.Shards[i]
		first := int64(-1)
		for _, f := range out.Faults {
			if f.Injected > 0 && (anywhere(f) || slices.Contains(f.Shards, s.Name)) {
				s.Struck = true
				if first < 0 || f.Injected < first {
					first = f.Injected
				}
			}
		}
		if first < 0 {
			first = out.Faults[0].Injected
		}
		at := first - shift
		s.AcknowledgedBefore = checkedBefore(onShard(o.parts, i), at)
	}
}

// checkedBefore counts the operations with checked writes that succeeded in the second before a moment. A batch or a
// transaction counts once, because all its writes are acknowledged at the same time.
func checkedBefore(list []course, at int64) (n int64) {
	for _, s := range ofKind(list, true).slices {
		if s.checked > 0 && s.okFirst >= at-int64(time.Second) && s.okFirst < at {
			n += s.checked
		}
	}
	return n
}

// effectOf computes what a fault meant for one class, from the times at which its operations ended.
func effectOf(c course, w window) record.DrillEffect {
	e := record.DrillEffect{Class: c.class, Client: -1, Outage: -1, OutageFrom: -1, Recovery: -1}
	if w.fault <= w.from {
		return e
	}
	e.Before = rate(c, max(w.from, w.baseline), w.fault)
	if from, until := w.broken(); until > from {
		e.During = timelyRate(c, from, until)
	}
	outage := longestGap(c, w, e.Before)
	e.OutageFrom = outage.from
	if outage.back {
		e.Outage, e.Hung = outage.to-outage.from, hung(c, outage)
	}
	for _, s := range c.slices {
		if s.failed > 0 && s.failLast >= w.fault {
			e.Failed += s.failed
		}
	}
	if e.Before == 0 || !outage.back {
		e.Missing = missing(c, e.Before, w.fault, w.until)
		return e
	}
	search := w.fault
	if outage.ceased(e.Before, w.until) {
		search = max(search, outage.to)
	}
	until := w.until
	if at := recovered(c, e.Before, search, w.until); at >= 0 {
		e.Recovery, until = at-w.fault, at
	}
	e.Missing = missing(c, e.Before, w.fault, until)
	return e
}

// rate returns the successes per second that ended in [from, to).
func rate(c course, from, to int64) float64 {
	return float64(count(c, from, to)) / (float64(to-from) / 1e9)
}

// timelyRate returns the successes per second that ended in [from, to) and came in time. Operations that waited for a
// worker until the fault was over are no throughput of the time in which they were due.
func timelyRate(c course, from, to int64) float64 {
	n := int64(0)
	for _, s := range c.slices {
		if s.timely > 0 && s.okFirst >= from && s.okFirst < to {
			n += s.timely
		}
	}
	return float64(n) / (float64(to-from) / 1e9)
}

// count returns the successes that ended in [from, to), to the resolution of slices.
func count(c course, from, to int64) int64 {
	n := int64(0)
	for _, s := range c.slices {
		if s.ok > 0 && s.okFirst >= from && s.okFirst < to {
			n += s.ok
		}
	}
	return n
}

// gap is a time without a success. If none came until the end of the measured time, back is false and to is that end.
type gap struct {
	from, to int64
	back     bool
}

// ceased reports whether the gap is long enough that recovery is searched after it. before is the throughput before the
// fault, until the end of the measured time.
func (g gap) ceased(before float64, until int64) bool {
	length := g.to - g.from
	return g.from >= 0 && before > 0 && length >= gapLeast && (length >= gapSure || g.to+spanOf(before) <= until)
}

// idleMost is the longest time between the last success and the next operation that counts as a part of an outage. In a
// longer one the client sent nothing, for example because all workers waited for other operations. That says nothing
// about the server, so the outage begins when the next operation was sent.
const idleMost = gapLeast

// gaps returns the times without a success, from one success to the next, that ended after the fault.
func gaps(c course, w window) iter.Seq[gap] {
	sent := sentAfter(c.slices)
	return func(yield func(gap) bool) {
		last, next := int64(-1), int64(math.MaxInt64)
		from := func() int64 {
			if next-last > idleMost && next != math.MaxInt64 {
				return next
			}
			return last
		}
		for i := range c.slices {
			s := &c.slices[i]
			if !s.answered() {
				continue
			}
			if last >= 0 && s.okFirst >= w.fault && last <= w.until && !yield(gap{from(), s.okFirst, true}) {
				return
			}
			if s.okLast >= last { // those of several processes may overlap
				last, next = s.okLast, sent[i]
			}
		}
		if last >= 0 && w.until-from() >= gapLeast { // a shorter one is chance
			yield(gap{from(), w.until, false})
		}
	}
}

// sentAfter returns, for each slice, when the first of the operations was sent that ended in later ones.
func sentAfter(list []slice) []int64 {
	sent := make([]int64, len(list))
	earliest := int64(math.MaxInt64)
	for i := len(list) - 1; i >= 0; i-- {
		sent[i] = earliest
		earliest = min(earliest, list[i].sent)
	}
	return sent
}

// sure reports whether a gap is no chance: it is at least [gapSure] long, and twenty operations would have succeeded in
// it at the rate before. Between operations that come at random so long a gap has a probability of e^-20.
func (g gap) sure(before float64) bool {
	length := g.to - g.from
	return length >= gapSure && float64(length)*before >= 20e9
}

// momentMost is the longest time of successes that do not end an outage, where the gaps before and after are ten times
// as long. A member that is the primary for a moment serves some clients, and the others do not find it in time.
const momentMost = int64(1e9)

// outages returns the gaps. Two that are no chance, with a moment of successes between them, are one.
func outages(c course, w window, before float64) iter.Seq[gap] {
	return func(yield func(gap) bool) {
		open := gap{from: -1} // the last that is no chance: the next gap may belong to it
		for g := range gaps(c, w) {
			switch {
			case !g.sure(before):
				if !yield(g) {
					return
				}
			case open.from >= 0 && g.from-open.to < min(momentMost, (g.to-g.from)/10, (open.to-open.from)/10):
				open.to, open.back = g.to, g.back
			default:
				if open.from >= 0 && !yield(open) {
					return
				}
				open = g
			}
		}
		if open.from >= 0 {
			yield(open)
		}
	}
}

// longestGap returns a gap with from -1 if there is none.
func longestGap(c course, w window, before float64) gap {
	longest := gap{-1, -1, false}
	for g := range outages(c, w, before) {
		if longest.from < 0 || g.to-g.from > longest.to-longest.from {
			longest = g
		}
	}
	return longest
}

// hung returns how long all operations of a gap waited for replies, from its begin until the first of them reached its
// timeout; 0 if an operation failed in another way before. Until then no client opened a connection, so nobody knows
// when the server would have answered one. From then on the clients try again and again, so the end of the gap is the
// end of the outage.
func hung(c course, g gap) int64 {
	for _, s := range c.slices {
		if s.refused() && s.failLast > g.from {
			if s.failFirst > g.from && s.failFirst <= g.to && s.hung {
				return s.failFirst - g.from
			}
			return 0
		}
	}
	return 0
}

// stops returns the gaps for the timeline: the longest one, and every other one that is no chance.
func stops(c course, w window, e record.DrillEffect) (list []gap) {
	for g := range outages(c, w, e.Before) {
		if g.back && g.ceased(e.Before, w.until) && (g.from == e.OutageFrom || g.sure(e.Before)) {
			list = append(list, g)
		}
	}
	return list
}

// recovered returns the first moment since start at which the throughput over a span is back; -1 if there is none.
func recovered(c course, before float64, start, until int64) int64 {
	span := spanOf(before)
	const step = int64(100e6)
	for at := start; at+span <= until; at += step {
		if rate(c, at, at+span) >= backAt*before && rate(c, at, at+span/10) >= startsAt*before {
			return at
		}
	}
	return -1
}

// missing returns how many more operations would have succeeded at the rate before, second by second.
func missing(c course, before float64, from, until int64) float64 {
	total := 0.0
	const step = int64(1e9)
	for at := from; at < until; at += step {
		to := min(at+step, until)
		total += max(0, before*float64(to-at)/1e9-float64(count(c, at, to)))
	}
	return math.Round(total)
}

// firstFailure returns when the first operation failed since a moment, -1 if none did.
func firstFailure(c course, since int64) int64 {
	for _, s := range c.slices {
		switch {
		case s.failed == 0 || s.failLast < since:
		case s.failFirst >= since:
			return s.failFirst
		default:
			return since // the slice began before
		}
	}
	return -1
}
