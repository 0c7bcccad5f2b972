package transactions

import (
	"encoding/binary"
	"math"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/drill/isolation"
	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// Name is the name of the workload.
const Name = "transactions"

// Collection holds the registers.
const Collection = "plimsoll_transactions"

// The classes of operations.
const (
	modify = iota // reads two to four registers and changes them
	look          // reads two to six
	mix           // reads two and changes one of them
	alone         // changes one, outside of transactions
	past          // reads one, at a time that the server chooses and returns
)

// Classes are the classes of operations of the workload.
func Classes() []workload.Class {
	return []workload.Class{{Name: "transfer"}, {Name: "snapshot"}, {Name: "mixed"}, {Name: "write"}, {Name: "read"}}
}

// The shares of the classes in percent. The rest are writes outside of transactions. Where the server has no times,
// there are no reads of the past, but as many more of the class before.
const (
	modifyShare = 45
	lookShare   = 25
	pastShare   = 5
	mixShare    = 20
)

const (
	// keysPerEpoch are few, so that transactions meet, and enough for most of them to commit.
	keysPerEpoch = 200
	// reuse is how far the choice of keys is from even: the mean of the exponential distribution, in shares of the
	// keys.
	reuse = 0.25
)

// Options configure a [Keeper].
type Options struct {
	Mark    uint32 // of the round, in each _id
	Seed    uint64
	Length  time.Duration // planned, of the load
	Writers int
	// Times says that the server gives the time of each commit and of each snapshot, as a replica set does since MongoDB
	// 5.0.
	Times bool
}

// Keeper makes the workload of one process and keeps what its transactions did.
type Keeper struct {
	o        Options
	epoch    time.Duration
	epochs   int
	began    atomic.Pointer[time.Time]
	sessions []*session
	done     judged
}

// The length of epochs.
const (
	epochLength = 5 * time.Second
	mostEpochs  = 200
)

// New returns a keeper. Loads that are longer than planned stay in the last epoch.
func New(o Options) *Keeper {
	k := &Keeper{o: o, epoch: max(epochLength, o.Length/mostEpochs)}
	k.epochs = int(o.Length/k.epoch) + 2
	k.sessions = make([]*session, o.Writers)
	return k
}

// Registers are the documents that must exist before the load: all registers, never written.
func (k *Keeper) Registers() (docs [][]byte) {
	for key := range uint32(k.epochs * keysPerEpoch) {
		doc := k.appendID([]byte{0, 0, 0, 0}, key)
		doc = bsoncore.AppendInt64Element(doc, markField, int64(k.o.Mark))
		doc = bsoncore.AppendInt64Element(doc, "n", 0)
		docs = append(docs, rawbson.Close(bsoncore.AppendInt64Element(doc, "v", 0), 0))
	}
	return docs
}

// markField says in each register which round wrote it.
const markField = "mark"

// Mark returns which round wrote a document; ok is false if no round did.
func Mark(doc []byte) (mark uint32, ok bool) {
	d := bsoncore.Document(doc)
	id, first := d.Lookup("_id").AsInt64OK()
	value, second := d.Lookup(markField).AsInt64OK()
	_, _, third := Register(doc)
	return uint32(value), first && second && third && uint32(id>>32) == uint32(value)
}

// id is the _id of a register: the mark of the round and the key, mixed so that neighbours are on different shards.
func (k *Keeper) id(key uint32) int64 { return int64(k.o.Mark)<<32 | int64(key*2654435761) }

func (k *Keeper) appendID(dst []byte, key uint32) []byte {
	return bsoncore.AppendInt64Element(dst, "_id", k.id(key))
}

// Begin says when the load begins.
func (k *Keeper) Begin(at time.Time) {
	if k != nil {
		k.began.Store(&at)
	}
}

// now is the epoch of a new transaction.
func (k *Keeper) now() int {
	at := k.began.Load()
	if at == nil {
		return 0
	}
	return min(k.epochs-1, max(0, int(time.Since(*at)/k.epoch)))
}

// Workload returns the workload.
func (k *Keeper) Workload() workload.Workload { return registers{k} }

// registers is the workload. It has no load phase.
type registers struct{ k *Keeper }

func (registers) Name() string              { return Name }
func (registers) Classes() []workload.Class { return Classes() }
func (registers) Collections() []string     { return []string{Collection} }
func (registers) Indexes() []workload.Index { return nil }
func (r registers) Records() int64          { return int64(r.k.epochs * keysPerEpoch) }
func (r registers) Loader() workload.Loader { return loader(r) }

// loader inserts the registers, if somebody wants it to.
type loader struct{ k *Keeper }

func (l loader) Load(seq int64, n int, op *workload.Op) {
	all := l.k.Registers()
	op.Class, op.Seq = alone, seq
	op.Requests = []workload.Request{{Verb: workload.Insert, Class: workload.NoClass, Collection: Collection,
		Docs: all[seq : seq+int64(n)], Unordered: n > 1}}
}

func (l loader) Probe(seq int64, op *workload.Op) {
	op.Class, op.Seq = look, -1
	op.Requests = []workload.Request{{Verb: workload.Find, Class: workload.NoClass, Collection: Collection, Limit: 1,
		Filter: rawbson.Close(l.k.appendID([]byte{0, 0, 0, 0}, uint32(seq)), 0)}}
}

func (r registers) Stream(worker, _ int) workload.Stream {
	s := &session{k: r.k, number: worker, rand: r.k.o.Seed ^ uint64(worker)*0x9e3779b97f4a7c15}
	r.k.sessions[worker] = s
	return workload.Stream{Next: s.next, Done: func(*workload.Op, bool) {}, Verify: s.verify}
}

// session is one worker: it makes transactions and keeps them.
type session struct {
	k      *Keeper
	number int
	rand   uint64
	made   int64 // writes

	// of the transaction under way
	current    isolation.Transaction
	at         []int // of each request, its operation in current; -1 for none
	requests   []workload.Request
	filters    [][]byte
	changes    [][]byte
	statements []workload.Statement

	kept
}

func (s *session) random() uint64 {
	s.rand += 0x9e3779b97f4a7c15
	z := s.rand
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// key chooses a register of the epoch that the transaction does not have yet.
func (s *session) key() uint32 {
	for {
		at := -math.Log(1-float64(s.random()>>11)/(1<<53)) * reuse
		key := uint32(s.epoch*keysPerEpoch) + uint32(at*keysPerEpoch)%keysPerEpoch
		fresh := true
		for _, o := range s.current.Ops {
			fresh = fresh && o.Key != key
		}
		if fresh {
			return key
		}
	}
}

// begin begins a transaction in the epoch of now. An epoch is closed only if no session can begin in it any more.
func (s *session) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epoch, s.under = s.k.now(), true
}

func (s *session) next(op *workload.Op) {
	s.current = isolation.Transaction{Session: int32(s.number), Ops: s.current.Ops[:0]}
	s.begin()
	s.requests, s.at = s.requests[:0], s.at[:0]
	s.filters, s.changes, s.statements = s.filters[:0], s.changes[:0], s.statements[:0]
	r := s.random()
	op.Seq, op.Transaction = -1, true
	switch kind := r % 100; {
	case kind < modifyShare:
		op.Class = modify
		n := 2 + int(r>>32%3)
		for range n {
			s.read(s.key())
		}
		for i := range n {
			s.write(s.current.Ops[i].Key)
		}
	case kind < modifyShare+pastShare && s.k.o.Times:
		op.Class, op.Transaction, s.current.Past = past, false, true
		s.read(s.key())
		s.requests[0].Concern = ofSnapshot
	case kind < modifyShare+pastShare+lookShare:
		op.Class = look
		for range 2 + int(r>>32%5) {
			s.read(s.key())
		}
	case kind < modifyShare+pastShare+lookShare+mixShare:
		op.Class = mix
		s.read(s.key())
		s.read(s.key())
		s.write(s.current.Ops[1].Key)
	default:
		op.Class, op.Transaction = alone, false
		s.write(s.key())
	}
	if op.Transaction {
		for i := range s.requests {
			s.requests[i].Starts, s.requests[i].Within = i == 0, true
		}
		s.requests = append(s.requests, workload.Request{Verb: workload.Commit, Class: workload.NoClass})
		s.at = append(s.at, -1)
	}
	op.Requests = s.requests
}

// ofSnapshot makes the server choose a time at which a majority had what is read, and return it.
var ofSnapshot = &workload.Concern{Read: "snapshot"}

// reuseBuffer returns a buffer of a list that keeps its buffers.
func reuseBuffer(list *[][]byte) []byte {
	n := len(*list)
	if n < cap(*list) {
		*list = (*list)[:n+1]
		return append((*list)[n][:0], 0, 0, 0, 0)
	}
	*list = append(*list, nil)
	return make([]byte, 4, 64)
}

func (s *session) filter(key uint32) []byte {
	b := rawbson.Close(s.k.appendID(reuseBuffer(&s.filters), key), 0)
	s.filters[len(s.filters)-1] = b
	return b
}

func (s *session) read(key uint32) {
	s.current.Ops = append(s.current.Ops, isolation.Op{Key: key, N: isolation.Unplaced})
	s.at = append(s.at, len(s.current.Ops)-1)
	s.requests = append(s.requests, workload.Request{Verb: workload.Find, Class: workload.NoClass, Collection: Collection,
		Filter: s.filter(key), Limit: 1})
}

func (s *session) write(key uint32) {
	s.made++
	id := isolation.ID(uint64(s.number+1)<<40 | uint64(s.made))
	s.current.Ops = append(s.current.Ops, isolation.Op{Key: key, Write: true, Blind: true, ID: id, N: isolation.Unplaced})
	s.at = append(s.at, len(s.current.Ops)-1)
	b := reuseBuffer(&s.changes)
	b = append(b, byte(bsoncore.TypeEmbeddedDocument), '$', 's', 'e', 't', 0)
	inner := len(b)
	b = rawbson.Close(bsoncore.AppendInt64Element(append(b, 0, 0, 0, 0), "v", int64(id)), inner)
	b = append(b, byte(bsoncore.TypeEmbeddedDocument), '$', 'i', 'n', 'c', 0)
	inner = len(b)
	b = rawbson.Close(bsoncore.AppendInt64Element(append(b, 0, 0, 0, 0), "n", 1), inner)
	b = rawbson.Close(b, 0)
	s.changes[len(s.changes)-1] = b
	s.statements = append(s.statements, workload.Statement{Filter: s.filter(key), Update: b})
	s.requests = append(s.requests, workload.Request{Verb: workload.Update, Class: workload.NoClass,
		Collection: Collection, Updates: s.statements[len(s.statements)-1 : len(s.statements) : len(s.statements)]})
}

// verify keeps what a read returned. A register cannot be absent.
func (s *session) verify(_ *workload.Op, i int, doc []byte) (ok, checked bool) {
	if !s.under || i >= len(s.at) || s.at[i] < 0 {
		return true, false
	}
	o := &s.current.Ops[s.at[i]]
	n, id, ok := Register(doc)
	if !ok {
		o.N = isolation.Unplaced
		return false, true
	}
	o.N, o.ID = n, id
	return true, true
}

// Register returns the number and the version of a register.
func Register(doc []byte) (n int64, id isolation.ID, ok bool) {
	found := 0
	rest, _, ok := rawbson.Split(doc)
	for ok && len(rest) > 0 {
		name, v, size := rawbson.Next(rest)
		if size == 0 {
			return 0, 0, false
		}
		if rest = rest[size:]; v.Kind != byte(bsoncore.TypeInt64) || len(v.Data) < 8 {
			continue
		}
		switch value := int64(binary.LittleEndian.Uint64(v.Data)); string(name) {
		case "n":
			n = value
			found++
		case "v":
			id = isolation.ID(value)
			found++
		}
	}
	return n, id, ok && found == 2
}
