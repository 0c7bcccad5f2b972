package storetest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// env is the environment of one case.
type env struct {
	*testing.T
	*runner
	session store.Session
	coll    string
	res     store.Result
}

func collectionName(name string) string {
	return "conformance_" + strings.NewReplacer(" ", "_", ",", "").Replace(name)
}

// drop removes the case's collection.
func (e *env) drop() {
	e.Helper()
	// The context of the test has ended during cleanup.
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := e.store.Drop(ctx, e.coll); err != nil {
		e.Fatalf("drop %s: %v", e.coll, err)
	}
}

// do sends req to the case's collection and returns the result, which is valid until the next call.
func (e *env) do(req *workload.Request) *store.Result {
	req.Collection = e.coll
	e.session.Do(time.Now().Add(patience), req, &e.res)
	return &e.res
}

// want is the part of a result that the suite prescribes.
type want struct {
	outcome store.Outcome
	docs    int
}

// expect sends req and compares the outcome and the number of documents.
func (e *env) expect(what string, req *workload.Request, w want) *store.Result {
	e.Helper()
	res := e.do(req)
	if res.Outcome != w.outcome || res.Docs != w.docs {
		e.Errorf("%s: outcome %s with %d documents, want %s with %d\n%s",
			what, res.Outcome, res.Docs, w.outcome, w.docs, describe(res))
	}
	if res.Outcome.Success() && (res.Reason != store.NoReason || res.Code != 0 || res.Message != "") {
		e.Errorf("%s: outcome and reason contradict each other\n%s", what, describe(res))
	}
	return res
}

func describe(r *store.Result) string {
	return fmt.Sprintf("outcome=%s reason=%s code=%d (%s) labels=%v docs=%d attempts=%d message=%q",
		r.Outcome, r.Reason, r.Code, r.CodeName, r.Labels, r.Docs, r.Attempts, r.Message)
}

// count compares the number of documents in the collection.
func (e *env) count(want int64) {
	e.Helper()
	n, err := e.store.Count(e.Context(), e.coll)
	if err != nil || n != want {
		e.Errorf("the collection has %d documents (%v), want %d", n, err, want)
	}
}

// insertAll stores documents, which must succeed.
func (e *env) insertAll(docs ...bson.D) {
	e.Helper()
	for len(docs) > 0 {
		n := min(len(docs), 100)
		if res := e.do(insert(e.T, docs[:n]...)); res.Outcome != store.OK {
			e.Fatalf("insert: %s", describe(res))
		}
		docs = docs[n:]
	}
}

func doc(t testing.TB, d bson.D) []byte {
	t.Helper()
	b, err := bson.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func d(pairs ...any) bson.D {
	out := bson.D{}
	for i := 0; i+1 < len(pairs); i += 2 {
		out = append(out, bson.E{Key: fmt.Sprint(pairs[i]), Value: pairs[i+1]})
	}
	return out
}

func insert(t testing.TB, docs ...bson.D) *workload.Request {
	t.Helper()
	req := &workload.Request{Verb: workload.Insert}
	for _, one := range docs {
		req.Docs = append(req.Docs, doc(t, one))
	}
	return req
}

// read finds one document by its _id.
func read(t testing.TB, id any) *workload.Request {
	t.Helper()
	return &workload.Request{Verb: workload.Find, Filter: doc(t, d("_id", id)), Limit: 1}
}

func update(t testing.TB, statements ...workload.Statement) *workload.Request {
	t.Helper()
	return &workload.Request{Verb: workload.Update, Updates: statements}
}

func statement(t testing.TB, filter, change bson.D) workload.Statement {
	t.Helper()
	return workload.Statement{Filter: doc(t, filter), Update: doc(t, change)}
}

// holds reads the document with the given _id and compares it byte by byte.
func (e *env) holds(id any, want bson.D) {
	e.Helper()
	res := e.expect("read back", read(e.T, id), want1)
	if diff := cmp.Diff(bson.Raw(doc(e.T, want)).String(), bson.Raw(res.Doc).String()); diff != "" {
		e.Errorf("document %v (-want +got):\n%s", id, diff)
	} else if string(res.Doc) != string(doc(e.T, want)) {
		e.Errorf("document %v has other bytes:\ngot  %x\nwant %x", id, res.Doc, doc(e.T, want))
	}
	if res.Bytes != len(res.Doc) {
		e.Errorf("%d bytes counted for a document of %d", res.Bytes, len(res.Doc))
	}
}

var want1 = want{store.OK, 1}
