package drill

import (
	"math"
	"slices"
	"time"
)

const (
	// refutedFrom is for how long probes must have succeeded when an operation is sent whose failure refutes them. In a
	// failover, operations that were sent a little later than the first successful probe fail too.
	refutedFrom = int64(time.Second)
	// fewestRefuting is the smallest number of such operations.
	fewestRefuting = 3
)

// unrefuted returns the slices of probes without the successes that the load refutes: no operation succeeds, and those
// that workers send on new connections fail, although the probes succeed. The probes do then what the load does not.
// They use another collection, the primary, and the write concern of the drill.
//
// A worker whose connection hangs fails once. That refutes nothing, because a new connection may have been answered.
func unrefuted(probes, load []slice) []slice {
	if len(probes) == 0 {
		return nil
	}
	type span struct{ from, to int64 }
	var refuted []span
	known, last, refuting := successesOf(probes), int64(-1), slice{}
	for i := range load {
		s := &load[i]
		if s.again > 0 && last >= 0 && known.before(s.againSent) >= refutedFrom {
			refuting.again += s.again
			refuting.failLast = max(refuting.failLast, s.failLast)
		}
		if s.ok == 0 {
			continue
		}
		if refuting.again >= fewestRefuting {
			refuted = append(refuted, span{last, min(refuting.failLast, s.okFirst)})
		}
		last, refuting = s.okLast, slice{}
	}
	if refuting.again >= fewestRefuting {
		refuted = append(refuted, span{last, math.MaxInt64}) // nothing succeeded after it
	}
	var list []slice
	for _, p := range probes {
		for _, r := range refuted {
			if p.probed > 0 && p.okLast > r.from && p.okFirst <= r.to {
				p.probed, p.okFirst, p.okLast = 0, 0, 0
			}
		}
		if p.answered() || p.refused() {
			list = append(list, p)
		}
	}
	return list
}

// successes are the times since when probes had succeeded.
type successes struct{ at, since []int64 }

func successesOf(probes []slice) (s successes) {
	first := int64(-1)
	for _, p := range probes {
		at := p.okFirst
		switch {
		case p.missed > 0:
			first, at = -1, p.failFirst
		case first < 0:
			first = p.okFirst
		}
		s.at, s.since = append(s.at, at), append(s.since, first)
	}
	return s
}

// before returns for how long all probes had succeeded at a time, 0 if the last one before it failed.
func (s successes) before(at int64) int64 {
	i, _ := slices.BinarySearch(s.at, at)
	if i == 0 || s.since[i-1] < 0 {
		return 0
	}
	return at - s.since[i-1]
}
