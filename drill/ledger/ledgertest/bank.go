package ledgertest

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// Transfers has transactions whose later requests depend on an answer, and such that do not.
const Transfers = `
name: transfers
collections:
  - {name: accounts, count: 30, document: {_id: {$sequence: {prefix: account-}}, sum: 100}}
  - {name: log, document: {amount: {$int: 9}}}
operations:
  - name: transfer
    weight: 3
    let: {amount: {$int: {min: 1, max: 9}}}
    transaction:
      - {findOne: accounts, filter: {_id: {$uniform: accounts}}, as: from}
      - {name: give, update: accounts, filter: {_id: {$var: from._id}}, with: {$inc: {sum: {$calc: -amount}}}}
      - {insert: log, batch: 2, document: {amount: {$var: amount}}}
  - name: pay
    weight: 2
    transaction:
      - {update: accounts, filter: {_id: {$uniform: accounts}}, with: {$inc: {sum: 1}}}
      - {name: first, insert: log}
      - {name: second, insert: log}
  - {name: note, weight: 1, insert: log}
`

// Ending is what becomes of a commit.
type Ending int

// The endings.
const (
	Committed     Ending = iota
	Forgotten            // acknowledged, and not applied
	Unknown              // the result is unknown, and the next commit says that it is there
	UnknownGone          // the result is unknown, and the next commit says that there is no such transaction
	Undecided            // the time limit of the server passed, and it is applied
	UndecidedGone        // the same, and it is not applied
	Torn                 // acknowledged, and one of its inserts is not applied
	TornUndecided        // the time limit of the server passed, and one of its inserts is not applied
	Endings              // how many there are, but for the next
	// HalfUpdated is an ending like Undecided of which one update is not applied. A bank has it only where its chance
	// is set.
	HalfUpdated = Endings
)

// Bank is a world with transactions, which knows what became of each.
type Bank struct {
	*World
	// Updates counts the updates in transactions.
	Updates struct{ Acknowledged, Lost, Indeterminate int64 }
	// Chances are those of each ending but Committed.
	Chances map[Ending]float64
	// Tears is how many transactions were torn in their inserts, and Halves how many in their updates.
	Tears, Halves int
}

type bankSession struct {
	session
	b       *Bank
	pending []workload.Request // of the open transaction
	aborted bool               // by the server
	decided bool               // the transaction is applied already
}

func (b *Bank) Session(int) (store.Session, error) {
	return &bankSession{session: session{b.World}, b: b}, nil
}

func (s *bankSession) Do(limit time.Time, req *workload.Request, res *store.Result) {
	b := s.b
	if !b.Loaded || !req.Within && req.Verb != workload.Commit && req.Verb != workload.Abort {
		s.session.Do(limit, req, res)
		return
	}
	b.Mu.Lock()
	defer b.Mu.Unlock()
	res.Reset()
	res.Attempts, res.Docs = 1, 1
	if req.Starts {
		s.pending, s.aborted, s.decided = nil, false, false
	}
	switch {
	case req.Verb == workload.Abort:
		s.pending = nil
	case req.Verb == workload.Commit:
		s.commit(res)
	case b.rng.IntN(12) == 0:
		res.Fail(store.NotApplied, store.Server, "write conflict")
		res.Labels = []string{"TransientTransactionError"}
		s.pending = nil
	case req.Verb == workload.Find:
		b.find(req, res)
	default:
		s.pending = append(s.pending, *req)
	}
}

func (b *Bank) choose() Ending {
	x := b.rng.Float64()
	for e := Forgotten; e <= HalfUpdated; e++ {
		if x -= b.Chances[e]; x < 0 {
			return e
		}
	}
	return Committed
}

func (s *bankSession) commit(res *store.Result) {
	b := s.b
	switch {
	case s.decided: // a repetition
		return
	case s.aborted:
		res.Fail(store.NotApplied, store.Server, "no such transaction")
		res.Labels = []string{"TransientTransactionError"}
		return
	}
	is, how := Acknowledged, b.choose()
	switch how {
	case Unknown, UnknownGone:
		res.Fail(store.Indeterminate, store.Network, "connection reset")
		res.Labels = []string{"UnknownTransactionCommitResult"}
		s.decided, s.aborted = how == Unknown, how == UnknownGone
		if s.aborted {
			return
		}
	case Undecided, UndecidedGone, TornUndecided, HalfUpdated:
		res.Fail(store.Indeterminate, store.Timeout, "time limit")
		res.Code, is = 50, Indeterminate
	}
	applied := how != Forgotten && how != UndecidedGone
	var inserted []*Fate
	left := -1 // the request that is left out
	if how == HalfUpdated && len(s.pending) > 1 {
		left = b.rng.IntN(len(s.pending))
		b.Halves++
	}
	for i := range s.pending {
		inserted = append(inserted, b.carry(&s.pending[i], is, applied && i != left)...)
	}
	if (how == Torn || how == TornUndecided) && len(inserted) > 1 {
		b.Tears++
		lacks := inserted[b.rng.IntN(len(inserted))]
		lacks.Applied = 0
		delete(b.Docs, lacks.Document)
		for _, f := range inserted {
			f.Torn = true
		}
	}
}

// carry applies one request of a transaction, or loses it. It returns the inserts.
func (b *Bank) carry(req *workload.Request, is Answer, applied bool) (inserted []*Fate) {
	for _, doc := range req.Docs {
		d := Unmarshal(doc)
		tag := Field(d, tagName).(bson.Binary)
		f := &Fate{Document: KeyOf(Field(d, "_id")), Kind: Inserts, Answer: is}
		if applied {
			f.Applied = 1
			b.Docs[f.Document] = d
		}
		b.Fates[string(tag.Data[:12])] = f
		inserted = append(inserted, f)
	}
	for _, u := range req.Updates {
		switch {
		case is == Indeterminate:
			b.Updates.Indeterminate++
		case applied:
			b.Updates.Acknowledged++
		default:
			b.Updates.Lost++
		}
		if applied {
			b.Apply(Field(Unmarshal(u.Filter), "_id"), Unmarshal(u.Update), 1)
		}
	}
	return inserted
}
