package isolationtest

import (
	"slices"

	"github.com/plimsoll-bench/plimsoll/drill/isolation"
)

// Plant is one fault of a store, put into a history.
type Plant struct {
	Name string
	// Classes are what a checker may call it, and Allowed the promises that it keeps. Under causal consistency it may
	// be allowed or not, depending on what its session saw before, if Either says so.
	Classes []isolation.Class
	Allowed []isolation.Promise
	Either  bool
	// Into plants it, and reports false if this history has no place for it.
	Into func(*Simulation) bool
}

// weak are the promises below snapshot isolation, which allow what only two keys or two reads show.
var weak = []isolation.Promise{isolation.Nothing, isolation.ReadCommitted, isolation.Causal}

// Plants are the faults.
var Plants = []Plant{
	{Name: "G0", Classes: []isolation.Class{isolation.DirtyWrite}, Into: dirtyWrite},
	{Name: "G1a", Classes: []isolation.Class{isolation.DirtyRead}, Into: dirtyRead},
	{Name: "G1b", Classes: []isolation.Class{isolation.Intermediate}, Into: intermediate},
	{Name: "G1c", Classes: []isolation.Class{isolation.Circular}, Into: circular},
	{Name: "read-skew", Classes: []isolation.Class{isolation.ReadSkew}, Allowed: weak, Either: true, Into: readSkew},
	{Name: "lost-update", Classes: []isolation.Class{isolation.LostUpdate}, Allowed: weak, Either: true, Into: lostUpdate},
	// If one of the writers came before the other one, one of the readers has a skew of its own.
	{Name: "long-fork", Classes: []isolation.Class{isolation.LongFork, isolation.ReadSkew}, Allowed: weak, Either: true,
		Into: longFork},
	{Name: "non-repeatable", Classes: []isolation.Class{isolation.NonRepeatable}, Allowed: weak, Either: true,
		Into: nonRepeatable},
	{Name: "internal", Classes: []isolation.Class{isolation.Internal}, Into: internal},
	{Name: "stale-in-session", Classes: []isolation.Class{isolation.ReadSkewSession}, Into: staleInSession,
		Allowed: []isolation.Promise{isolation.ReadCommitted, isolation.Snapshot, isolation.Serializable}},
	{Name: "stale-in-real-time", Classes: []isolation.Class{isolation.ReadSkewRealTime}, Into: staleInRealTime,
		Allowed: []isolation.Promise{isolation.ReadCommitted, isolation.Causal, isolation.Snapshot, isolation.SessionSnapshot,
			isolation.Serializable}},
	{Name: "future", Classes: []isolation.Class{isolation.Future}, Into: future},
	{Name: "garbage", Classes: []isolation.Class{isolation.Garbage}, Into: garbage},
	{Name: "duplicate", Classes: []isolation.Class{isolation.Duplicate}, Into: duplicate},
	{Name: "torn", Classes: []isolation.Class{isolation.Torn}, Into: torn},
	{Name: "lost", Classes: []isolation.Class{isolation.Lost}, Into: lost},
	{Name: "rolled-back", Classes: []isolation.Class{isolation.DirtyRead}, Into: rolledBack},
	{Name: "server-order", Classes: []isolation.Class{isolation.ServerOrder}, Into: serverOrder},
	{Name: "server-snapshot", Classes: []isolation.Class{isolation.ServerOrder}, Into: serverSnapshot},
}

// place is a version of a history that a committed transaction wrote with a known predecessor.
type place struct {
	t   int
	key uint32
	isolation.Op
}

// tries is how often a plant looks for a place.
const tries = 20000

// readOnly chooses a committed transaction that only reads, other than some, and accepts it if ok does.
func (s *Simulation) readOnly(ok func(t int) bool, but ...int) int {
	for range tries {
		t := s.rng.IntN(len(s.Transactions))
		one := &s.Transactions[t]
		writes := slices.ContainsFunc(one.Ops, func(o isolation.Op) bool { return o.Write })
		if one.Outcome == isolation.Committed && !writes && !slices.Contains(but, t) && (ok == nil || ok(t)) {
			return t
		}
	}
	return -1
}

// written chooses a version of a committed transaction that wrote its key once and knows the version before, which is
// also of a committed transaction or of before the load.
func (s *Simulation) written(ok func(p place) bool) *place {
	for range tries {
		t := s.rng.IntN(len(s.Transactions))
		if s.Transactions[t].Outcome != isolation.Committed {
			continue
		}
		ops := s.Transactions[t].Ops
		o := ops[s.rng.IntN(len(ops))]
		if !o.Write || o.Blind || s.touches(t, o.Key) != 1 {
			continue
		}
		if p := (place{t: t, key: o.Key, Op: o}); ok == nil || ok(p) {
			return &p
		}
	}
	return nil
}

// touches is how many operations of a transaction use a key.
func (s *Simulation) touches(t int, key uint32) (n int) {
	for _, o := range s.Transactions[t].Ops {
		if o.Key == key {
			n++
		}
	}
	return n
}

// at returns the version of a key with a number, as a read shows it.
func (s *Simulation) at(key uint32, n int64) isolation.Op {
	v := s.keys[key][n]
	return isolation.Op{Key: key, ID: v.id, N: v.n, Prev: v.prev}
}

// reads makes a transaction one that reads certain versions and nothing else.
func (s *Simulation) reads(t int, ops ...isolation.Op) {
	s.Transactions[t].Ops, s.Transactions[t].ReadTime, s.Transactions[t].Past = ops, 0, false
}

// readable reports whether a version is one that others may read: the last of its transaction.
func (s *Simulation) readable(key uint32, n int64) bool {
	versions := s.keys[key]
	return n >= 0 && (n+1 == int64(len(versions)) || versions[n+1].commit != versions[n].commit || n == 0)
}

// two chooses a transaction that wrote two keys, each once, and the versions before can be read.
func (s *Simulation) two() (x, y *place) {
	x = s.written(func(p place) bool {
		if !s.readable(p.key, p.N-1) {
			return false
		}
		for _, o := range s.Transactions[p.t].Ops {
			if o.Write && !o.Blind && o.Key != p.key && s.touches(p.t, o.Key) == 1 && s.readable(o.Key, o.N-1) {
				y = &place{t: p.t, key: o.Key, Op: o}
				return true
			}
		}
		return false
	})
	return x, y
}

// dirtyWrite lets two transactions write two keys of their own in opposite orders.
func dirtyWrite(s *Simulation) bool {
	a := s.readOnly(nil)
	b := s.readOnly(nil, a)
	if a < 0 || b < 0 {
		return false
	}
	x, y := uint32(len(s.keys)), uint32(len(s.keys)+1)
	id := s.nextID
	s.nextID += 4
	write := func(key uint32, n int64, id, prev isolation.ID) isolation.Op {
		return isolation.Op{Key: key, Write: true, ID: id, N: n, Prev: prev, Blind: true}
	}
	ax, ay, bx, by := write(x, 1, id, 0), write(y, 2, id+1, id+3), write(x, 2, id+2, id), write(y, 1, id+3, 0)
	for _, o := range []isolation.Op{bx, ay} {
		s.Final = append(s.Final, isolation.Op{Key: o.Key, ID: o.ID, N: o.N, Prev: o.Prev})
	}
	for _, o := range []*isolation.Op{&ax, &ay, &bx, &by} {
		o.N, o.Prev = isolation.Unplaced, 0
	}
	s.reads(a, ax, ay)
	s.reads(b, bx, by)
	return true
}

func dirtyRead(s *Simulation) bool {
	return s.shows(isolation.Aborted, func(isolation.Op, []isolation.Op) bool { return true })
}

// rolledBack takes back an acknowledged version that another transaction read, and nobody replaced.
func rolledBack(s *Simulation) bool {
	x := s.written(func(p place) bool { return p.N+1 == int64(len(s.keys[p.key])) && s.readable(p.key, p.N-1) })
	if x == nil {
		return false
	}
	r := s.readOnly(func(r int) bool { return s.Transactions[r].Ended > s.Transactions[x.t].Ended })
	if r < 0 {
		return false
	}
	s.reads(r, s.at(x.key, x.N))
	s.undo(x)
	return true
}

func intermediate(s *Simulation) bool {
	return s.shows(isolation.Committed, func(o isolation.Op, later []isolation.Op) bool {
		return slices.ContainsFunc(later, func(l isolation.Op) bool { return l.Write && l.Key == o.Key })
	})
}

// shows lets another transaction read a write of one with an outcome, if ok accepts the write and the operations after
// it.
func (s *Simulation) shows(outcome isolation.Outcome, ok func(o isolation.Op, later []isolation.Op) bool) bool {
	for range tries {
		t := s.rng.IntN(len(s.Transactions))
		one := &s.Transactions[t]
		if one.Outcome != outcome {
			continue
		}
		for i, o := range one.Ops {
			if !o.Write || o.Blind || !ok(o, one.Ops[i+1:]) {
				continue
			}
			r := s.readOnly(func(r int) bool { return s.Transactions[r].Ended > one.Began })
			if r < 0 {
				return false
			}
			s.reads(r, isolation.Op{Key: o.Key, ID: o.ID, N: o.N, Prev: o.Prev})
			return true
		}
	}
	return false
}

// circular lets two transactions that overlap read each other's write.
func circular(s *Simulation) bool {
	for range 50 {
		a := s.written(func(p place) bool { return s.readable(p.key, p.N) })
		if a == nil {
			return false
		}
		b := s.written(func(p place) bool {
			one, other := &s.Transactions[p.t], &s.Transactions[a.t]
			return p.t != a.t && one.Began < other.Ended && other.Began < one.Ended && s.readable(p.key, p.N) &&
				s.touches(a.t, p.key) == 0 && s.touches(p.t, a.key) == 0
		})
		if b == nil {
			continue
		}
		for _, pair := range [][2]*place{{a, b}, {b, a}} {
			one := &s.Transactions[pair[0].t]
			one.Ops, one.ReadTime = append(slices.Clone(one.Ops), s.at(pair[1].key, pair[1].N)), 0
		}
		return true
	}
	return false
}

func readSkew(s *Simulation) bool {
	x, y := s.two()
	if x == nil || y == nil {
		return false
	}
	r := s.readOnly(func(r int) bool { return s.Transactions[r].Ended > s.Transactions[x.t].Ended })
	if r < 0 {
		return false
	}
	s.reads(r, s.at(x.key, x.N), s.at(y.key, y.N-1))
	return true
}

func lostUpdate(s *Simulation) bool {
	x := s.written(func(p place) bool { return s.readable(p.key, p.N-1) })
	if x == nil {
		return false
	}
	// The one that was replaced began beside the other one.
	r := s.readOnly(func(r int) bool {
		one, other := &s.Transactions[r], &s.Transactions[x.t]
		return one.Began < other.Ended && other.Began < one.Ended
	})
	if r < 0 {
		return false
	}
	s.reads(r, isolation.Op{Key: x.key, Write: true, ID: s.nextID, N: x.N, Prev: x.Prev})
	s.nextID++
	return true
}

func longFork(s *Simulation) bool {
	for range 50 {
		a := s.written(func(p place) bool { return s.readable(p.key, p.N) && s.readable(p.key, p.N-1) })
		if a == nil {
			return false
		}
		b := s.written(func(p place) bool {
			one, other := &s.Transactions[p.t], &s.Transactions[a.t]
			return p.t != a.t && p.key != a.key && one.Began < other.Ended && other.Began < one.Ended &&
				s.readable(p.key, p.N) && s.readable(p.key, p.N-1)
		})
		if b == nil {
			continue
		}
		after := func(r int) bool {
			return s.Transactions[r].Ended > max(s.Transactions[a.t].Ended, s.Transactions[b.t].Ended)
		}
		first := s.readOnly(after)
		second := s.readOnly(after, first)
		if first < 0 || second < 0 {
			continue
		}
		s.reads(first, s.at(a.key, a.N), s.at(b.key, b.N-1))
		s.reads(second, s.at(a.key, a.N-1), s.at(b.key, b.N))
		return true
	}
	return false
}

func nonRepeatable(s *Simulation) bool {
	x := s.written(func(p place) bool { return s.readable(p.key, p.N-1) && s.readable(p.key, p.N) })
	if x == nil {
		return false
	}
	r := s.readOnly(func(r int) bool { return s.Transactions[r].Ended > s.Transactions[x.t].Ended })
	if r < 0 {
		return false
	}
	s.reads(r, s.at(x.key, x.N-1), s.at(x.key, x.N))
	return true
}

// internal lets a transaction find, after its own write, the version before.
func internal(s *Simulation) bool {
	x := s.written(func(p place) bool { return s.readable(p.key, p.N-1) })
	if x == nil {
		return false
	}
	one := &s.Transactions[x.t]
	one.Ops = append(slices.Clone(one.Ops), s.at(x.key, x.N-1))
	return true
}

// staleInSession lets a transaction miss the last commit of its session. It reads nothing else.
func staleInSession(s *Simulation) bool {
	next := make(map[int]int) // the transaction of the session that follows
	last := map[int32]int{}
	for t := range s.Transactions {
		if before, ok := last[s.Transactions[t].Session]; ok {
			next[before] = t
		}
		last[s.Transactions[t].Session] = t
	}
	x := s.written(func(p place) bool {
		r, ok := next[p.t]
		return ok && s.readable(p.key, p.N-1) && s.Transactions[r].Outcome == isolation.Committed &&
			!slices.ContainsFunc(s.Transactions[r].Ops, func(o isolation.Op) bool { return o.Write })
	})
	if x == nil {
		return false
	}
	s.reads(next[x.t], s.at(x.key, x.N-1))
	return true
}

// staleInRealTime lets the first transaction of a new session miss a commit that was acknowledged before it began.
func staleInRealTime(s *Simulation) bool {
	x := s.written(func(p place) bool { return s.readable(p.key, p.N-1) })
	if x == nil {
		return false
	}
	r := isolation.Transaction{Session: int32(s.options.Sessions) + 1, Outcome: isolation.Committed, Server: 1,
		Began: s.Transactions[x.t].Ended + 1, Ended: s.Transactions[x.t].Ended + 50,
		Ops: []isolation.Op{s.at(x.key, x.N-1)}}
	s.Transactions = append(s.Transactions, r)
	return true
}

// future lets a transaction read what is written after its end.
func future(s *Simulation) bool {
	for range 50 {
		x := s.written(func(p place) bool { return s.readable(p.key, p.N) })
		if x == nil {
			return false
		}
		if r := s.readOnly(func(r int) bool { return s.Transactions[r].Ended < s.Transactions[x.t].Began }); r >= 0 {
			s.reads(r, s.at(x.key, x.N))
			return true
		}
	}
	return false
}

func garbage(s *Simulation) bool {
	r := s.readOnly(nil)
	if r < 0 {
		return false
	}
	s.reads(r, isolation.Op{Key: s.key(), ID: s.nextID, N: 1})
	s.nextID++
	return true
}

func duplicate(s *Simulation) bool {
	x := s.written(func(p place) bool { return s.readable(p.key, p.N) })
	if x == nil {
		return false
	}
	r := s.readOnly(func(r int) bool { return s.Transactions[r].Ended > s.Transactions[x.t].Ended })
	if r < 0 {
		return false
	}
	again := s.at(x.key, x.N)
	again.N += 3
	s.reads(r, again)
	return true
}

// last chooses a transaction with a write that is the final version of its key, where nobody else saw that version, and
// all writes of the key returned the version before. Elsewhere a version that is not there may be one that nobody saw.
func (s *Simulation) last(ok func(place) bool) *place {
	seen, blind := map[isolation.ID]bool{}, map[uint32]bool{}
	for t := range s.Transactions {
		for _, o := range s.Transactions[t].Ops {
			blind[o.Key] = blind[o.Key] || o.Blind || s.Transactions[t].Outcome == isolation.Unknown
			if !o.Write {
				seen[o.ID] = true
			}
		}
	}
	return s.written(func(p place) bool {
		return p.N+1 == int64(len(s.keys[p.key])) && !seen[p.ID] && !blind[p.key] && s.readable(p.key, p.N-1) && ok(p)
	})
}

// undo takes a final version back.
func (s *Simulation) undo(p *place) {
	for i := range s.Final {
		if s.Final[i].Key == p.key {
			s.Final[i] = s.at(p.key, p.N-1)
		}
	}
}

func torn(s *Simulation) bool {
	x := s.last(func(p place) bool {
		return slices.ContainsFunc(s.Transactions[p.t].Ops, func(o isolation.Op) bool { return o.Write && o.Key != p.key })
	})
	if x == nil {
		return false
	}
	s.undo(x)
	return true
}

func lost(s *Simulation) bool {
	x := s.last(func(p place) bool {
		return !slices.ContainsFunc(s.Transactions[p.t].Ops, func(o isolation.Op) bool { return o.Write && o.Key != p.key })
	})
	if x == nil {
		return false
	}
	s.undo(x)
	return true
}

// serverSnapshot lets the server give a snapshot a time before a version that was read, or after the next one.
func serverSnapshot(s *Simulation) bool {
	r, at := 0, uint64(0)
	r = s.readOnly(func(r int) bool {
		if s.Transactions[r].ReadTime == 0 {
			return false
		}
		for _, o := range s.Transactions[r].Ops {
			if commit := s.commitTime(o.Key, o.N); commit != 0 {
				at = commit - 1
				return true
			}
			if at = s.commitTime(o.Key, o.N+1); at != 0 {
				return true
			}
		}
		return false
	})
	if r < 0 {
		return false
	}
	s.Transactions[r].ReadTime = at
	return true
}

// commitTime is the time that the server gave to the writer of a version, 0 if that or the place of the version is not
// known.
func (s *Simulation) commitTime(key uint32, n int64) uint64 {
	if n < 0 || n >= int64(len(s.keys[key])) {
		return 0
	}
	for _, t := range s.Transactions {
		if slices.ContainsFunc(t.Ops, func(o isolation.Op) bool { return o.Write && !o.Blind && o.ID == s.keys[key][n].id }) {
			return t.CommitTime
		}
	}
	return 0
}

// serverOrder exchanges the times of two transactions that wrote the same key one after the other.
func serverOrder(s *Simulation) bool {
	for range 50 {
		x := s.written(func(p place) bool { return p.N > 1 })
		if x == nil {
			return false
		}
		for t := range s.Transactions {
			one := &s.Transactions[t]
			wrote := func(o isolation.Op) bool { return o.Write && o.ID == x.Prev }
			if one.CommitTime != 0 && slices.ContainsFunc(one.Ops, wrote) {
				one.CommitTime, s.Transactions[x.t].CommitTime = s.Transactions[x.t].CommitTime, one.CommitTime
				return true
			}
		}
	}
	return false
}
