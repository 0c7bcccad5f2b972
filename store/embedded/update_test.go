package embedded

import (
	"math"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
	"go.mongodb.org/mongo-driver/v2/bson"
)

func TestUpdateOperators(t *testing.T) {
	for _, c := range []struct {
		name              string
		doc, update, want bson.D
		code              int32
	}{
		{name: "set keeps the place", doc: d("_id", 1, "a", 1, "b", 2), update: d("$set", d("a", "x")), want: d("_id", 1, "a", "x", "b", 2)},
		{name: "new fields by name", doc: d("_id", 1), update: d("$set", d("z", 1, "b", 2)), want: d("_id", 1, "b", 2, "z", 1)},
		{name: "nested", doc: d("_id", 1, "a", d("x", 1, "y", 2)), update: d("$set", d("a.y", 3, "a.z.q", 4)),
			want: d("_id", 1, "a", d("x", 1, "y", 3, "z", d("q", 4)))},
		{name: "make the way", doc: d("_id", 1), update: d("$set", d("a.b.c", 1, "a.b.d", 2, "a.x", 3)), want: d("_id", 1, "a", d("b", d("c", 1, "d", 2), "x", 3))},
		{name: "a number as a name", doc: d("_id", 1, "0", 1), update: d("$set", d("0", 2, "1", 3)), want: d("_id", 1, "0", 2, "1", 3)},
		{name: "inc", doc: d("_id", 1, "s", d("a", 5, "r", 0)), update: d("$inc", d("s.a", -2, "s.r", 2)), want: d("_id", 1, "s", d("a", 3, "r", 2))},
		{name: "inc of a missing field", doc: d("_id", 1), update: d("$inc", d("n", 4)), want: d("_id", 1, "n", 4)},
		{name: "inc to a wider type", doc: d("_id", 1, "n", int32(math.MaxInt32)), update: d("$inc", d("n", 1)),
			want: d("_id", 1, "n", int64(math.MaxInt32)+1)},
		{name: "inc by a double", doc: d("_id", 1, "n", 1), update: d("$inc", d("n", 0.5)), want: d("_id", 1, "n", 1.5)},
		{name: "both", doc: d("_id", 1, "n", 1), update: d("$inc", d("n", 1), "$set", d("s", "x")), want: d("_id", 1, "n", 2, "s", "x")},
		{name: "replace", doc: d("_id", 1, "n", 1), update: d("m", 2), want: d("_id", 1, "m", 2)},
		{name: "replace by nothing", doc: d("_id", 1, "n", 1), update: d(), want: d("_id", 1)},
		{name: "the same _id", doc: d("_id", 1), update: d("$set", d("_id", 1, "n", 1)), want: d("_id", 1, "n", 1)},
		{name: "another _id", doc: d("_id", 1), update: d("$set", d("_id", 2)), code: 66},
		{name: "replace the _id", doc: d("_id", 1), update: d("_id", 2), code: 66},
		{name: "through a scalar", doc: d("_id", 1, "a", 1), update: d("$set", d("a.b", 1)), code: 28},
		{name: "name in an array", doc: d("_id", 1, "a", bson.A{}), update: d("$set", d("a.b", 1)), code: 28},
		{name: "conflict", doc: d("_id", 1), update: d("$set", d("a", 1), "$inc", d("a.b", 1)), code: 40},
		{name: "inc of a string", doc: d("_id", 1, "a", "x"), update: d("$inc", d("a", 1)), code: 14},
		{name: "inc beyond 64 bits", doc: d("_id", 1, "a", int64(math.MaxInt64)), update: d("$inc", d("a", 1)), code: 2},
		{name: "empty part", doc: d("_id", 1), update: d("$set", d("a..b", 1)), code: 56},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := newTester(t)
			x.insert(c.doc)
			res := x.do(x.updateReq(d("_id", 1), c.update))
			want := c.want
			if c.code != 0 {
				want = c.doc
			}
			if res.Code != c.code || (c.code != 0) != (res.Outcome == store.Rejected) {
				t.Errorf("outcome %s, code %d (%s), want code %d", res.Outcome, res.Code, res.Message, c.code)
			}
			if diff := cmp.Diff(decode(t, raw(t, want)), x.get(1)); diff != "" {
				t.Errorf("document (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUpsert(t *testing.T) {
	x := newTester(t)
	upsert := func(filter, update bson.D) workload.Request {
		req := x.updateReq(filter, update)
		req.Updates[0].Upsert = true
		return req
	}
	x.expect(store.OK, upsert(d("_id", 1), d("a", 2)))
	x.expect(store.OK, upsert(d("_id", 1), d("$set", d("b", 3))))
	x.expect(store.OK, upsert(d("_id", 2), d("$set", d("k.v", "x"), "$inc", d("c", 1))))
	for id, want := range map[int32]bson.D{
		1: d("_id", int32(1), "a", int32(2), "b", int32(3)), 2: d("_id", int32(2), "c", int32(1), "k", d("v", "x")),
	} {
		if diff := cmp.Diff(want, x.get(id)); diff != "" {
			t.Error(diff)
		}
	}
	if res := x.do(upsert(d("_id", 3), d("$set", d("_id", 4)))); res.Code != 66 {
		t.Errorf("an upsert that changes its _id: %s, code %d, want 66", res.Outcome, res.Code)
	}
	if ids := x.ids(findReq(t, d())); len(ids) != 2 {
		t.Errorf("documents %v, want two", ids)
	}
}

func TestInsertMany(t *testing.T) {
	x := newTester(t)
	many := func(unordered bool, ids ...any) workload.Request {
		req := workload.Request{Verb: workload.Insert, Collection: "c", Unordered: unordered}
		for _, id := range ids {
			req.Docs = append(req.Docs, raw(t, d("_id", id)))
		}
		return req
	}
	if res := x.expect(store.OK, many(false, 1, 2, 3)); res.Docs != 3 {
		t.Errorf("%d documents, want 3", res.Docs)
	}
	for _, c := range []struct {
		unordered bool
		ids       []any
		want      store.Outcome
		docs      int
	}{
		{false, []any{4, 3, 5}, store.Partial, 1},
		{true, []any{5, 3, 6}, store.Partial, 2},
		{true, []any{7, 7, 8}, store.Partial, 2},
		{true, []any{1, 2}, store.Conflict, 0},
		{false, []any{1, 9}, store.Conflict, 0},
		{true, []any{10, bson.A{}, 11}, store.Partial, 2},
		{false, []any{12, bson.A{}, 13}, store.Partial, 1},
	} {
		res := x.expect(c.want, many(c.unordered, c.ids...))
		if res.Docs != c.docs {
			t.Errorf("%v: %d documents inserted, want %d", c.ids, res.Docs, c.docs)
		}
	}
	slicesEqualAny(t, "all", x.ids(findReq(t, d())), []any{1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12})
}

func TestInsertWithoutID(t *testing.T) {
	x := newTester(t)
	x.insert(d("n", 1), d("n", 2))
	x.insert(d("n", 3))
	if ids := x.ids(findReq(t, d())); len(ids) != 3 {
		t.Errorf("%v, want three documents", ids)
	}
}

func TestUpdateMany(t *testing.T) {
	for _, concern := range []store.Concern{{}, journaled()} {
		x := testerOn(t, open(t, t.TempDir(), concern, options{}))
		x.insert(d("_id", 1), d("_id", 2))
		req := workload.Request{Verb: workload.Update, Collection: "c", Updates: []workload.Statement{
			{Filter: raw(t, d("_id", 1)), Update: raw(t, d("$set", d("a", 1)))},
			{Filter: raw(t, d("_id", 3)), Update: raw(t, d("$set", d("a", 3))), Upsert: true},
			{Filter: raw(t, d("_id", 9)), Update: raw(t, d("$set", d("a", 9)))},
			{Filter: raw(t, d("_id", 2)), Update: raw(t, d("$inc", d("_id", 9)))},
			{Filter: raw(t, d("_id", 2)), Update: raw(t, d("$set", d("a", 2)))},
		}}
		if res := x.expect(store.Partial, req); res.Docs != 2 || res.Code != 66 {
			t.Errorf("ordered: %d documents, code %d, want 2 and 66", res.Docs, res.Code)
		}
		req.Unordered = true
		if res := x.expect(store.Partial, req); res.Docs != 3 {
			t.Errorf("unordered: %d documents, want 3", res.Docs)
		}
	}
}

// TestConcurrentIncrements: no increment of a hot document is lost, at any durability, and all index
// entries agree with the document in the end.
func TestConcurrentIncrements(t *testing.T) {
	for _, concern := range []store.Concern{{}, journaled()} {
		st := open(t, t.TempDir(), concern, options{})
		x := testerOn(t, st)
		x.index(d("n", 1))
		x.insert(d("_id", 1, "n", 0))
		const workers, each = 8, 50
		var wg sync.WaitGroup
		for range workers {
			y := testerOn(t, st)
			wg.Go(func() {
				for range each {
					if res := y.do(y.updateReq(d("_id", 1), d("$inc", d("n", 1)))); res.Outcome != store.OK {
						t.Errorf("increment: %s %s", res.Outcome, res.Message)
					}
				}
			})
		}
		wg.Wait()
		if got := x.get(1); got[1].Value != int32(workers*each) {
			t.Errorf("%v, want %d increments", got, workers*each)
		}
		if ids := x.ids(findReq(t, d("n", d("$gte", 0)))); len(ids) != 1 {
			t.Errorf("the index knows %d documents, want 1", len(ids))
		}
	}
}

// TestConcurrentInserts: of several inserts of one _id exactly one succeeds.
func TestConcurrentInserts(t *testing.T) {
	st := open(t, t.TempDir(), store.Concern{}, options{})
	const workers, ids = 8, 200
	var mu sync.Mutex
	won := map[int]int{}
	var wg sync.WaitGroup
	for w := range workers {
		x := testerOn(t, st)
		wg.Go(func() {
			for i := range ids {
				req := insertReq(t, d("_id", i, "w", w))
				req.Unordered = true
				if w%2 == 1 {
					req.Docs = append(req.Docs, raw(t, d("_id", bson.NewObjectID())))
				}
				res := x.do(req)
				if res.Outcome == store.OK {
					mu.Lock()
					won[i]++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	for i := range ids {
		if won[i] != 1 {
			t.Errorf("_id %d was inserted %d times", i, won[i])
		}
	}
}
