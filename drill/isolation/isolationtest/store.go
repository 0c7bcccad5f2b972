package isolationtest

import (
	"container/heap"
	"math/rand/v2"

	"github.com/plimsoll-bench/plimsoll/drill/isolation"
)

// Options say what a simulated load is like.
type Options struct {
	Seed         uint64
	Transactions int // attempts
	Sessions     int // default 16
	Keys         int // default 200, fewer for short histories
	// NoSkew leaves out transactions that write another key than the ones they only read, so the history is
	// serializable.
	NoSkew bool
}

// state is a version in the store.
type state struct {
	n        int64
	id, prev isolation.ID
	commit   uint64 // number of the commit in the order of the store
}

// Simulation is a store and its history.
type Simulation struct {
	isolation.History
	rng     *rand.Rand
	options Options
	keys    [][]state
	commits uint64
	nextID  isolation.ID
}

// happening is the next thing that a session does, or a commit without an answer that takes effect late.
type happening struct {
	at      int64
	session int32
	commit  *attempt // nil: a transaction begins
	late    bool
}

type happenings []happening

func (h happenings) Len() int           { return len(h) }
func (h happenings) Less(i, j int) bool { return h[i].at < h[j].at }
func (h happenings) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *happenings) Push(x any)        { *h = append(*h, x.(happening)) }
func (h *happenings) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// attempt is a transaction that has not ended.
type attempt struct {
	isolation.Transaction
	snapshot uint64
	own      map[uint32]state
}

// Simulate returns the history of a load on a store with strong snapshot isolation. Some commits have no answer: of
// those, a third has taken effect, a third takes effect later, and a third never does.
func Simulate(o Options) *Simulation {
	if o.Sessions == 0 {
		o.Sessions = 16
	}
	if o.Keys == 0 {
		o.Keys = min(200, max(8, o.Transactions/2))
	}
	s := &Simulation{rng: rand.New(rand.NewPCG(o.Seed, 48)), options: o, keys: make([][]state, o.Keys), nextID: 1}
	s.Servers = []string{"", "router-1", "router-2"}
	for k := range s.keys {
		s.keys[k] = []state{{}}
	}
	var queue happenings
	for i := range o.Sessions {
		heap.Push(&queue, happening{at: 1 + s.rng.Int64N(1000), session: int32(i)})
	}
	for started := 0; len(queue) > 0; {
		next := heap.Pop(&queue).(happening)
		switch {
		case next.late:
			s.install(next.commit) // nobody is told
		case next.commit != nil:
			s.end(next.commit, next.at, &queue)
			answered := s.Transactions[len(s.Transactions)-1].Ended
			heap.Push(&queue, happening{at: max(next.at, answered) + 1 + s.rng.Int64N(200), session: next.session})
		case started < o.Transactions:
			started++
			a := s.begin(next.session, next.at)
			at := next.at + 1 + int64(1000*s.rng.ExpFloat64())
			heap.Push(&queue, happening{at: at, session: next.session, commit: a})
		}
	}
	for k, versions := range s.keys {
		last := versions[len(versions)-1]
		s.Final = append(s.Final, isolation.Op{Key: uint32(k), ID: last.id, N: last.n, Prev: last.prev})
	}
	return s
}

// key chooses one: a few are used often.
func (s *Simulation) key() uint32 {
	return uint32(int(s.rng.ExpFloat64()*float64(len(s.keys))/4) % len(s.keys))
}

// begin runs the operations of a transaction on the snapshot of now.
func (s *Simulation) begin(session int32, at int64) *attempt {
	a := &attempt{snapshot: s.commits, own: map[uint32]state{}}
	a.Session, a.Began, a.Server = session, at, uint16(1+s.rng.IntN(2))
	a.ReadTime = a.snapshot + 1 // the first commit has time 2, and nothing has time 0
	switch kind := s.rng.IntN(20); {
	case kind < 2: // one operation alone
		if s.rng.IntN(2) == 0 {
			a.ReadTime = 0
			s.write(a, s.key(), s.rng.IntN(2) == 0)
		} else {
			a.Past = s.rng.IntN(2) == 0
			if a.Past { // the store chooses an earlier time
				a.snapshot -= uint64(s.rng.Int64N(int64(min(a.snapshot, 30)) + 1))
				a.ReadTime = a.snapshot + 1
			}
			s.read(a, s.key())
		}
	case kind < 10:
		for range 2 + s.rng.IntN(3) {
			s.write(a, s.key(), s.rng.IntN(8) == 0)
		}
	case kind < 16:
		for range 2 + s.rng.IntN(5) {
			s.read(a, s.key())
		}
	default:
		x, y := s.key(), s.key()
		s.read(a, x)
		s.read(a, y)
		if s.options.NoSkew {
			s.write(a, x, false)
			s.write(a, y, false)
			break
		}
		s.write(a, y, false)
	}
	return a
}

// seen is what a transaction sees of a key.
func (s *Simulation) seen(a *attempt, key uint32) state {
	if own, ok := a.own[key]; ok {
		return own
	}
	versions := s.keys[key]
	i := len(versions) - 1
	for versions[i].commit > a.snapshot {
		i--
	}
	return versions[i]
}

func (s *Simulation) read(a *attempt, key uint32) {
	v := s.seen(a, key)
	a.Ops = append(a.Ops, isolation.Op{Key: key, ID: v.id, N: v.n, Prev: v.prev})
}

func (s *Simulation) write(a *attempt, key uint32, blind bool) {
	v := s.seen(a, key)
	id := s.nextID
	s.nextID++
	a.own[key] = state{n: v.n + 1, id: id, prev: v.id}
	op := isolation.Op{Key: key, Write: true, ID: id, N: v.n + 1, Prev: v.id}
	if blind {
	}
	a.Ops = append(a.Ops, op)
}

// end commits or aborts a transaction, and adds it to the history.
func (s *Simulation) end(a *attempt, at int64, queue *happenings) {
	a.Ended = at + 1 + s.rng.Int64N(20)
	writes := len(a.own) > 0
	switch {
	case s.rng.IntN(50) == 0:
		a.Outcome, a.Ended, a.ReadTime = isolation.Unknown, 0, 0
		switch s.rng.IntN(3) {
		case 0:
			s.install(a)
		case 1:
			heap.Push(queue, happening{at: at + s.rng.Int64N(5000), commit: a, late: true})
		}
	case !writes:
		a.Outcome = isolation.Committed
	case s.install(a):
		a.Outcome, a.CommitTime = isolation.Committed, s.commits+1
	default:
		a.Outcome = isolation.Aborted
	}
	s.Transactions = append(s.Transactions, a.Transaction)
}

// install makes the writes of a transaction visible, unless another one was first.
func (s *Simulation) install(a *attempt) bool {
	for key := range a.own {
		versions := s.keys[key]
		if versions[len(versions)-1].commit > a.snapshot {
			return false
		}
	}
	s.commits++
	for _, o := range a.Ops {
		if !o.Write {
			continue
		}
		versions := s.keys[o.Key]
		last := versions[len(versions)-1]
		s.keys[o.Key] = append(versions, state{n: last.n + 1, id: o.ID, prev: last.id, commit: s.commits})
	}
	return true
}
