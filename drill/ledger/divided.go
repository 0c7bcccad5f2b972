package ledger

// The updates of a wrapped workload have no names: each document has the number of its updates by all writers. So it
// is not known which updates of a transaction are present. If the commit of a transaction got no answer, these
// numbers can prove that it was applied in part. A group of documents has more updates than all others without an
// answer explain, so the transaction was applied. An insert of it is absent, or another group has too few updates, so
// it was not applied.
//
// A lost update of the same group has the same numbers, so this is a proof only where no acknowledged write may be
// lost. If other updates without an answer can explain the numbers, nothing is said.

// undecided is a transaction of unknown result.
type undecided struct {
	groups  []uint32 // of its updates
	inserts []int64
}

// mostUndecided bounds the transactions that a writer keeps. Further ones are not searched.
const mostUndecided = 1 << 12

// undecided notes a write of the operation that is being settled, if its transaction has no known result. The caller
// holds the writer's lock.
func (s *tagger) undecided(p *piece, is state) {
	start := p.request
	for start > 0 && !s.requests[start].Starts {
		start--
	}
	if start != s.started {
		s.close()
		s.started = start
	}
	switch {
	case !s.requests[p.request].Within || is != indeterminate:
	case p.sequence >= 0:
		s.within.inserts = append(s.within.inserts, p.sequence)
	default:
		s.within.groups = append(s.within.groups, p.group)
	}
}

// close keeps the transaction that was noted, if its parts can contradict each other.
func (s *tagger) close() {
	u := s.within
	s.within = undecided{}
	if len(u.groups) > 0 && len(u.groups)+len(u.inserts) > 1 && len(s.writer.open) < mostUndecided {
		s.writer.open = append(s.writer.open, u)
	}
}

// divides reports whether a pass shows that a transaction was applied in part.
func (p *pass) divides(w *writer, u *undecided) bool {
	if !p.complete {
		return false
	}
	found := &p.writer(w.number).of[inserts]
	present, absent := false, false
	for _, n := range u.inserts {
		there := found.present.has(n) || found.odd.has(n)
		present, absent = present || there, absent || !there
	}
	if present && absent {
		return false // its inserts show it: it is torn
	}
	known := len(p.a.l.notes) == 0 // otherwise there may be updates that no process reported
	for _, g := range u.groups {
		counts := p.a.l.groups.of(int(g))
		own := int64(0)
		for _, other := range u.groups {
			if other == g {
				own++
			}
		}
		more := p.found[g] - int64(counts[acknowledged])
		present = present || known && more > int64(counts[indeterminate])-own
		absent = absent || more < own
	}
	return present && absent
}

// divided counts the transactions of which two final reads in succession showed a part. open says that another read has
// to show if there are more.
func (a *audit) divided() (n int64, open bool) {
	for _, w := range a.l.writers() {
		for i := range w.open {
			switch u := &w.open[i]; {
			case !a.final.divides(w, u):
			case a.before != nil && a.before.divides(w, u):
				n++
			default:
				open = true
			}
		}
	}
	return n, open
}

func (a *audit) unsureOfDivided() bool {
	_, open := a.divided()
	return open
}

func (a *audit) judgeDivided() { a.result.Divided, _ = a.divided() }
