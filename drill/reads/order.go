package reads

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
)

// brief is a read of a register, as it is kept until all sessions were judged.
type brief struct {
	sent, ended int64
	session     int32
	server      uint16
	seen        uint16
}

// order is the reads of one register that sessions have in common.
type order struct {
	masks []brief // the first read of each different set of versions, of which each contains the one before
	reads []brief // all, if they are compared in real time
}

// order compares a read with the sets that other reads of the register returned, and keeps it for [judge.inRealTime].
// Versions only join a register, so of two sets that it had, one contains the other.
func (j *judge) order(r register, e *event, session int) {
	o := j.orders[r]
	if o == nil {
		o = &order{}
		j.orders[r] = o
	}
	b := brief{sent: e.sent, ended: e.ended, session: int32(session), server: uint16(e.server), seen: e.seen}
	if j.q.Linearizable {
		o.reads = append(o.reads, b)
	}
	at := len(o.masks)
	for i, m := range o.masks {
		if m.seen == b.seen {
			at = -1
			break
		}
		if b.seen&^m.seen != 0 && m.seen&^b.seen != 0 {
			v := bits.TrailingZeros16(m.seen &^ b.seen)
			j.broke(Conflict{Guarantee: OneOrder, Writer: r.writer, Sequence: j.q.Sequence(r.number, v),
				First: j.brief(r, m), Second: j.brief(r, b)})
			at = -1
			break
		}
		if m.seen&^b.seen != 0 {
			at = min(at, i)
		}
	}
	if at >= 0 {
		o.masks = slices.Insert(o.masks, at, b)
	}
	if len(o.masks) > 1 || at < 0 {
		j.v.Checked[OneOrder]++
	}
}

func (j *judge) brief(r register, b brief) Operation {
	return Operation{Read: true, Session: int(b.session), Sent: b.sent, Ended: b.ended, Server: j.server(int(b.server)),
		Register: r.number, Seen: b.seen}
}

// inRealTime finds reads that lack a version that another read had returned before they were sent. The union of what
// earlier reads returned only grows with time. So one pass over the reads by the time they were sent, together with one
// by the time they ended, sees all pairs.
func (j *judge) inRealTime() {
	keys := slices.Collect(maps.Keys(j.orders))
	slices.SortFunc(keys, func(a, b register) int {
		return cmp.Or(cmp.Compare(a.writer, b.writer), cmp.Compare(a.number, b.number))
	})
	for _, r := range keys {
		j.orders[r].judge(j, r)
	}
}

func (o *order) judge(j *judge, r register) {
	ended := slices.Clone(o.reads)
	slices.SortStableFunc(ended, func(a, b brief) int { return cmp.Compare(a.ended, b.ended) })
	slices.SortStableFunc(o.reads, func(a, b brief) int { return cmp.Compare(a.sent, b.sent) })
	var seen uint16
	var by [Versions]brief // the first read of each version
	next := 0
	for _, b := range o.reads {
		for ; next < len(ended) && ended[next].ended < b.sent; next++ {
			for fresh := ended[next].seen &^ seen; fresh != 0; fresh &= fresh - 1 {
				by[bits.TrailingZeros16(fresh)] = ended[next]
			}
			seen |= ended[next].seen
		}
		if missing := seen &^ b.seen; missing != 0 {
			v := bits.TrailingZeros16(missing)
			n := j.q.Sequence(r.number, v)
			if w := j.writers[r.writer].at(n); w != nil && w.answer == Acknowledged &&
				(w.ended < b.sent || int(b.seen)>>(v+1) != 0) {
				continue // reported already as the lack of an acknowledged write
			}
			j.broke(Conflict{Guarantee: Linearizable, Writer: r.writer, Sequence: n, First: j.brief(r, by[v]),
				Second: j.brief(r, b)})
		}
	}
}
