package reads

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
)

type order struct{ reads []Operation }

// order keeps a read of a register for [judge.inRealTime].
func (j *judge) order(r register, op Operation) {
	o := j.orders[r]
	if o == nil {
		o = &order{}
		j.orders[r] = o
	}
	o.reads = append(o.reads, op)
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
	slices.SortStableFunc(ended, func(a, b Operation) int { return cmp.Compare(a.Ended, b.Ended) })
	slices.SortStableFunc(o.reads, func(a, b Operation) int { return cmp.Compare(a.Sent, b.Sent) })
	var seen uint16
	var by [Versions]Operation // the first read of each version
	next := 0
	for _, op := range o.reads {
		for ; next < len(ended) && ended[next].Ended < op.Sent; next++ {
			for fresh := ended[next].Seen &^ seen; fresh != 0; fresh &= fresh - 1 {
				by[bits.TrailingZeros16(fresh)] = ended[next]
			}
			seen |= ended[next].Seen
		}
		if missing := seen &^ op.Seen; missing != 0 {
			v := bits.TrailingZeros16(missing)
			n := j.q.Sequence(r.number, v)
			if w := j.writers[r.writer].at(n); w != nil && w.told == Acknowledged && w.ended <= op.Sent {
				continue // reported already as the lack of an acknowledged write
			}
			j.broke(Conflict{Guarantee: Linearizable, Writer: r.writer, Sequence: n, First: by[v], Second: op})
		}
	}
}
