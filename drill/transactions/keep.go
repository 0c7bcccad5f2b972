package transactions

import (
	"slices"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/drill/isolation"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// kept are the transactions of a session by epoch. The controller of the load may settle an abandoned one, and closed
// epochs are taken during the load, so there is a lock, which no other session takes.
type kept struct {
	mu      sync.Mutex
	epoch   int  // of the transaction under way, or of the last one
	under   bool // there is one
	first   int  // epoch
	epochs  [][]isolation.Transaction
	servers []string
}

// judged is what has been taken for judging.
type judged struct {
	mu    sync.Mutex
	until int // epochs before it have been taken
}

// Settle returns the function that keeps the result of each operation of a worker that has its stream.
func (k *Keeper) Settle(worker int) func(op *workload.Op, st *load.Settlement) {
	return k.sessions[worker].settle
}

func (s *session) settle(_ *workload.Op, st *load.Settlement) {
	if !s.under {
		return
	}
	t := s.current
	t.Ops = slices.Clone(t.Ops) // the next transaction has the same buffer
	t.Began, t.Ended = st.Sent, st.Ended
	switch {
	case st.Abandoned:
		t.Outcome, t.Ended = isolation.Unknown, 0
	case st.Undone:
		t.Outcome = isolation.Aborted
	case st.Outcome == store.OK:
		t.Outcome = isolation.Committed
	case len(t.Ops) == 1 && t.Ops[0].Write && st.Attempts <= 1 && refused(st.Outcome):
		t.Outcome = isolation.Aborted
	default:
		t.Outcome, t.Ended = isolation.Unknown, 0
	}
	if t.Outcome == isolation.Committed {
		// A read without a register is in the count of wrong reads. What else the transaction read is not known.
		t.Ops = slices.DeleteFunc(t.Ops, func(o isolation.Op) bool { return !o.Write && o.N < 0 })
		if s.k.o.Times {
			t.ReadTime = st.SnapshotTime
			if slices.ContainsFunc(t.Ops, func(o isolation.Op) bool { return o.Write }) {
				t.CommitTime = st.OperationTime
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.under = false
	t.Server = s.server(st.Server)
	for s.first+len(s.epochs) <= s.epoch {
		s.epochs = append(s.epochs, nil)
	}
	if s.epoch >= s.first {
		s.epochs[s.epoch-s.first] = append(s.epochs[s.epoch-s.first], t)
	}
}

// refused reports whether an outcome of a single write proves that it was not applied.
func refused(o store.Outcome) bool {
	switch o {
	case store.NotApplied, store.Overloaded, store.Rejected, store.Conflict, store.NotFound:
		return true
	}
	return false
}

func (s *session) server(name string) uint16 {
	i := slices.Index(s.servers, name)
	if i < 0 {
		i = len(s.servers)
		s.servers = append(s.servers, name)
	}
	return uint16(i)
}

// Epoch is the history of an epoch, without its final versions.
type Epoch struct {
	Number int
	isolation.History
}

// Take returns the histories of the epochs before one, in their order, which are then forgotten.
func (k *Keeper) Take(before int) (taken []Epoch) {
	k.done.mu.Lock()
	defer k.done.mu.Unlock()
	for ; k.done.until < min(before, k.epochs); k.done.until++ {
		e := Epoch{Number: k.done.until}
		for _, s := range k.sessions {
			if s != nil {
				s.take(e.Number, &e.History)
			}
		}
		taken = append(taken, e)
	}
	return taken
}

// Closed is how many epochs, from the first on, have ended with all of their transactions.
func (k *Keeper) Closed() int {
	closed := k.now()
	for _, s := range k.sessions {
		if s == nil {
			continue
		}
		s.mu.Lock()
		if s.under {
			closed = min(closed, s.epoch)
		}
		s.mu.Unlock()
	}
	return closed
}

// Held is how many transactions are kept.
func (k *Keeper) Held() (n int) {
	for _, s := range k.sessions {
		if s == nil {
			continue
		}
		s.mu.Lock()
		for _, list := range s.epochs {
			n += len(list)
		}
		s.mu.Unlock()
	}
	return n
}

// IDs returns an array with the _id of each register of an epoch.
func (k *Keeper) IDs(epoch int) (ids bson.A) {
	for key := range uint32(keysPerEpoch) {
		ids = append(ids, k.id(uint32(epoch*keysPerEpoch)+key))
	}
	return ids
}

// take moves the transactions of an epoch into a history.
func (s *session) take(epoch int, h *isolation.History) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := epoch - s.first
	if at < 0 || at >= len(s.epochs) {
		s.first = max(s.first, epoch+1)
		s.epochs = nil
		return
	}
	for _, t := range s.epochs[at] {
		name := s.servers[t.Server]
		i := slices.Index(h.Servers, name)
		if i < 0 {
			i = len(h.Servers)
			h.Servers = append(h.Servers, name)
		}
		t.Server = uint16(i)
		h.Transactions = append(h.Transactions, t)
	}
	s.epochs[at] = nil
	s.first, s.epochs = epoch+1, s.epochs[at+1:]
}

// Epochs is how many epochs the load has.
func (k *Keeper) Epochs() int { return k.epochs }

// Key returns the key of a register, and its epoch; ok is false for a document of another round.
func (k *Keeper) Key(doc []byte) (key uint32, epoch int, ok bool) {
	v, ok := bsoncore.Document(doc).Lookup("_id").AsInt64OK()
	if !ok || uint32(v>>32) != k.o.Mark {
		return 0, 0, false
	}
	key = uint32(v) * inverse
	return key, int(key / keysPerEpoch), int(key) < k.epochs*keysPerEpoch
}

// inverse undoes the factor of [Keeper.id], modulo 2^32.
const inverse = 244002641
