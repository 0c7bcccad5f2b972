// Package ledgertest is a target that loses, doubles, tears, delays, damages and resurrects writes, and knows what it
// did: for tests of the ledger and for the campaign of known liars. It is not in the program.
package ledgertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// Answer is what a client knows about a write.
type Answer int

// What a client knows.
const (
	Open Answer = iota
	Acknowledged
	NotApplied
	Indeterminate
	Tolds // how many there are
)

// Kind is a kind of write.
type Kind int

// The kinds of writes.
const (
	Inserts Kind = iota
	Updates
	Kinds
)

// tagName is the field that names the write of a document.
const tagName = "_plimsoll"

// Mishap is what a world does to a write.
type Mishap int

// The mishaps.
const (
	Fine        Mishap = iota
	Lose               // acknowledged, and not applied
	Recovers           // no answer, and applied
	Drop               // no answer, and not applied
	Refuse             // refused, and not applied
	Resurrect          // refused, and applied nevertheless
	Double             // acknowledged, and applied twice
	Spoil              // acknowledged, and applied with other content
	Delay              // acknowledged, and seen by reads only at the end
	Retried            // told that it exists already, after a hidden retry: the first attempt did it
	Unconfirmed        // w:0
	Overload           // shed
	Hang               // the session does not return
	Displace           // acknowledged, and there only under another _id
	Roll               // acknowledged, and there until everything of that kind is rolled back
	Mishaps            // how many there are
)

// Fate is the truth about one write.
type Fate struct {
	Answer           Answer
	Applied          int
	Spoiled, Copied  bool
	Stale            bool
	Kind             Kind
	Document, Member string // key of the document; "missing" on the member, or ""
	// Torn says that other inserts of its transaction have the other fate.
	Torn bool
}

// Class is what the ledger has to find, in what the final read showed it.
func (w *World) Class(f *Fate) string {
	present := f.Applied > 0 && w.shown(f.Document)
	copied := f.Copied && w.shown(KeyOf("copy of "+f.Document))
	unread := !present && w.Final != nil && w.Final.Broke
	switch {
	case present && f.Spoiled, copied && !present && !unread:
		return record.WriteCorrupt
	case present && (f.Applied > 1 || copied):
		return record.WriteDuplicated
	case present && f.Answer == NotApplied:
		return record.WritePhantom
	case !present && f.Answer == Acknowledged && !unread:
		return record.WriteLost
	case unread && f.Answer != NotApplied:
		return record.WriteNeverRead
	case f.Torn && f.Answer != NotApplied:
		return record.WriteTorn
	case present && f.Stale:
		return record.WriteStale
	case present && f.Member != "":
		return record.WriteDiverged
	case present && f.Answer == Acknowledged:
		return record.WriteOK
	case present:
		return record.WriteRecovered
	case f.Answer == NotApplied:
		return ""
	}
	return record.WriteDropped
}

// World is a target that loses, doubles, delays, damages and resurrects writes, and knows what it did. It reads
// documents with the driver's own parser, not with the one of the ledger.
type World struct {
	Mu       sync.Mutex
	rng      *rand.Rand
	Chances  map[Mishap]float64
	Docs     map[string]bson.D
	hidden   map[string]bool
	Rolling  []func()
	Fates    map[string]*Fate
	inserted map[string]*Fate // by document
	hanging  int
	Hung     chan struct{}
	Loaded   bool // the load phase is over

	Forged map[string]*[Kinds]int64 // writes by document that nobody ever attempted
	Final  *Reader                  // the read that decides; nil stands for one that showed everything
}

// New returns a world in which mishaps happen with the given chances, once Loaded is set.
func New(rng *rand.Rand, chances map[Mishap]float64) *World {
	return &World{rng: rng, Chances: chances, Docs: map[string]bson.D{}, hidden: map[string]bool{},
		Fates: map[string]*Fate{}, inserted: map[string]*Fate{},
		Hung: make(chan struct{}), Forged: map[string]*[Kinds]int64{}}
}

// Expected counts the fates of a world by class.
func (w *World) Expected(k Kind) map[string]int64 {
	out := map[string]int64{}
	for _, f := range w.Fates {
		if class := w.Class(f); f.Kind == k && class != "" {
			out[class]++
		}
	}
	for key, n := range w.Forged {
		if w.shown(key) && n[k] > 0 {
			out[record.WriteUnexpected] += n[k]
		}
	}
	return out
}

// shown reports whether the final read came to a document.
func (w *World) shown(key string) bool { return w.Final == nil || w.Final.Saw[key] }

// choose picks a mishap.
func (w *World) choose() Mishap {
	x := w.rng.Float64()
	for m := Lose; m < Mishaps; m++ {
		if x -= w.Chances[m]; x < 0 {
			return m
		}
	}
	return Fine
}

func (w *World) Session(int) (store.Session, error)                    { return session{w}, nil }
func (w *World) Info(context.Context) (store.Info, error)              { return store.Info{}, nil }
func (w *World) EnsureIndexes(context.Context, []workload.Index) error { return nil }
func (w *World) Count(context.Context, string) (int64, error)          { return int64(len(w.Docs)), nil }
func (w *World) Drop(context.Context, string) error                    { return nil }
func (w *World) Close() error                                          { return nil }
func (session) Close() error                                           { return nil }
func must(err error)                                                   { panicIf(err != nil, err) }
func panicIf(bad bool, why any) {
	if bad {
		panic(why)
	}
}

// Unmarshal reads a document of which the caller knows that it is one.
func Unmarshal(b []byte) (d bson.D) { must(bson.Unmarshal(b, &d)); return d }

// Marshal writes a document.
func Marshal(d bson.D) []byte { b, err := bson.Marshal(d); must(err); return b }

// Field returns a field of a document, nil if it has none of that name.
func Field(d bson.D, name string) any {
	for _, e := range d {
		if e.Key == name {
			return e.Value
		}
	}
	return nil
}

type session struct{ w *World }

func (s session) Do(_ time.Time, req *workload.Request, res *store.Result) {
	w := s.w
	w.Mu.Lock()
	res.Reset()
	res.Attempts, res.Docs = 1, 1
	m := Fine
	switch req.Verb {
	case workload.Find:
		w.find(req, res)
	case workload.Insert:
		m = w.answer(res, len(req.Docs))
		for _, doc := range req.Docs {
			w.Insert(Unmarshal(doc), m)
		}
	case workload.Update:
		m = w.answer(res, len(req.Updates))
		for _, u := range req.Updates {
			w.Update(u, m)
		}
	}
	if m == Hang {
		w.hanging++
	}
	w.Mu.Unlock()
	if m == Hang {
		<-w.Hung
	}
}

// answer chooses what happens and what the client is told.
func (w *World) answer(res *store.Result, n int) Mishap {
	if !w.Loaded {
		return Fine
	}
	m := w.choose()
	switch m {
	case Recovers, Drop:
		res.Fail(store.Indeterminate, store.Network, "connection reset")
	case Refuse, Resurrect:
		res.Fail(store.NotApplied, store.Server, "not primary")
		if n == 1 && w.rng.IntN(2) == 0 {
			res.Outcome = store.Conflict
		}
	case Overload:
		res.Fail(store.Overloaded, store.Server, "shed")
	case Retried:
		res.Attempts = 2
		res.Fail(store.Conflict, store.Server, "duplicate key")
	case Unconfirmed:
		res.Outcome = store.Unacknowledged
	}
	return m
}

// answer is what the client can know after a mishap, and how often the write is applied.
func (m Mishap) answer() (Answer, int) {
	switch m {
	case Lose, Displace:
		return Acknowledged, 0
	case Recovers, Retried, Unconfirmed, Hang:
		return Indeterminate, 1
	case Drop:
		return Indeterminate, 0
	case Refuse, Overload:
		return NotApplied, 0
	case Resurrect:
		return NotApplied, 1
	case Double:
		return Acknowledged, 2
	}
	return Acknowledged, 1
}

// KeyOf is the key of the document with an _id.
func KeyOf(id any) string { return fmt.Sprint(id) }

func (w *World) find(req *workload.Request, res *store.Result) {
	id := Field(Unmarshal(req.Filter), "_id")
	key := KeyOf(id)
	doc, there := w.Docs[key]
	if _, scan := id.(bson.D); scan {
		return
	}
	if !there || w.hidden[key] {
		res.Outcome, res.Docs = store.NotFound, 0
		if f := w.inserted[key]; f != nil {
			f.Stale = true
		}
		return
	}
	res.Doc = Marshal(doc)
}

// Insert does an insert.
func (w *World) Insert(doc bson.D, m Mishap) {
	id := Field(doc, "_id")
	key := KeyOf(id)
	tag, tagged := Field(doc, tagName).(bson.Binary)
	if !tagged {
		w.Docs[key] = doc
		return
	}
	f := &Fate{Document: key, Kind: Inserts}
	f.Answer, f.Applied = m.answer()
	w.inserted[key] = f
	w.Fates[fmt.Sprintf("%s: %x…", tagName, tag.Data[:12])] = f
	if m == Double || m == Displace {
		f.Copied = true
		f.Applied = min(f.Applied, 1)
		other := append(bson.D{{Key: "_id", Value: "copy of " + key}}, doc[1:]...)
		w.Docs[KeyOf("copy of "+key)] = other
	}
	if m == Spoil {
		f.Spoiled = true
		spoilDocument(doc)
	}
	if f.Applied > 0 {
		w.Docs[key] = doc
	}
	w.hidden[key] = m == Delay
	if m == Roll {
		w.Rolling = append(w.Rolling, func() { f.Applied = 0; delete(w.Docs, key) })
	}
}

// spoilDocument changes a bit of the first binary field or string but the tag.
func spoilDocument(doc bson.D) {
	for i := range doc {
		if doc[i].Key == tagName {
			continue
		}
		switch v := doc[i].Value.(type) {
		case bson.Binary:
			data := append([]byte(nil), v.Data...)
			data[len(data)/2] ^= 4
			doc[i].Value = bson.Binary{Subtype: v.Subtype, Data: data}
			return
		case string:
			if doc[i].Key != "_id" {
				doc[i].Value = v + "x"
				return
			}
		}
	}
}

// Update does one statement.
func (w *World) Update(u workload.Statement, m Mishap) {
	id := Field(Unmarshal(u.Filter), "_id")
	key := KeyOf(id)
	change := Unmarshal(u.Update)
	f := &Fate{Document: key, Kind: Updates}
	f.Answer, f.Applied = m.answer()
	name := fmt.Sprintf("update %d", len(w.Fates))
	if oid, own := id.(bson.ObjectID); own {
		name = oid.Hex() + "." + Field(change, "$inc").(bson.D)[0].Key
	}
	w.Fates[name] = f
	if _, there := w.Docs[key]; !there && !u.Upsert {
		f.Applied = 0
		f.Answer = Indeterminate // nothing is updated, and this world does not say so
		w.Fates[name].Answer = f.Answer
	}
	for range f.Applied {
		w.Apply(id, change, 1)
	}
	switch {
	case m == Displace:
		f.Answer, f.Applied = Acknowledged, 0
	case m == Spoil && u.Upsert:
		f.Spoiled = true
		spoilCounter(w.Docs[key], Field(change, "$inc").(bson.D)[0].Key)
	case m == Roll:
		w.Rolling = append(w.Rolling, func() { f.Applied = 0; w.Apply(id, bson.D{{Key: "$inc", Value: Field(change, "$inc")}}, -1) })
	}
}

func spoilCounter(doc bson.D, name string) {
	for i := range doc {
		if doc[i].Key == name {
			doc[i].Value = doc[i].Value.(int64) + 5
		}
	}
}

// Apply applies the operators of a change; increments times by. A counter that comes back to 0 goes.
func (w *World) Apply(id any, change bson.D, by int64) {
	doc, there := w.Docs[KeyOf(id)]
	if !there {
		doc = bson.D{{Key: "_id", Value: id}}
	}
	for _, op := range change {
		for _, e := range op.Value.(bson.D) {
			path := strings.Split(e.Key, ".")
			if op.Key == "$set" {
				doc = set(doc, path, func(any) any { return e.Value })
				continue
			}
			doc = set(doc, path, func(old any) any { return integer(old) + by*integer(e.Value) })
		}
	}
	w.Docs[KeyOf(id)] = doc
}

func integer(v any) int64 {
	switch n := v.(type) {
	case int32:
		return int64(n)
	case int64:
		return n
	}
	return 0
}

// set changes the field at a path and leaves out what becomes the number 0.
func set(doc bson.D, path []string, to func(any) any) bson.D {
	out, found := bson.D{}, false
	for _, e := range append(append(bson.D{}, doc...), bson.E{Key: path[0]}) {
		if e.Key != path[0] {
			out = append(out, e)
			continue
		}
		if found {
			continue
		}
		found = true
		if len(path) > 1 {
			inner, _ := e.Value.(bson.D)
			e.Value = set(inner, path[1:], to)
		} else if e.Value = to(e.Value); e.Value == int64(0) {
			continue
		}
		out = append(out, e)
	}
	return out
}

// Reader is a source over the documents of a world, without some of them and up to a number. It remembers what it
// showed if there is room for that.
type Reader struct {
	Source  string
	W       *World
	Without map[string]bool
	Most    int
	Saw     map[string]bool
	Broke   bool
}

// Name is the name of the source.
func (r *Reader) Name() string { return r.Source }

func (r *Reader) Scan(_ context.Context, _ string, each func([]byte) error) error {
	n := 0
	for key, doc := range r.W.Docs {
		if r.Without[key] {
			continue
		}
		if n++; r.Most > 0 && n > r.Most {
			r.Broke = true
			return fmt.Errorf("the connection broke after %d documents", r.Most)
		}
		if r.Saw != nil {
			r.Saw[key] = true
		}
		if err := each(Marshal(doc)); err != nil {
			return err
		}
	}
	return nil
}

// NewAborter closes abort when n sessions hang, and the returned channel after that.
func NewAborter(w *World, n int, abort chan struct{}) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(abort)
		for deadline := time.Now().Add(10 * time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			w.Mu.Lock()
			hanging := w.hanging
			w.Mu.Unlock()
			if hanging >= n {
				return
			}
		}
	}()
	return done
}
