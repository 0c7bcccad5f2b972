package reads

import "slices"

// order is all reads of one register.
type order struct{ reads []Operation }

// order keeps a read for [judge.inRealTime].
func (j *judge) order(r register, op Operation) {
	o := j.orders[r]
	if o == nil {
		o = &order{}
		j.orders[r] = o
	}
	o.reads = append(o.reads, op)
}

// inRealTime finds reads that lack what another read returned that had ended before they were sent. What an earlier
// read returned is a union of versions that only grows with time, so one pass over the reads as they were sent, with
// another that follows over the same reads as they ended, sees all pairs.
func (j *judge) inRealTime() {
	keys := make([]register, 0, len(j.orders))
	for r := range j.orders {
		keys = append(keys, r)
	}
	slices.SortFunc(keys, func(a, b register) int {
		if a.writer != b.writer {
			return a.writer - b.writer
		}
		return int(min(max(a.number-b.number, -1), 1))
	})
	for _, r := range keys {
		j.orders[r].judge(j, r)
	}
}

func (o *order) judge(j *judge, r register) {
	ended := slices.Clone(o.reads)
	slices.SortStableFunc(ended, func(a, b Operation) int { return compare(a.Ended, b.Ended) })
	slices.SortStableFunc(o.reads, func(a, b Operation) int { return compare(a.Sent, b.Sent) })
	var seen uint16
	var by [Versions]Operation // who saw each version first
	next := 0
	for _, op := range o.reads {
		for ; next < len(ended) && ended[next].Ended < op.Sent; next++ {
			for fresh := ended[next].Seen &^ seen; fresh != 0; fresh &= fresh - 1 {
				by[lowest(fresh)] = ended[next]
			}
			seen |= ended[next].Seen
		}
		if missing := seen &^ op.Seen; missing != 0 {
			v := lowest(missing)
			n := j.q.Sequence(r.number, v)
			if w := j.writers[r.writer].at(n); w != nil && w.told == Acknowledged && w.ended <= op.Sent {
				continue // told already: the read lacks an acknowledged write
			}
			j.broke(Conflict{Guarantee: Linearizable, Writer: r.writer, Sequence: n, First: by[v], Second: op})
		}
	}
}

func compare(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
