package isolation

// maxSteps bounds the search for a short cycle in one component, in arcs. The first search always ends.
const maxSteps = 200_000

// shortest returns the edges of a short cycle through a component: the shortest one, if the component is not very
// large. Real-time steps are edges without a key.
func (g *graph) shortest(component []int32) (best []edge) {
	s := &search{g: g, member: make(map[int32]bool, len(component))}
	for _, node := range component {
		s.member[node] = true
	}
	for _, node := range component {
		if node >= 2*g.size {
			continue // each cycle has a transaction
		}
		if cycle := s.from(node, len(best)); cycle != nil {
			best = cycle
		}
		if s.steps > maxSteps || len(best) == 2 {
			break
		}
	}
	return best
}

type search struct {
	g      *graph
	member map[int32]bool
	steps  int
}

// reached is how a node was reached.
type reached struct {
	before int32
	edge   int32
	length int // in transactions
}

// from returns the shortest cycle through a transaction that has fewer edges than a limit; 0 is no limit. Steps between
// barriers cost nothing, so what is left for the current length is done before the next one.
func (s *search) from(start int32, limit int) []edge {
	seen := map[int32]reached{}
	now, then := []int32{start}, []int32(nil)
	seen[start] = reached{before: nobody}
	for length := 0; len(now) > 0 && (limit == 0 || length < limit-1); length++ {
		for len(now) > 0 {
			node := now[len(now)-1]
			now = now[:len(now)-1]
			for a, i, ok := s.g.next(node, 0); ok; a, i, ok = s.g.next(node, i) {
				s.steps++
				if a.to == start {
					return s.path(seen, node, a.edge, start)
				}
				if !s.member[a.to] {
					continue
				}
				if _, ok := seen[a.to]; ok {
					continue
				}
				seen[a.to] = reached{before: node, edge: a.edge, length: length}
				if a.to >= 2*s.g.size {
					now = append(now, a.to)
				} else {
					then = append(then, a.to)
				}
			}
		}
		now, then = then, now
	}
	return nil
}

// path returns the edges of a cycle that ends with an arc from a node to the start.
func (s *search) path(seen map[int32]reached, node, last, start int32) []edge {
	var backwards []edge
	to, at := start, last
	for {
		if node < 2*s.g.size {
			e := edge{from: node / 2, to: to / 2, kind: RealTime}
			if at != realTime {
				e = s.g.edges[at]
			}
			backwards = append(backwards, e)
			to = node
		}
		if node == start {
			break
		}
		r := seen[node]
		node, at = r.before, r.edge
	}
	cycle := make([]edge, 0, len(backwards))
	for i := len(backwards) - 1; i >= 0; i-- {
		cycle = append(cycle, backwards[i])
	}
	return cycle
}

// classify names a cycle by its edges.
func classify(cycle []edge) Class {
	var count [kinds]int
	inRow := false
	for i, e := range cycle {
		count[e.kind]++
		inRow = inRow || (e.kind == RW && anti(cycle[(i+1)%len(cycle)].kind))
	}
	missed := count[RW] + count[RWW]
	offset := Class(0)
	switch {
	case count[RealTime] > 0:
		offset = CircularRealTime - CircularSession
	case count[Session] == 0 && missed == 0 && count[WR] == 0:
		return DirtyWrite
	case count[Session] == 0 && missed == 0:
		return Circular
	case count[Session] == 0 && inRow:
		return WriteSkew
	case count[Session] == 0 && len(cycle) == 2 && count[RW] == 1 && count[WW] == 1 && cycle[0].key == cycle[1].key:
		return LostUpdate
	case count[Session] == 0 && missed == 1:
		return ReadSkew
	case count[Session] == 0:
		return LongFork
	}
	switch missed {
	case 0:
		return CircularSession + offset
	case 1:
		return ReadSkewSession + offset
	}
	return LongForkSession + offset
}

// anti reports whether an edge begins with an anti-dependency.
func anti(k Kind) bool { return k == RW || k == RWW }
