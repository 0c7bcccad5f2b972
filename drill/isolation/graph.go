package isolation

import (
	"cmp"
	"slices"
)

// Kind is why one transaction comes before another one.
type Kind uint8

const (
	WW       Kind = iota // it wrote the version that the other one replaced
	WR                   // it wrote a version that the other one read
	RW                   // it read a version that the other one replaced
	RWW                  // it read a version that a third one replaced, whose version the other one replaced
	Session              // it ended before the other one, in the same session
	RealTime             // it ended before the other one began
	kinds
)

// edge leads from one transaction to another one that depends on it.
type edge struct {
	from, to int32
	n        int64
	key      uint32
	kind     Kind
}

// dependencies returns the edges between transactions that have an effect.
func (c *check) dependencies() []edge {
	edges := make([]edge, 0, 4*len(c.h.Transactions))
	for _, key := range c.keys {
		in, before := c.chains[key], nobody
		for i := range in.versions {
			w := in.versions[i].writer
			if w == nobody {
				continue
			}
			if before != nobody && before != w {
				edges = append(edges, edge{from: before, to: w, kind: WW, key: key, n: in.versions[i].n})
			}
			before = w
		}
	}
	for _, r := range c.reads {
		in := c.chains[r.key]
		if w := c.writeOf(r.id); w != nil && w.transaction != r.transaction && c.live[w.transaction] {
			edges = append(edges, edge{from: w.transaction, to: r.transaction, kind: WR, key: r.key, n: r.n})
		}
		next, adjacent := in.next(r.n)
		if next == nil || next.writer == r.transaction {
			continue // a later version depends on the own one by ww
		}
		kind := RW
		if !adjacent {
			kind = RWW
		}
		edges = append(edges, edge{from: r.transaction, to: next.writer, kind: kind, key: r.key, n: next.n})
	}
	return append(edges, c.sessions()...)
}

// sessions returns the edges from each transaction to the next one of its session. What has no answer may take effect
// later than the next one.
func (c *check) sessions() (edges []edge) {
	order := make([]int32, 0, len(c.live))
	for t := range c.live {
		if c.live[t] {
			order = append(order, int32(t))
		}
	}
	all := c.h.Transactions
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(all[a].Session, all[b].Session), cmp.Compare(all[a].Began, all[b].Began), cmp.Compare(a, b))
	})
	last := nobody // the last one of the session with an answer
	for i, t := range order {
		if i > 0 && all[order[i-1]].Session != all[t].Session {
			last = nobody
		}
		if last != nobody && all[last].Ended <= all[t].Began && !all[t].Past {
			edges = append(edges, edge{from: last, to: t, kind: Session})
		}
		if all[t].Outcome == Committed && all[t].Ended > 0 && !all[t].Past {
			last = t
		}
	}
	return edges
}

// graph are the transactions and barriers with their edges. In a product graph, transaction t is the nodes 2t and 2t+1,
// and only the first one has rw edges; else it is the node 2t. Barriers follow.
type graph struct {
	allowed [kinds]bool
	product bool
	size    int32 // transactions

	first []int32 // of the edges of each transaction
	edges []edge

	// Real time: the barrier after the end of each transaction, nobody without one, and those that began after each.
	barrier []int32
	starts  []int32 // of the transactions that began after each barrier and before the next, one more than barriers
	began   []int32
}

// newGraph sorts edges by where they begin.
func newGraph(size int, edges []edge) *graph {
	g := &graph{size: int32(size), first: make([]int32, size+1), edges: make([]edge, len(edges))}
	for _, e := range edges {
		g.first[e.from+1]++
	}
	for t := range size {
		g.first[t+1] += g.first[t]
	}
	at := slices.Clone(g.first[:size])
	for _, e := range edges {
		g.edges[at[e.from]] = e
		at[e.from]++
	}
	return g
}

// addRealTime makes the barriers: one for all ends between two beginnings.
func (g *graph) addRealTime(all []Transaction, live []bool) {
	type event struct {
		at    int64
		begin bool
		t     int32
	}
	events := make([]event, 0, 2*len(all))
	for t := range all {
		if !live[t] {
			continue
		}
		if !all[t].Past {
			events = append(events, event{at: all[t].Began, begin: true, t: int32(t)})
		}
		if all[t].Outcome == Committed && all[t].Ended > 0 {
			events = append(events, event{at: all[t].Ended, t: int32(t)})
		}
	}
	slices.SortFunc(events, func(a, b event) int {
		if a.at == b.at && a.begin != b.begin { // not one after the other
			if a.begin {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.t, b.t))
	})
	g.barrier = make([]int32, len(all))
	for t := range g.barrier {
		g.barrier[t] = nobody
	}
	ended := false // the last event was an end
	for _, e := range events {
		switch {
		case e.begin:
			if len(g.starts) > 0 {
				g.began = append(g.began, e.t)
			}
			ended = false
		default:
			if !ended {
				g.starts = append(g.starts, int32(len(g.began)))
			}
			g.barrier[e.t] = int32(len(g.starts) - 1)
			ended = true
		}
	}
	g.starts = append(g.starts, int32(len(g.began)))
}

// nodes is how many nodes the graph has.
func (g *graph) nodes() int32 { return 2*g.size + max(0, int32(len(g.starts))-1) }

// arc is a step from one node to another one. edge is the index of its edge; realTime for a step to or from a barrier.
type arc struct {
	to   int32
	edge int32
}

const realTime int32 = -1

// next returns the i-th arc of a node and the number to ask for the one after; ok is false after the last one.
func (g *graph) next(node, i int32) (a arc, after int32, ok bool) {
	if node >= 2*g.size { // a barrier: the next barrier, then those that began after it
		b := node - 2*g.size
		if i == 0 {
			i++
			if int(b)+2 < len(g.starts) {
				return arc{to: node + 1, edge: realTime}, i, true
			}
		}
		if at := g.starts[b] + i - 1; at < g.starts[b+1] {
			return arc{to: 2 * g.began[at], edge: realTime}, i + 1, true
		}
		return arc{}, i, false
	}
	t, second := node/2, node&1 == 1
	for count := g.first[t+1] - g.first[t]; i < count; i++ {
		at := g.first[t] + i
		e := &g.edges[at]
		if !g.allowed[e.kind] {
			continue
		}
		to := 2 * e.to
		if g.product && (e.kind == RW || e.kind == RWW) {
			if second {
				continue
			}
			if e.kind == RW { // rw and then ww ends with a ww
				to++
			}
		}
		return arc{to: to, edge: at}, i + 1, true
	}
	if i == g.first[t+1]-g.first[t] && g.allowed[RealTime] && g.barrier[t] != nobody {
		return arc{to: 2*g.size + g.barrier[t], edge: realTime}, i + 1, true
	}
	return arc{}, i, false
}

// components returns the strongly connected components with more than one node (Tarjan, 1972), without recursion,
// because paths are as long as histories.
func (g *graph) components() (components [][]int32) {
	type frame struct{ node, next int32 }
	n := g.nodes()
	index, low := make([]int32, n), make([]int32, n) // 0: not visited; low is -1 after the component is known
	var count int32
	var stack []int32
	var frames []frame
	for root := range n {
		if index[root] != 0 {
			continue
		}
		frames = append(frames, frame{node: root})
		for len(frames) > 0 {
			f := &frames[len(frames)-1]
			node := f.node
			if f.next == 0 && index[node] == 0 {
				count++
				index[node], low[node] = count, count
				stack = append(stack, node)
			}
			a, after, ok := g.next(node, f.next)
			if ok {
				f.next = after
				switch {
				case index[a.to] == 0:
					frames = append(frames, frame{node: a.to})
				case low[a.to] >= 0: // on the stack
					low[node] = min(low[node], index[a.to])
				}
				continue
			}
			frames = frames[:len(frames)-1]
			if len(frames) > 0 {
				up := frames[len(frames)-1].node
				low[up] = min(low[up], low[node])
			}
			if low[node] != index[node] {
				continue
			}
			from := len(stack) - 1
			for stack[from] != node {
				from--
			}
			if len(stack)-from > 1 {
				components = append(components, slices.Clone(stack[from:]))
			}
			for _, done := range stack[from:] {
				low[done] = -1
			}
			stack = stack[:from]
		}
	}
	return components
}
