package drill

import (
	"iter"
	"math"

	"github.com/plimsoll-bench/plimsoll/record"
)

// window is the measured time of a round and the first fault in it, in nanoseconds of run time.
type window struct {
	from, fault, until int64
	// baseline is since when the throughput before counts; 0 is from the beginning.
	baseline int64
	// done is when the fault was in effect, and healed when it was no more; 0 if it still was in the end, or that is not
	// known.
	done, healed int64
}

// broken is how long the fault was in effect.
func (w window) broken() (from, until int64) {
	from, until = max(w.fault, w.done), w.until
	if w.healed > 0 {
		until = min(until, w.healed)
	}
	return from, until
}

// baselineLength is how much of the time before a fault tells what the throughput was, where the load is not the same
// all the time: in a ramp the mean of all of it is far less than what there was when the fault came, and what is half
// as much would count as back.
const baselineLength = int64(5e9)

// backAt is which share of the throughput before counts as recovered.
const backAt = 0.95

// gapLeast is the shortest time without a success after which recovery is looked for: shorter ones are between any two
// operations of a slow load.
const gapLeast = int64(100e6)

// gapSure is the shortest time without a success after which recovery is looked for also where the rest of the run is
// too short to find it. Shorter ones at the very end of a run, long after all was well, are hiccups.
const gapSure = int64(1e9)

// spanOf is over how long throughput is compared: long enough that the scatter of a thousand operations does not
// decide.
func spanOf(before float64) int64 { return int64(min(max(1000/before, 1), 5) * 1e9) }

// effectOf says what a fault meant for one class. Everything is taken from when operations ended.
func effectOf(c course, w window) record.DrillEffect {
	e := record.DrillEffect{Class: c.class, Client: -1, Outage: -1, OutageFrom: -1, Recovery: -1}
	if w.fault <= w.from {
		return e
	}
	e.Before = rate(c, max(w.from, w.baseline), w.fault)
	if from, until := w.broken(); until > from {
		e.During = rate(c, from, until)
	}
	from, to, back := longestGap(c, w)
	e.OutageFrom = from
	if back {
		e.Outage = to - from
	}
	for _, s := range c.slices {
		if s.failed > 0 && s.failAt >= w.fault {
			e.Failed += s.failed
		}
	}
	if e.Before == 0 || !back {
		e.Missing = missing(c, e.Before, w.fault, w.until)
		return e
	}
	search := w.fault
	if ceased(from, to, e.Before, w.until) {
		search = max(search, to)
	}
	until := w.until
	if at := recovered(c, e.Before, search, w.until); at >= 0 {
		e.Recovery, until = at-w.fault, at
	}
	e.Missing = missing(c, e.Before, w.fault, until)
	return e
}

// ceased says whether operations ceased in a gap, which is one after which recovery is looked for.
func ceased(from, to int64, before float64, until int64) bool {
	return from >= 0 && before > 0 && to-from >= gapLeast && (to-from >= gapSure || to+spanOf(before) <= until)
}

// rate is the successes per second that ended in [from, to).
func rate(c course, from, to int64) float64 {
	return float64(count(c, from, to)) / (float64(to-from) / 1e9)
}

// count is how many operations succeeded in [from, to), as exactly as slices tell.
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

// gaps are the times without a success that reached into the time since the fault, from one success to the next.
func gaps(c course, w window) iter.Seq[gap] {
	return func(yield func(gap) bool) {
		last := int64(-1)
		for _, s := range c.slices {
			if s.ok == 0 {
				continue
			}
			if last >= 0 && s.okFirst >= w.fault && last <= w.until && !yield(gap{last, s.okFirst, true}) {
				return
			}
			last = max(last, s.okLast) // those of several processes may overlap
		}
		if last >= 0 && last < w.until {
			yield(gap{last, w.until, false})
		}
	}
}

// longestGap returns the longest of the gaps; from is -1 if there is none.
func longestGap(c course, w window) (from, to int64, back bool) {
	longest := gap{-1, -1, false}
	for g := range gaps(c, w) {
		if longest.from < 0 || g.to-g.from > longest.to-longest.from {
			longest = g
		}
	}
	return longest.from, longest.to, longest.back
}

// stops are the gaps that the timeline tells: the longest one, and every other one of at least [gapSure] in which
// twenty operations would have succeeded at the rate before. Between operations that come at random so long a gap has a
// probability of e^-20.
func stops(c course, w window, e record.DrillEffect) (list []gap) {
	for g := range gaps(c, w) {
		length := g.to - g.from
		if g.back && ceased(g.from, g.to, e.Before, w.until) &&
			(g.from == e.OutageFrom || length >= gapSure && float64(length)*e.Before >= 20e9) {
			list = append(list, g)
		}
	}
	return list
}

// startsAt is which share of the throughput before a time has to begin with that counts as recovered. What waited while
// something was slow comes in a rush afterwards, and the rush must not count for the time before it.
const startsAt = 0.8

// recovered is the first moment since start from which on the throughput over some time is what it was; -1 if it did
// not come.
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

// missing is how many operations fewer succeeded than at the rate before, second by second.
func missing(c course, before float64, from, until int64) float64 {
	total := 0.0
	const step = int64(1e9)
	for at := from; at < until; at += step {
		to := min(at+step, until)
		total += max(0, before*float64(to-at)/1e9-float64(count(c, at, to)))
	}
	return math.Round(total)
}

// firstFailure is when the first operation failed since a moment, -1 if none did.
func firstFailure(c course, since int64) int64 {
	for _, s := range c.slices {
		switch {
		case s.failed == 0 || s.failAt < since:
		case s.failFirst >= since:
			return s.failFirst
		default:
			return since // the slice began before
		}
	}
	return -1
}
