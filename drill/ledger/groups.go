package ledger

import (
	"math"
	"sync/atomic"
)

// groupCount is the number of groups of documents. With more groups, two errors are less likely to hide each other.
const groupCount = 1 << 18

// groups counts the updates of a wrapped workload by state and by the hash of the document's _id. Writers update the
// same documents, so they share the counts. The counts of one state are adjacent, because nearly all updates are
// acknowledged and the processor's caches then hold more of them.
type groups struct {
	byState [4][groupCount]uint32
	handed  *[4][groupCount]uint32 // what was handed over; nil before
}

// groupCounts are the updates of one group by state.
type groupCounts [4]uint32

func newGroups() *groups { return &groups{} }

func (g *groups) count(group uint32, s state) { atomic.AddUint32(&g.byState[s][group], 1) }

func (g *groups) of(group int) (c groupCounts) {
	for s := range c {
		c[s] = atomic.LoadUint32(&g.byState[s][group])
	}
	return c
}

// fresh returns what was counted in a group since it was handed over, and notes it as handed over.
func (g *groups) fresh(group int) groupCounts {
	if g.handed == nil {
		g.handed = new([4][groupCount]uint32)
	}
	c := g.of(group)
	for s := range c {
		c[s], g.handed[s][group] = c[s]-g.handed[s][group], c[s]
	}
	return c
}

func (g *groups) add(group int, c groupCounts) {
	for s, n := range c {
		g.byState[s][group] = uint32(min(uint64(g.byState[s][group])+uint64(n), math.MaxUint32))
	}
}

func (g *groups) bytes() int64 { return groupCount * 16 }

func (g *groups) totals() (n [4]int64) {
	if g == nil {
		return n
	}
	for s := range g.byState {
		for _, c := range &g.byState[s] {
			n[s] += int64(c)
		}
	}
	return n
}
