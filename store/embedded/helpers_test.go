package embedded

import (
	"context"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// raw encodes a document, given as {name, value} pairs in order.
func raw(t testing.TB, v any) []byte {
	t.Helper()
	b, err := bson.Marshal(v)
	if err != nil {
		t.Fatalf("marshal %v: %v", v, err)
	}
	return b
}

// rawArray encodes an array.
func rawArray(t testing.TB, v any) []byte {
	t.Helper()
	typ, b, err := bson.MarshalValue(v)
	if err != nil || typ != bson.TypeArray {
		t.Fatalf("marshal array %v: %v %v", v, typ, err)
	}
	return b
}

func decode(t testing.TB, doc []byte) bson.D {
	t.Helper()
	var d bson.D
	if doc == nil {
		return nil
	}
	if err := bson.Unmarshal(doc, &d); err != nil {
		t.Fatalf("unmarshal %x: %v", doc, err)
	}
	return d
}

func journaled() store.Concern {
	yes := true
	return store.Concern{W: "1", Journal: &yes}
}

// open opens a store that the test closes at its end.
func open(t testing.TB, dir string, c store.Concern, o options) *embeddedStore {
	t.Helper()
	st, err := openWith(context.Background(), dir, store.Config{Concern: c}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st.(*embeddedStore)
}

// tester sends requests to one store and fails the test where an outcome is not the expected one.
type tester struct {
	testing.TB
	st  store.Store
	s   store.Session
	res store.Result
}

func newTester(t testing.TB) *tester {
	return testerOn(t, open(t, t.TempDir(), store.Concern{}, options{}))
}

func testerOn(t testing.TB, st store.Store) *tester {
	s, err := st.Session(0)
	if err != nil {
		t.Fatal(err)
	}
	return &tester{TB: t, st: st, s: s}
}

func (t *tester) do(req workload.Request) store.Result {
	t.s.Do(time.Now().Add(time.Minute), &req, &t.res)
	return t.res
}

func (t *tester) expect(want store.Outcome, req workload.Request) store.Result {
	t.Helper()
	res := t.do(req)
	if res.Outcome != want {
		t.Fatalf("%s: outcome %s (%s, code %d): %s, want %s", req.Verb, res.Outcome, res.Reason, res.Code, res.Message, want)
	}
	return res
}

func (t *tester) insert(docs ...bson.D) {
	t.Helper()
	t.expect(store.OK, insertReq(t, docs...))
}

func insertReq(t testing.TB, docs ...bson.D) workload.Request {
	t.Helper()
	req := workload.Request{Verb: workload.Insert, Collection: "c"}
	for _, d := range docs {
		req.Docs = append(req.Docs, raw(t, d))
	}
	return req
}

func (t *tester) get(id any) bson.D {
	t.Helper()
	res := t.do(workload.Request{
		Verb: workload.Find, Collection: "c", Filter: raw(t, d("_id", id)), Limit: 1, MayBeEmpty: true,
	})
	return decode(t, res.Doc)
}

func (t *tester) updateReq(filter, update bson.D) workload.Request {
	return workload.Request{Verb: workload.Update, Collection: "c", Updates: []workload.Statement{
		{Filter: raw(t, filter), Update: raw(t, update)},
	}}
}

// ids runs a find or a pipeline once for each position, because a result shows only its first
// document, and returns the _id of all documents in order.
func (t *tester) ids(req workload.Request) []any {
	t.Helper()
	req.MayBeEmpty = true
	total := t.expect(store.OK, req).Docs
	var out []any
	for i := range total {
		one := req
		one.Skip, one.Limit = req.Skip+int64(i), 1
		res := t.expect(store.OK, one)
		out = append(out, decode(t, res.Doc)[0].Value)
	}
	return out
}

func marshal(v any) ([]byte, error) { return bson.Marshal(v) }
