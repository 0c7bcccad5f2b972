package ledger

import (
	"math"
	"sync/atomic"
)

// groupCount is how many groups of documents there are. The more, the less likely it is that two mistakes in
// one group hide each other.
const groupCount = 1 << 18

// groups counts the updates of a wrapped workload by the hash of the document's _id. Several writers update the
// same documents, so they share the counts. Those of one state lie together: nearly all updates are acknowledged, and
// of so many counts in no order the caches of a processor hold the more, the closer they lie.
type groups struct {
	told [4][groupCount]uint32
}

// groupCounts are the updates of one group by what the client was told, indexed by state.
type groupCounts [4]uint32

func newGroups() *groups { return &groups{} }

// count counts an update of a document in group g.
func (g *groups) count(group uint32, s state) { atomic.AddUint32(&g.told[s][group], 1) }

// of returns the counts of one group.
func (g *groups) of(group int) (c groupCounts) {
	for s := range c {
		c[s] = g.told[s][group]
	}
	return c
}

// merge adds the counts of another process.
func (g *groups) merge(other *groups) {
	for s := range g.told {
		for i, n := range &other.told[s] {
			g.told[s][i] = uint32(min(uint64(g.told[s][i])+uint64(n), math.MaxUint32))
		}
	}
}

func (g *groups) bytes() int64 { return groupCount * 16 }

// totals sums all groups up.
func (g *groups) totals() (n [4]int64) {
	if g == nil {
		return n
	}
	for s := range g.told {
		for _, c := range &g.told[s] {
			n[s] += int64(c)
		}
	}
	return n
}
