package isolation

// causal finds reads that lack a version of their causal past: what earlier transactions of their session wrote and
// read, and what was in the past of the writers of that. Reads of one transaction are not compared with each other,
// because several shards answer them at different times. Clocks of sessions say what is in the past of each
// transaction, so the cost grows with transactions × sessions (as in Biswas and Enea, 2019).
func (c *check) causal(edges []edge) {
	order, before := c.causalOrder(edges)
	sessions := map[int32]int32{}
	for t := range c.h.Transactions {
		if _, ok := sessions[c.h.Transactions[t].Session]; !ok {
			sessions[c.h.Transactions[t].Session] = int32(len(sessions))
		}
	}
	k := len(sessions)
	// Of each transaction: how many of each session are in its past, with itself.
	clocks := make([]int32, len(c.h.Transactions)*k)
	position := make([]int32, len(c.h.Transactions))
	previous := make([]int32, len(c.h.Transactions)) // in the session
	for t := range previous {
		previous[t] = nobody
	}
	for _, e := range edges {
		if e.kind == Session {
			previous[e.to] = e.from
		}
	}
	count := make([]int32, k)
	for _, t := range order {
		own := clocks[int(t)*k : int(t+1)*k]
		for _, b := range before[t] {
			for i, n := range clocks[int(b)*k : int(b+1)*k] {
				own[i] = max(own[i], n)
			}
		}
		if c.h.Transactions[t].Outcome != Committed || c.h.Transactions[t].Past {
			continue // its session does not know it; it carries the past of what it wrote
		}
		s := sessions[c.h.Transactions[t].Session]
		count[s]++
		position[t], own[s] = count[s], count[s]
	}
	for i := range c.reads {
		r := &c.reads[i]
		p := previous[r.transaction]
		if p == nobody || position[r.transaction] == 0 { // the first one, or in a cycle, which was found
			continue
		}
		past := clocks[int(p)*k : int(p+1)*k]
		for n := r.n; ; {
			v, _ := c.chains[r.key].next(n)
			if v == nil {
				break
			}
			known := past[sessions[c.h.Transactions[v.writer].Session]]
			if p := position[v.writer]; v.writer != r.transaction && p > 0 && p <= known {
				c.found(Stale, func() Anomaly { return c.pair(r.transaction, v.writer, r.key, v.n, v.id) })
				break
			}
			n = v.n
		}
	}
}

// causalOrder returns the transactions after all that they depend on by sessions and reads, and those dependencies.
// Transactions in or behind a cycle are left out.
func (c *check) causalOrder(edges []edge) (order []int32, before [][]int32) {
	before = make([][]int32, len(c.live))
	after := make([][]int32, len(c.live))
	waits := make([]int32, len(c.live))
	for _, e := range edges {
		if e.kind == WR || e.kind == Session {
			before[e.to] = append(before[e.to], e.from)
			after[e.from] = append(after[e.from], e.to)
			waits[e.to]++
		}
	}
	for t := range c.live {
		if c.live[t] && waits[t] == 0 {
			order = append(order, int32(t))
		}
	}
	for i := 0; i < len(order); i++ {
		for _, t := range after[order[i]] {
			if waits[t]--; waits[t] == 0 {
				order = append(order, t)
			}
		}
	}
	return order, before
}
