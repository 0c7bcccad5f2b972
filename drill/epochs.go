package drill

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/plimsoll-bench/plimsoll/drill/isolation"
	"github.com/plimsoll-bench/plimsoll/drill/transactions"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/record"
)

// mostHeld is how many transactions are kept until the load has ended, about 12 MB. With more of them, each epoch is
// judged when its transactions have ended: that takes processor time beside the load.
const mostHeld = 50_000

// epochs judges the transactions of a round epoch by epoch, and keeps what the epochs showed.
type epochs struct {
	keeper   *transactions.Keeper
	promise  isolation.Promise // of the settings; faults may make it weaker
	mostHeld int

	held     []transactions.Epoch // taken and not judged
	confirms map[int][]isolation.Op
	sum      isolation.Verdict
	examples map[isolation.Class][]example
	shown    isolation.History // the begin of the first one with what must not be, or of the first one
	bad      bool              // shown has what must not be
	took     time.Duration
	// starts is how many transactions of several operations committed, by when they began in steps of startsEvery.
	starts map[int64]int64
}

// startsEvery is the resolution of the moments at which transactions began, in ns.
const startsEvery = 100_000_000

// example is an anomaly with its transactions.
type example struct {
	anomaly isolation.Anomaly
	isolation.History
}

func newEpochs(k *transactions.Keeper, promise isolation.Promise) *epochs {
	return &epochs{keeper: k, promise: promise, mostHeld: mostHeld, confirms: map[int][]isolation.Op{},
		examples: map[isolation.Class][]example{}, starts: map[int64]int64{}}
}

// judge adds the verdict about an epoch whose final versions are known.
func (e *epochs) judge(h *isolation.History) {
	began := time.Now()
	v := isolation.Check(h, e.promise)
	if bad := v.Forbidden() > 0; e.shown.Transactions == nil || bad && !e.bad {
		e.shown, e.bad = h.Begin(mostExported), bad
	}
	e.sum.Add(v)
	for i := range h.Transactions {
		if t := &h.Transactions[i]; t.Outcome == isolation.Committed && len(t.Ops) > 1 {
			e.starts[t.Began-t.Began%startsEvery]++
		}
	}
	for _, a := range v.Examples {
		if list := e.examples[a.Class]; len(list) < isolation.MostExamples {
			a, only := h.Excerpt(a)
			e.examples[a.Class] = append(list, example{a, only})
		}
	}
	e.took += time.Since(began)
}

// release judges closed epochs if too many transactions are kept. read returns the registers of an epoch, as a majority
// has them. An epoch with a transaction without an answer waits for the end of the load, because that may still take
// effect. An epoch that cannot be read now is read later.
func (e *epochs) release(read func(epoch int) ([]isolation.Op, error)) {
	waiting := 0
	for i := range e.held {
		waiting += len(e.held[i].Transactions)
	}
	if e.keeper.Held()+waiting <= e.mostHeld {
		return
	}
	e.held = append(e.held, e.keeper.Take(e.keeper.Closed())...)
	var failed error
	e.held = slices.DeleteFunc(e.held, func(one transactions.Epoch) bool {
		unknown := func(t isolation.Transaction) bool { return t.Outcome == isolation.Unknown }
		if failed != nil || slices.ContainsFunc(one.Transactions, unknown) {
			return false
		}
		if one.Final, failed = read(one.Number); failed != nil {
			return false
		}
		e.judge(&one.History)
		e.confirms[one.Number] = one.Final
		return true
	})
}

// end judges the epochs that are left, and compares the others with the registers at the end.
func (e *epochs) end(last [][]isolation.Op) {
	for _, one := range append(e.held, e.keeper.Take(e.keeper.Epochs())...) {
		one.Final = last[one.Number]
		e.judge(&one.History)
	}
	e.held = nil
	for epoch, before := range e.confirms {
		now := make(map[uint32]isolation.Op, len(before))
		for _, o := range last[epoch] {
			now[o.Key] = o
		}
		for _, o := range before {
			if is, ok := now[o.Key]; !ok || is.N != o.N || is.ID != o.ID {
				e.changed(o, is)
			}
		}
	}
}

// changed notes a register that has changed after all of its transactions had ended.
func (e *epochs) changed(before, now isolation.Op) {
	a := isolation.Anomaly{Class: isolation.Lost, Key: before.Key, N: before.N, ID: before.ID}
	if now.N > before.N {
		a.Class = isolation.Duplicate
	}
	e.sum.Counts[a.Class]++
	if list := e.examples[a.Class]; len(list) < isolation.MostExamples {
		e.examples[a.Class] = append(list, example{anomaly: a})
	}
}

// result puts the verdict into the words of a record.
func (e *epochs) result(promise isolation.Promise, why string, shift int64) *record.IsolationResult {
	s := &e.sum
	out := &record.IsolationResult{Promise: promise.String(), Why: why, Transactions: s.Transactions,
		Committed: s.Committed, Unknown: s.Unknown, Aborted: s.Aborted, Reads: s.Reads, Edges: s.Edges,
		Registers: s.Keys, Complete: s.CompleteKeys, Timed: s.Timed, Seconds: e.took.Seconds()}
	for class, n := range s.Counts {
		if n == 0 {
			continue
		}
		c := isolation.Class(class)
		a := record.IsolationAnomaly{Class: c.String(), Count: n, Forbidden: promise.Forbids(c)}
		for _, one := range e.examples[c] {
			a.Examples = append(a.Examples, one.Words(one.anomaly, shift))
		}
		out.Anomalies = append(out.Anomalies, a)
	}
	return out
}

// releaseEvery is the time between two looks for closed epochs, and readWithin bounds the read of one.
const (
	releaseEvery = time.Second
	readWithin   = 10 * time.Second
)

// releases judges closed epochs until ctx ends.
func (r *round) releases(ctx context.Context) {
	e := r.epochs
	if e == nil || r.target.level != "" {
		return
	}
	var s *source
	defer func() {
		if s != nil {
			s.close()
		}
	}()
	read := func(epoch int) ([]isolation.Op, error) {
		if s == nil {
			c, err := platform.Connect(r.target.uri, options.Client().SetServerSelectionTimeout(readWithin).
				SetReadPreference(readpref.Primary()).SetReadConcern(readconcern.Majority()).
				SetWriteConcern(writeconcern.Majority()))
			if err != nil {
				return nil, err
			}
			s = &source{name: "epoch", client: c, mark: r.result.Mark, db: c.Database(r.spec.Run.Database)}
		}
		ctx, end := context.WithTimeout(ctx, readWithin)
		defer end()
		return s.registers(ctx, e.keeper, epoch)
	}
	for wait.Sleep(ctx, releaseEvery) == nil {
		e.release(read)
	}
}

// registers reads the registers of an epoch.
func (s *source) registers(ctx context.Context, k *transactions.Keeper, epoch int) (list []isolation.Op, err error) {
	if err := s.fence(ctx, true); err != nil {
		return nil, err
	}
	ids := k.IDs(epoch)
	cursor, err := s.db.Collection(transactions.Collection).Find(s.within(ctx),
		bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: ids}}}})
	if err != nil {
		return nil, err
	}
	defer cursor.Close(ctx)
	for cursor.Next(ctx) {
		o, _, err := register(k, cursor.Current)
		if err != nil {
			return nil, err
		}
		list = append(list, o)
	}
	if err := cursor.Err(); err != nil {
		return nil, err
	}
	if len(list) != len(ids) {
		return nil, fmt.Errorf("%d of %d registers", len(list), len(ids))
	}
	return list, nil
}

// register returns the version of a register and its epoch, which is -1 for a document of another round.
func register(k *transactions.Keeper, doc []byte) (o isolation.Op, epoch int, err error) {
	key, epoch, ok := k.Key(doc)
	if !ok {
		return o, -1, nil
	}
	n, id, ok := transactions.Register(doc)
	if !ok {
		return o, epoch, fmt.Errorf("the register %d has no n and v", key)
	}
	return isolation.Op{Key: key, N: n, ID: id}, epoch, nil
}
