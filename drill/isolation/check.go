package isolation

// MostExamples is how many anomalies of each class a [Verdict] describes.
const MostExamples = 5

// Verdict is what a history shows. Counts of cycles are lower bounds.
type Verdict struct {
	Promise Promise
	// Transactions are all attempts. Committed had an effect: acknowledged, or without an answer and seen; Unknown are
	// those without an answer that nobody saw; Aborted had none.
	Transactions, Committed, Unknown, Aborted int64
	// Reads are versions that acknowledged transactions read and did not write themselves. Edges are the dependencies.
	Reads, Edges int64
	// Timed are transactions with a time of the server: of their commit or of their snapshot.
	Timed int64
	// Keys of the history, and those of which every version was seen, where a missing write is noticed.
	Keys, CompleteKeys int64
	Counts             [classes]int64
	Examples           []Anomaly
}

// Anomaly is one violation, or one thing that the promise allows.
type Anomaly struct {
	Class     Class
	Forbidden bool
	// Transactions of the cycle, in its order, or the one or two that exclude each other; Edges[i] leads from
	// Transactions[i] to the next one, the last to the first. Anomalies without a cycle have no edges.
	Transactions []int
	Edges        []Edge
	// Key, N and ID are the version of an anomaly without a cycle. N is [Unplaced] if it has no place.
	Key uint32
	N   int64
	ID  ID
}

// Edge is why a transaction comes before the next one: the key and the number of the version that both used. A read of
// an older version has the number of the version that it missed.
type Edge struct {
	Kind Kind
	Key  uint32
	N    int64
}

// Forbidden returns how many anomalies the promise excludes.
func (v *Verdict) Forbidden() (n int64) {
	for class, count := range v.Counts {
		if v.Promise.Forbids(Class(class)) {
			n += count
		}
	}
	return n
}

// Add adds the verdict about other keys under the same promise. Its examples keep their transactions, which are indices
// of their own history, so they have been put into words before.
func (v *Verdict) Add(o Verdict) {
	v.Promise = o.Promise
	v.Transactions += o.Transactions
	v.Committed += o.Committed
	v.Unknown += o.Unknown
	v.Aborted += o.Aborted
	v.Reads += o.Reads
	v.Edges += o.Edges
	v.Timed += o.Timed
	v.Keys += o.Keys
	v.CompleteKeys += o.CompleteKeys
	for class, count := range o.Counts {
		v.Counts[class] += count
	}
}

// check holds the state of [Check].
type check struct {
	h       *History
	promise Promise
	v       Verdict

	byID         map[ID]int32 // in writes
	writes       []write
	live         []bool // transactions that have an effect
	chains       map[uint32]*chain
	keys         []uint32 // of chains, in order
	completeKeys int64
	reads        []read
	rolled       int    // versions
	inCycle      []bool // transactions of forbidden cycles
}

// Check judges a history. Each ID is written once in it, and the transactions of a session follow each other.
func Check(h *History, promise Promise) Verdict {
	c := &check{h: h, promise: promise, v: Verdict{Promise: promise}}
	c.index()
	c.decideUnknown()
	c.observe()
	c.order()
	c.rolledBackReads()
	c.snapshotTimes()
	c.torn()
	edges := c.dependencies()
	c.cycles(edges)
	if promise == Causal {
		c.causal(edges)
	}
	for t := range h.Transactions {
		if h.Transactions[t].CommitTime|h.Transactions[t].ReadTime != 0 {
			c.v.Timed++
		}
		switch {
		case c.live[t]:
			c.v.Committed++
		case h.Transactions[t].Outcome == Unknown:
			c.v.Unknown++
		default:
			c.v.Aborted++
		}
	}
	c.v.Transactions, c.v.Reads, c.v.Edges = int64(len(h.Transactions)), int64(len(c.reads)), int64(len(edges))
	c.v.Keys, c.v.CompleteKeys = int64(len(c.keys)), c.completeKeys
	return c.v
}

// level is one search for cycles: the edges that count.
type level struct {
	kinds   []Kind
	product bool
	// first is the weakest of the classes that only this level finds.
	first Class
}

// levels are the searches, each before those that find what it finds. Adjacent rw count in the last one only.
var levels = []level{
	{kinds: []Kind{WW, WR}, first: DirtyWrite},
	{kinds: []Kind{WW, WR, Session}, first: CircularSession},
	{kinds: []Kind{WW, WR, RW, RWW}, product: true, first: ReadSkew},
	{kinds: []Kind{WW, WR, RW, RWW, Session}, product: true, first: ReadSkewSession},
	{kinds: []Kind{WW, WR, RW, RWW, Session, RealTime}, product: true, first: CircularRealTime},
	{kinds: []Kind{WW, WR, RW, RWW}, first: WriteSkew},
}

// cycles searches at each level. A component with a transaction of a forbidden cycle that was found before is not
// counted again.
func (c *check) cycles(edges []edge) {
	g := newGraph(len(c.h.Transactions), edges)
	g.addRealTime(c.h.Transactions, c.live)
	c.inCycle = make([]bool, len(c.h.Transactions))
	for _, l := range levels {
		g.allowed, g.product = [kinds]bool{}, l.product
		for _, k := range l.kinds {
			g.allowed[k] = true
		}
		for _, component := range g.components() {
			c.component(g, component)
		}
	}
}

// component counts a component by its shortest cycle.
func (c *check) component(g *graph, component []int32) {
	for _, node := range component {
		if node < 2*g.size && c.inCycle[node/2] {
			return
		}
	}
	cycle := g.shortest(component)
	class := classify(cycle)
	if c.promise.Forbids(class) {
		for _, e := range cycle {
			c.inCycle[e.from] = true
		}
	}
	c.found(class, func() Anomaly {
		var a Anomaly
		for _, e := range cycle {
			a.Transactions = append(a.Transactions, int(e.from))
			a.Edges = append(a.Edges, Edge{Kind: e.kind, Key: e.key, N: e.n})
		}
		return a
	})
}

// found counts an anomaly and keeps the first ones of each class.
func (c *check) found(class Class, describe func() Anomaly) {
	c.v.Counts[class]++
	if c.v.Counts[class] > MostExamples {
		return
	}
	a := describe()
	a.Class, a.Forbidden = class, c.promise.Forbids(class)
	c.v.Examples = append(c.v.Examples, a)
}

// pair is an anomaly of one version and one or two transactions.
func (c *check) pair(first, second int32, key uint32, n int64, id ID) Anomaly {
	a := Anomaly{Key: key, N: n, ID: id}
	for _, t := range []int32{first, second} {
		if t != nobody && (len(a.Transactions) == 0 || a.Transactions[0] != int(t)) {
			a.Transactions = append(a.Transactions, int(t))
		}
	}
	return a
}
