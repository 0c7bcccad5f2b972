package ledger

import (
	"math"
	"sync/atomic"
)

// groupCount is how many groups of documents there are. The more, the less likely it is that two mistakes in
// one group hide each other.
const groupCount = 1 << 18

// groups counts the updates of a wrapped workload by the hash of the document's _id. Several writers update the
// same documents, so they share the counts.
type groups struct {
	of [groupCount]groupCounts
}

// groupCounts are the updates of one group by what the client was told, indexed by state.
type groupCounts [4]uint32

func newGroups() *groups { return &groups{} }

// settle counts an update of a document in group g.
func (g *groups) settle(group uint32, s state) { atomic.AddUint32(&g.of[group][s], 1) }

// merge adds the counts of another process.
func (g *groups) merge(other *groups) {
	for i := range g.of {
		for s := range g.of[i] {
			g.of[i][s] = uint32(min(uint64(g.of[i][s])+uint64(other.of[i][s]), math.MaxUint32))
		}
	}
}

func (g *groups) bytes() int64 { return groupCount * 16 }

// totals sums all groups up.
func (g *groups) totals() (n [4]int64) {
	if g == nil {
		return n
	}
	for i := range g.of {
		for s, c := range g.of[i] {
			n[s] += int64(c)
		}
	}
	return n
}
