package ledger

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

// mishap is what a world does to a write.
type mishap int

const (
	fine         mishap = iota
	lose                // acknowledged, and not applied
	recovers            // no answer, and applied
	drop                // no answer, and not applied
	refuse              // refused, and not applied
	resurrect           // refused, and applied nevertheless
	double              // acknowledged, and applied twice
	spoil               // acknowledged, and applied with other content
	delay               // acknowledged, and seen by reads only at the end
	retried             // told that it exists already, after a hidden retry: the first attempt did it
	unconfirmed         // w:0
	overload            // shed
	hang                // the session does not return
	displace            // acknowledged, and there only under another _id
	roll                // acknowledged, and there until everything of that kind is rolled back
	mishapsTotal        // how many there are
)

// fate is the truth about one write.
type fate struct {
	told             state
	applied          int
	spoiled, copied  bool
	stale            bool
	kind             kind
	document, member string // key of the document; "missing" on the member, or ""
}

// class is what the ledger has to find, in what the final read showed it.
func (w *world) class(f *fate) string {
	present := f.applied > 0 && w.shown(f.document)
	copied := f.copied && w.shown(keyOf("copy of "+f.document))
	unread := !present && w.final != nil && w.final.broke
	switch {
	case present && f.spoiled, copied && !present && !unread:
		return record.WriteCorrupt
	case present && (f.applied > 1 || copied):
		return record.WriteDuplicated
	case present && f.told == notApplied:
		return record.WritePhantom
	case unread && f.told != notApplied:
		return record.WriteNeverRead
	case !present && f.told == acknowledged:
		return record.WriteLost
	case present && f.stale:
		return record.WriteStale
	case present && f.member != "":
		return record.WriteDiverged
	case present && f.told == acknowledged:
		return record.WriteOK
	case present:
		return record.WriteRecovered
	case f.told == notApplied:
		return ""
	}
	return record.WriteDropped
}

// world is a target that loses, doubles, delays, damages and resurrects writes, and knows what it did. It reads
// documents with the driver's own parser, not with the one of the ledger.
type world struct {
	mu       sync.Mutex
	rng      *rand.Rand
	chances  map[mishap]float64
	docs     map[string]bson.D
	hidden   map[string]bool
	rolling  []func()
	fates    map[string]*fate
	inserted map[string]*fate // by document
	hanging  int
	hung     chan struct{}
	loaded   bool // the load phase is over

	forged map[string]*[kinds]int64 // writes by document that nobody ever attempted
	final  *reader                  // the read that decides; nil stands for one that showed everything
}

func newWorld(rng *rand.Rand, chances map[mishap]float64) *world {
	return &world{rng: rng, chances: chances, docs: map[string]bson.D{}, hidden: map[string]bool{},
		fates: map[string]*fate{}, inserted: map[string]*fate{},
		hung: make(chan struct{}), forged: map[string]*[kinds]int64{}}
}

// shown reports whether the final read came to a document.
func (w *world) shown(key string) bool { return w.final == nil || w.final.saw[key] }

// choose picks a mishap.
func (w *world) choose() mishap {
	x := w.rng.Float64()
	for m := lose; m < mishapsTotal; m++ {
		if x -= w.chances[m]; x < 0 {
			return m
		}
	}
	return fine
}

func (w *world) Session(int) (store.Session, error)                    { return session{w}, nil }
func (w *world) Info(context.Context) (store.Info, error)              { return store.Info{}, nil }
func (w *world) EnsureIndexes(context.Context, []workload.Index) error { return nil }
func (w *world) Count(context.Context, string) (int64, error)          { return int64(len(w.docs)), nil }
func (w *world) Drop(context.Context, string) error                    { return nil }
func (w *world) Close() error                                          { return nil }
func (session) Close() error                                           { return nil }
func must(err error)                                                   { panicIf(err != nil, err) }
func panicIf(bad bool, why any) {
	if bad {
		panic(why)
	}
}
func unmarshal(b []byte) (d bson.D) { must(bson.Unmarshal(b, &d)); return d }
func marshal(d bson.D) []byte       { b, err := bson.Marshal(d); must(err); return b }
func field(d bson.D, name string) any {
	for _, e := range d {
		if e.Key == name {
			return e.Value
		}
	}
	return nil
}

type session struct{ w *world }

// Do implements [store.Session].
func (s session) Do(_ time.Time, req *workload.Request, res *store.Result) {
	w := s.w
	w.mu.Lock()
	res.Reset()
	res.Attempts, res.Docs = 1, 1
	m := fine
	switch req.Verb {
	case workload.Find:
		w.find(req, res)
	case workload.Insert:
		m = w.answer(res, len(req.Docs))
		for _, doc := range req.Docs {
			w.insert(unmarshal(doc), m)
		}
	case workload.Update:
		m = w.answer(res, len(req.Updates))
		for _, u := range req.Updates {
			w.update(u, m)
		}
	}
	if m == hang {
		w.hanging++
	}
	w.mu.Unlock()
	if m == hang {
		<-w.hung
	}
}

// answer chooses what happens and what the client is told.
func (w *world) answer(res *store.Result, n int) mishap {
	if !w.loaded {
		return fine
	}
	m := w.choose()
	switch m {
	case recovers, drop:
		res.Fail(store.Indeterminate, store.Network, "connection reset")
	case refuse, resurrect:
		res.Fail(store.NotApplied, store.Server, "not primary")
		if n == 1 && w.rng.IntN(2) == 0 {
			res.Outcome = store.Conflict
		}
	case overload:
		res.Fail(store.Overloaded, store.Server, "shed")
	case retried:
		res.Attempts = 2
		res.Fail(store.Conflict, store.Server, "duplicate key")
	case unconfirmed:
		res.Outcome = store.Unacknowledged
	}
	return m
}

// told is what the client can know after a mishap, and how often the write is applied.
func (m mishap) told() (state, int) {
	switch m {
	case lose, displace:
		return acknowledged, 0
	case recovers, retried, unconfirmed, hang:
		return indeterminate, 1
	case drop:
		return indeterminate, 0
	case refuse, overload:
		return notApplied, 0
	case resurrect:
		return notApplied, 1
	case double:
		return acknowledged, 2
	}
	return acknowledged, 1
}

func keyOf(id any) string { return fmt.Sprint(id) }

func (w *world) find(req *workload.Request, res *store.Result) {
	id := field(unmarshal(req.Filter), "_id")
	key := keyOf(id)
	doc, there := w.docs[key]
	if _, scan := id.(bson.D); scan {
		return
	}
	if !there || w.hidden[key] {
		res.Outcome, res.Docs = store.NotFound, 0
		if f := w.inserted[key]; f != nil {
			f.stale = true
		}
		return
	}
	res.Doc = marshal(doc)
}

// insert does an insert.
func (w *world) insert(doc bson.D, m mishap) {
	id := field(doc, "_id")
	key := keyOf(id)
	tag, tagged := field(doc, tagName).(bson.Binary)
	if !tagged {
		w.docs[key] = doc
		return
	}
	f := &fate{document: key, kind: inserts}
	f.told, f.applied = m.told()
	w.inserted[key] = f
	w.fates[fmt.Sprintf("%s: %x…", tagName, tag.Data[:12])] = f
	if m == double || m == displace {
		f.copied = true
		f.applied = min(f.applied, 1)
		other := append(bson.D{{Key: "_id", Value: "copy of " + key}}, doc[1:]...)
		w.docs[keyOf("copy of "+key)] = other
	}
	if m == spoil {
		f.spoiled = true
		spoilDocument(doc)
	}
	if f.applied > 0 {
		w.docs[key] = doc
	}
	w.hidden[key] = m == delay
	if m == roll {
		w.rolling = append(w.rolling, func() { f.applied = 0; delete(w.docs, key) })
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

// update does one statement.
func (w *world) update(u workload.Statement, m mishap) {
	id := field(unmarshal(u.Filter), "_id")
	key := keyOf(id)
	change := unmarshal(u.Update)
	f := &fate{document: key, kind: updates}
	f.told, f.applied = m.told()
	name := fmt.Sprintf("update %d", len(w.fates))
	if oid, own := id.(bson.ObjectID); own {
		name = oid.Hex() + "." + field(change, "$inc").(bson.D)[0].Key
	}
	w.fates[name] = f
	if _, there := w.docs[key]; !there && !u.Upsert {
		f.applied = 0
		f.told = indeterminate // nothing is updated, and this world does not say so
		w.fates[name].told = f.told
	}
	for range f.applied {
		w.apply(id, change, 1)
	}
	switch {
	case m == displace:
		f.told, f.applied = acknowledged, 0
	case m == spoil && u.Upsert:
		f.spoiled = true
		spoilCounter(w.docs[key], field(change, "$inc").(bson.D)[0].Key)
	case m == roll:
		w.rolling = append(w.rolling, func() { f.applied = 0; w.apply(id, bson.D{{Key: "$inc", Value: field(change, "$inc")}}, -1) })
	}
}

func spoilCounter(doc bson.D, name string) {
	for i := range doc {
		if doc[i].Key == name {
			doc[i].Value = doc[i].Value.(int64) + 5
		}
	}
}

// apply applies the operators of a change; increments times by. A counter that comes back to 0 goes.
func (w *world) apply(id any, change bson.D, by int64) {
	doc, there := w.docs[keyOf(id)]
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
	w.docs[keyOf(id)] = doc
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

// reader is a source over the documents of a world, without some of them and up to a number. It remembers what it
// showed if there is room for that.
type reader struct {
	name    string
	w       *world
	without map[string]bool
	most    int
	saw     map[string]bool
	broke   bool
}

func (r *reader) Name() string { return r.name }

// Scan implements [Source].
func (r *reader) Scan(_ context.Context, _ string, each func([]byte) error) error {
	n := 0
	for key, doc := range r.w.docs {
		if r.without[key] {
			continue
		}
		if n++; r.most > 0 && n > r.most {
			r.broke = true
			return fmt.Errorf("the connection broke after %d documents", r.most)
		}
		if r.saw != nil {
			r.saw[key] = true
		}
		if err := each(marshal(doc)); err != nil {
			return err
		}
	}
	return nil
}

// newAborter closes abort when n sessions hang, and the returned channel after that.
func newAborter(w *world, n int, abort chan struct{}) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(abort)
		for deadline := time.Now().Add(10 * time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			w.mu.Lock()
			hanging := w.hanging
			w.mu.Unlock()
			if hanging >= n {
				return
			}
		}
	}()
	return done
}
