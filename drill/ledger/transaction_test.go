package ledger

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
	"github.com/plimsoll-bench/plimsoll/workload/own"
)

// transfers has transactions whose later requests depend on an answer, and such that do not.
const transfers = `
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

// ending is what becomes of a commit.
type ending int

const (
	committed     ending = iota
	forgotten            // acknowledged, and not applied
	unknown              // the result is unknown, and the next commit says that it is there
	unknownGone          // the result is unknown, and the next commit says that there is no such transaction
	undecided            // the time limit of the server passed, and it is applied
	undecidedGone        // the same, and it is not applied
	endings
)

// bank is a world with transactions, which knows what became of each.
type bank struct {
	*world
	updates struct{ acknowledged, lost, indeterminate int64 }
	least   ending
}

type bankSession struct {
	session
	b       *bank
	pending []workload.Request // of the open transaction
	aborted bool               // by the server
	decided bool               // the transaction is applied already
}

func (b *bank) Session(int) (store.Session, error) {
	return &bankSession{session: session{b.world}, b: b}, nil
}

// Do implements [store.Session].
func (s *bankSession) Do(limit time.Time, req *workload.Request, res *store.Result) {
	b := s.b
	if !b.loaded || !req.Within && req.Verb != workload.Commit && req.Verb != workload.Abort {
		s.session.Do(limit, req, res)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
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

func (s *bankSession) commit(res *store.Result) {
	b := s.b
	how := b.least + ending(b.rng.IntN(int(endings-b.least)))
	if b.rng.IntN(3) > 0 {
		how = committed
	}
	switch {
	case s.decided: // a repetition
		return
	case s.aborted:
		res.Fail(store.NotApplied, store.Server, "no such transaction")
		res.Labels = []string{"TransientTransactionError"}
		return
	}
	is := acknowledged
	switch how {
	case unknown, unknownGone:
		res.Fail(store.Indeterminate, store.Network, "connection reset")
		res.Labels = []string{"UnknownTransactionCommitResult"}
		s.decided, s.aborted = how == unknown, how == unknownGone
		if s.aborted {
			return
		}
	case undecided, undecidedGone:
		res.Fail(store.Indeterminate, store.Timeout, "time limit")
		res.Code, is = 50, indeterminate
	}
	applied := how != forgotten && how != undecidedGone
	for i := range s.pending {
		b.carry(&s.pending[i], is, applied)
	}
}

// carry applies one request of a transaction, or loses it.
func (b *bank) carry(req *workload.Request, is state, applied bool) {
	for _, doc := range req.Docs {
		d := unmarshal(doc)
		tag := field(d, tagName).(bson.Binary)
		f := &fate{document: keyOf(field(d, "_id")), kind: inserts, told: is}
		if applied {
			f.applied = 1
			b.docs[f.document] = d
		}
		b.fates[string(tag.Data[:12])] = f
	}
	for _, u := range req.Updates {
		switch {
		case is == indeterminate:
			b.updates.indeterminate++
		case applied:
			b.updates.acknowledged++
		default:
			b.updates.lost++
		}
		if applied {
			b.apply(field(unmarshal(u.Filter), "_id"), unmarshal(u.Update), 1)
		}
	}
}

// TestTransactions audits transactions of a workload file that are repeated, aborted, lost and of unknown result. Each
// of their inserts is found in its class, and each update that is called lost was lost.
func TestTransactions(t *testing.T) {
	first := firstSeed(t)
	for seed := first; seed < first+20/fewer && !t.Failed(); seed++ {
		inner, err := own.Open(workload.Spec{Text: transfers, Seed: seed, Run: 1})
		if err != nil {
			t.Fatal(err)
		}
		b := &bank{world: newWorld(rand.New(rand.NewPCG(seed, 6)), nil), least: forgotten}
		if seed%2 == 0 {
			b.chances = map[mishap]float64{recovers: 0.05, drop: 0.05, refuse: 0.05}
		}
		for _, part := range workload.Parts(inner) {
			if _, err := load.Fill(context.Background(), load.FillConfig{SkipCount: true}, part, b, nowhere{}); err != nil {
				t.Fatal(err)
			}
		}
		b.loaded = true
		l := New(Options{Run: uint32(seed), Seed: seed, Writers: 3})
		w := l.Wrap(inner)
		report := drive(t, w, b, 3, 400)
		result, err := l.Audit(context.Background(), AuditOptions{Workload: once{w}, MostLost: 1 << 20,
			Final: &reader{name: FinalRead, w: b.world}})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(b.expected(inserts), result.Inserts, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("seed %d: inserts (-want +got):\n%s%v %v", seed, diff, result.Examples, result.Notes)
		}
		lost := result.Updates[record.WriteLost]
		if lost > b.updates.lost || b.updates.indeterminate == 0 && lost < b.updates.lost {
			t.Errorf("seed %d: %d updates are called lost, and %d were", seed, lost, b.updates.lost)
		}
		if n := result.Updates[record.WriteDuplicated] + result.Updates[record.WritePhantom]; n > 0 {
			t.Errorf("seed %d: %d updates are called doubles or phantoms: %v", seed, n, result.Updates)
		}
		if report.Abandoned > 0 || b.updates.acknowledged == 0 || b.updates.lost == 0 {
			t.Errorf("seed %d: %+v, %+v", seed, report, b.updates)
		}
	}
}

// once has one collection, because the documents of a world are in one.
type once struct{ workload.Workload }

func (o once) Collections() []string { return o.Workload.Collections()[:1] }
