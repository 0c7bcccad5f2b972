package embedded

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// in sends a request to another collection.
func in(collection string, req workload.Request) workload.Request {
	req.Collection = collection
	return req
}

// has makes an index of a collection and returns why it cannot.
func (x *tester) has(collection string, keys bson.D, options ...any) error {
	return x.st.EnsureIndexes(context.Background(), []workload.Index{{Collection: collection, Name: fmt.Sprint(keys),
		Keys: raw(x, keys), Options: elementsOf(x, d(options...))}})
}

// refused checks that a write ended with a duplicate key.
func (x *tester) refused(what string, req workload.Request) {
	x.Helper()
	if res := x.do(req); res.Outcome.Success() || res.Code != 11000 {
		x.Errorf("%s: %s with code %d (%s), want a duplicate key", what, res.Outcome, res.Code, res.Message)
	}
}

// No two documents have the same value in a unique index, whichever way the second one is written. A value is free when
// its document is gone or has another one.
func testUnique(x *tester) {
	const u = "unique"
	insert := func(docs ...bson.D) workload.Request { return in(u, insertReq(x, docs...)) }
	set := func(id any, fields ...any) workload.Request {
		return in(u, x.updateReq(d("_id", id), d("$set", d(fields...))))
	}
	x.expect(store.OK, insert(d("_id", 1, "mail", "a", "at", 1), d("_id", 2, "mail", "b", "at", 1), d("_id", 3, "mail", "b")))
	if err := x.has(u, d("mail", 1), "unique", true); err == nil {
		x.Fatal("two documents have the same value in a new unique index")
	}
	x.expect(store.OK, set(3, "mail", "c"))
	if err := x.has(u, d("mail", 1), "unique", true); err != nil {
		x.Fatal(err)
	}
	if x.has(u, d("mail", 1)) == nil {
		x.Error("the index exists already, and is not unique now")
	}
	x.refused("an insert", insert(d("_id", 10, "mail", "a")))
	x.refused("a second document in a batch", insert(d("_id", 10, "mail", "new"), d("_id", 11, "mail", "new")))
	x.refused("an update", set(2, "mail", "a"))
	x.refused("a replacement", in(u, x.updateReq(d("_id", 2), d("mail", "a"))))
	upsert := in(u, x.updateReq(d("_id", 20), d("$set", d("mail", "a"))))
	upsert.Updates[0].Upsert = true
	x.refused("an upsert", upsert)
	x.expect(store.OK, set(2, "mail", "b", "at", 7)) // its own value
	x.expect(store.OK, insert(d("_id", 30, "at", 1)))
	x.refused("a second document without the field", insert(d("_id", 31)))
	x.refused("null beside a document without the field", insert(d("_id", 31, "mail", nil)))
	x.expect(store.OK, set(1, "mail", "was a"))
	x.expect(store.OK, insert(d("_id", 40, "mail", "a")))
	gone := []workload.Statement{{Filter: raw(x, d("_id", 40))}}
	x.expect(store.OK, in(u, workload.Request{Verb: workload.Delete, Updates: gone}))
	x.expect(store.OK, insert(d("_id", 41, "mail", "a")))
	unordered := insert(d("_id", 50, "mail", "a"), d("_id", 51, "mail", "e"), d("_id", 52, "mail", "e"), d("_id", 53, "mail", "f"))
	unordered.Unordered = true
	if res := x.expect(store.Partial, unordered); res.Docs != 2 {
		x.Errorf("an unordered batch stored %d documents, want 2", res.Docs)
	}
	if err := x.has(u, d("tags", 1), "unique", true, "partialFilterExpression", d("on", true)); err != nil {
		x.Fatal(err)
	}
	x.expect(store.OK, insert(d("_id", 60, "mail", "g", "on", true, "tags", bson.A{1, 2, 2}),
		d("_id", 61, "mail", "h", "on", false, "tags", bson.A{2}), d("_id", 62, "mail", "i", "tags", bson.A{2})))
	x.refused("an element of an array", insert(d("_id", 63, "mail", "j", "on", true, "tags", bson.A{3, 2})))
	x.refused("a document that comes into a partial index", set(61, "on", true))
	x.expect(store.OK, set(60, "on", false))
	x.expect(store.OK, set(61, "on", true))
	n, err := x.st.Count(context.Background(), u)
	if err != nil || n != 11 {
		x.Errorf("%d documents (%v), want 11", n, err)
	}
}

// Queries find the same documents whether or not they may use a partial index.
func testPartial(x *tester) {
	const p = "partial"
	if err := x.has(p, d("brand", 1), "partialFilterExpression", d("stock", d("$gt", 0))); err != nil {
		x.Fatal(err)
	}
	if x.has(p, d("brand", 1)) == nil {
		x.Error("the index exists already, and is not complete now")
	}
	if x.has(p, d("stock", 1), "partialFilterExpression", d("stock", d("$ne", 0))) == nil {
		x.Error("a partial index has $ne")
	}
	req := insertReq(x, d("_id", 0, "brand", "x", "stock", 0), d("_id", 1, "brand", "x", "stock", 5), d("_id", 2, "brand", "x"),
		d("_id", 3, "brand", "y", "stock", 5), d("_id", 4, "brand", "x", "stock", "5"), d("_id", 5, "brand", "x", "stock", bson.A{-1, 9}))
	x.expect(store.OK, in(p, req))
	x.expect(store.OK, in(p, x.updateReq(d("_id", 1), d("$inc", d("stock", -4)))))
	for _, c := range []struct {
		filter bson.D
		want   []any
	}{
		{d("brand", "x"), []any{0, 1, 2, 4, 5}},
		{d("brand", "x", "stock", d("$gt", 0)), []any{1, 5}},
		{d("brand", "x", "stock", d("$gte", 0)), []any{0, 1, 5}},
		{d("brand", "x", "stock", d("$lt", 0)), []any{5}},
		{d("brand", "x", "stock", 1), []any{1}},
		{d("brand", "x", "stock", d("$in", bson.A{1, 9})), []any{1, 5}},
		{d("brand", "x", "stock", d("$in", bson.A{1, nil})), []any{1, 2}},
		{d("brand", "x", "stock", nil), []any{2}},
	} {
		find := in(p, findReq(x, c.filter))
		find.Sort = raw(x, d("_id", 1))
		var got []any
		for _, id := range x.ids(find) {
			got = append(got, int(id.(int32)))
		}
		if !slices.Equal(got, c.want) {
			x.Errorf("%v: %v, want %v", c.filter, got, c.want)
		}
	}
}

// A partial index is used only if the filter shows that it has all documents of the result.
func TestPartialIndexIsUsed(t *testing.T) {
	for _, c := range []struct {
		partial, filter bson.D
		used            bool
	}{
		{d("s", d("$gt", 0)), d("b", 1), false},
		{d("s", d("$gt", 0)), d("b", 1, "s", d("$gt", 0)), true},
		{d("s", d("$gt", 0)), d("b", 1, "s", d("$gt", 3)), true},
		{d("s", d("$gt", 0)), d("b", 1, "s", d("$gte", 0)), false},
		{d("s", d("$gt", 0)), d("b", 1, "s", d("$gte", 1)), true},
		{d("s", d("$gte", 0)), d("b", 1, "s", d("$gt", 0)), true},
		{d("s", d("$gt", 0)), d("b", 1, "s", d("$lt", 9)), false},
		{d("s", d("$lte", 9)), d("b", 1, "s", d("$lt", 9)), true},
		{d("s", d("$lt", 9)), d("b", 1, "s", d("$lte", 9)), false},
		{d("s", d("$gt", 0)), d("b", 1, "s", 5), true},
		{d("s", d("$gt", 0)), d("b", 1, "s", 0), false},
		{d("s", d("$gt", 0)), d("b", 1, "s", "text"), false},
		{d("s", d("$gt", 0)), d("b", 1, "s", d("$gt", "text")), false},
		{d("s", d("$gt", 0)), d("b", 1, "s", d("$in", bson.A{1, 2})), true},
		{d("s", d("$gt", 0)), d("b", 1, "s", d("$in", bson.A{1, 0})), false},
		{d("s", d("$gt", 0)), d("b", 1, "s", d("$ne", 0)), false},
		{d("s", d("$gt", 0)), d("b", 1, "other", d("$gt", 0)), false},
		{d("s", "on", "t", 1), d("b", 1, "s", "on"), false},
		{d("s", "on", "t", 1), d("b", 1, "t", 1, "s", "on"), true},
		{d("s", d("$in", bson.A{1, 2})), d("b", 1, "s", 2), true},
		{d("s", d("$in", bson.A{1, 2})), d("b", 1, "s", 3), false},
	} {
		x := newTester(t)
		x.index(d("b", 1), "partialFilterExpression", c.partial)
		var f filter
		if err := f.compile(raw(t, c.filter)); err != nil {
			t.Fatal(err)
		}
		p, _ := choose(x.st.(*embeddedStore).lookup("c"), &f, nil)
		if used := p.index != nil; used != c.used {
			t.Errorf("index of %v, filter %v: used %v, want %v", c.partial, c.filter, used, c.used)
		}
	}
}

// Of writers that give the same value to different documents at the same time, one succeeds.
func TestUniqueUnderConcurrency(t *testing.T) {
	const writers, values = 8, 150
	x := newTester(t)
	x.index(d("v", 1), "unique", true)
	x.insert(func() (docs []bson.D) {
		for w := range writers {
			docs = append(docs, d("_id", w, "v", -1-w))
		}
		return docs
	}()...)
	var won [values]atomic.Int32
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			mine := testerOn(t, x.st)
			for v := range values {
				req := insertReq(t, d("_id", 1000+w*values+v, "v", v))
				switch v % 3 {
				case 1: // as one of several
					req = insertReq(t, d("_id", 1000+w*values+v, "v", v), d("_id", 1000_000+w*values+v, "v", 1000_000+w*values+v))
				case 2:
					req = x.updateReq(d("_id", w), d("$set", d("v", v)))
				}
				if mine.do(req).Outcome.Success() {
					won[v].Add(1)
				}
			}
		})
	}
	all.Wait()
	for v := range won {
		if n := won[v].Load(); v%3 != 2 && n != 1 {
			t.Errorf("%d writers have the value %d", n, v)
		}
	}
	e := x.st.(*embeddedStore)
	if err := e.checkUnique(e.lookup("c"), e.lookup("c").indexes[0]); err != nil {
		t.Error(err)
	}
}

// An index is unique and partial after the store was opened again.
func TestUniqueAfterReopening(t *testing.T) {
	dir := t.TempDir()
	x := testerOn(t, open(t, dir, store.Concern{}, options{}))
	x.index(d("v", 1), "unique", true, "partialFilterExpression", d("on", true))
	x.insert(d("_id", 1, "v", 1, "on", true))
	if err := x.st.Close(); err != nil {
		t.Fatal(err)
	}
	x = testerOn(t, open(t, dir, store.Concern{}, options{}))
	x.refused("a value of before", insertReq(t, d("_id", 2, "v", 1, "on", true)))
	x.insert(d("_id", 3, "v", 1))
}
