package storetest

import (
	"fmt"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// The rules in this file: queries return the right documents in the right order.

// aggregate makes a request of pipeline stages.
func aggregate(t testing.TB, stages ...bson.D) *workload.Request {
	t.Helper()
	values := make([]bsoncore.Value, len(stages))
	for i, s := range stages {
		values[i] = bsoncore.Value{Type: bsoncore.TypeEmbeddedDocument, Data: doc(t, s)}
	}
	return &workload.Request{Verb: workload.Aggregate, Pipeline: bsoncore.BuildArray(nil, values...), MayBeEmpty: true}
}

// find makes a request for the documents that match.
func find(t testing.TB, filter bson.D, limit int64) *workload.Request {
	t.Helper()
	return &workload.Request{Verb: workload.Find, Filter: doc(t, filter), Limit: limit, MayBeEmpty: true}
}

// firstIs compares a field of the first document returned.
func (e *env) firstIs(what string, res *store.Result, field string, want any) {
	e.Helper()
	var got any
	if v, err := bson.Raw(res.Doc).LookupErr(field); err == nil {
		_ = v.Unmarshal(&got) // what cannot be decoded stays nil and differs
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		e.Errorf("%s: the first document has %s = %v, want %v", what, field, got, want)
	}
}

func testScan(e *env) {
	docs := make([]bson.D, 400)
	for i := range docs {
		docs[i] = d("_id", fmt.Sprintf("user%04d", i), "field0", make([]byte, 100))
	}
	e.insertAll(docs...)
	size := len(doc(e.T, docs[0]))
	scan := find(e.T, d("_id", d("$gte", "user0020")), 350)
	scan.Sort = doc(e.T, d("_id", int32(1)))
	for _, limit := range []int{2, 100, 101, 102, 203, 350} {
		scan.Limit = int64(limit)
		res := e.expect(fmt.Sprintf("scan of %d", limit), scan, want{store.OK, limit})
		e.firstIs("scan", res, "_id", "user0020")
		if res.Bytes != limit*size || res.Attempts != 1 {
			e.Errorf("scan of %d: %d bytes in %d attempts, want %d in 1", limit, res.Bytes, res.Attempts, limit*size)
		}
	}
	scan.Limit = 1000
	e.expect("scan past the end", scan, want{store.OK, 380})
	scan.Skip, scan.Limit = 349, 1
	e.firstIs("350th document", e.expect("skip", scan, want1), "_id", "user0369")
	e.expect("all documents", find(e.T, d(), 0), want{store.OK, 400})
	between := find(e.T, d("_id", d("$gte", "user0010", "$lt", "user0020")), 0)
	e.firstIs("range", e.expect("range", between, want{store.OK, 10}), "_id", "user0010")
}

func testProjection(e *env) {
	e.insertAll(d("_id", "k", "a", int32(1), "b", int32(2), "c", d("x", int32(3), "y", int32(4))))
	for _, c := range []struct{ projection, want bson.D }{
		{d("a", int32(1)), d("_id", "k", "a", int32(1))},
		{d("c", int32(1), "b", int32(1)), d("_id", "k", "b", int32(2), "c", d("x", int32(3), "y", int32(4)))},
		{d("_id", int32(1)), d("_id", "k")},
		{d("none", int32(1)), d("_id", "k")},
	} {
		req := read(e.T, "k")
		req.Projection = doc(e.T, c.projection)
		res := e.expect("projection", req, want1)
		if got, wanted := bson.Raw(res.Doc).String(), bson.Raw(doc(e.T, c.want)).String(); got != wanted {
			e.Errorf("projection %v gave %s, want %s", c.projection, got, wanted)
		}
	}
	many := find(e.T, d(), 5)
	many.Projection = doc(e.T, d("b", int32(1)))
	if res := e.expect("projection of a scan", many, want1); res.Bytes != len(doc(e.T, d("_id", "k", "b", int32(2)))) {
		e.Errorf("a scan with projection returned %v", bson.Raw(res.Doc))
	}
}

func testSecondaryIndex(e *env) {
	e.insertAll(d("_id", int32(0), "address", d("city", "Wien")), d("_id", int32(1)))
	e.ensure(index(e.T, e.coll, d("address.city", int32(1))), index(e.T, e.coll, d("tags", int32(1))), index(e.T, e.coll, d("price", int32(1))))
	for i := range 60 {
		e.insertAll(d("_id", int32(10+i), "address", d("city", fmt.Sprintf("City%d", i%6), "zip", int32(i)),
			"tags", bson.A{fmt.Sprintf("t%d", i%4), "all"}, "price", float64(i)/2))
	}
	e.expect("dotted path", find(e.T, d("address.city", "City3"), 0), want{store.OK, 10})
	e.expect("dotted path, document from before the index", find(e.T, d("address.city", "Wien"), 0), want1)
	e.expect("element of an array", find(e.T, d("tags", "t1"), 0), want{store.OK, 15})
	e.expect("common element, limited", find(e.T, d("tags", "all"), 7), want{store.OK, 7})
	e.expect("nothing", find(e.T, d("tags", "t9"), 0), want{store.OK, 0})
	prices := find(e.T, d("price", d("$gte", 10.0, "$lt", 15.0)), 0)
	prices.Sort = doc(e.T, d("price", int32(1)))
	e.firstIs("range", e.expect("range over an index", prices, want{store.OK, 10}), "_id", 30)
	e.expect("two conditions", find(e.T, d("address.city", "City3", "tags", "t1"), 0), want{store.OK, 5})
	// The index must follow changes.
	e.expect("move", update(e.T, statement(e.T, d("_id", int32(13)), d("$set", d("address.city", "Moved")))), want1)
	e.expect("moved away", find(e.T, d("address.city", "City3"), 0), want{store.OK, 9})
	e.expect("moved to", find(e.T, d("address.city", "Moved"), 0), want1)
}

func testSort(e *env) {
	for i := range 30 {
		e.insertAll(d("_id", int32(i), "group", int32(i%3), "rank", int32((i*7)%30)))
	}
	e.ensure(index(e.T, e.coll, d("rank", int32(1))))
	req := find(e.T, d(), 5)
	req.Sort = doc(e.T, d("rank", int32(1)))
	e.firstIs("ascending", e.expect("ascending", req, want{store.OK, 5}), "rank", 0)
	req.Skip = 27
	e.firstIs("ascending, skipped", e.expect("ascending, skipped", req, want{store.OK, 3}), "rank", 27)
	req.Skip, req.Sort = 0, doc(e.T, d("rank", int32(-1)))
	e.firstIs("descending", e.expect("descending", req, want{store.OK, 5}), "rank", 29)
	req.Skip = 27
	e.firstIs("descending, skipped", e.expect("descending, skipped", req, want{store.OK, 3}), "rank", 2)
	req.Skip = 30
	e.expect("everything skipped", req, want{store.OK, 0})
	req.Skip, req.Sort = 10, doc(e.T, d("group", int32(-1), "rank", int32(1)))
	res := e.expect("two fields", req, want{store.OK, 5})
	e.firstIs("two fields", res, "group", 1) // the ten of group 2 were skipped
	req.Skip, req.Limit = 0, 1
	e.firstIs("one", e.expect("one document", req, want1), "group", 2)
}

func testAggregate(e *env) {
	for i := range 40 {
		e.insertAll(d("_id", int32(i), "category", fmt.Sprintf("c%d", i%2), "brand", fmt.Sprintf("b%d", i%8), "price", float64(i)))
	}
	// Category c0 has the brands b0, b2, b4, b6 with five products each; b2 has 2, 10, 18, 26, 34.
	res := e.expect("group", aggregate(e.T,
		d("$match", d("category", "c0")),
		d("$group", d("_id", "$brand", "n", d("$sum", int32(1)), "total", d("$sum", "$price"), "mean", d("$avg", "$price"))),
		d("$sort", d("n", int32(-1), "mean", int32(-1))),
		d("$limit", int32(3))), want{store.OK, 3})
	e.firstIs("group", res, "_id", "b6")
	e.firstIs("group", res, "n", 5)
	e.firstIs("group", res, "total", 110)
	e.firstIs("group", res, "mean", 22)
	count := []bson.D{d("$match", d()), d("$group", d("_id", int32(1), "n", d("$sum", int32(1))))}
	e.firstIs("count", e.expect("count", aggregate(e.T, count...), want1), "n", 40)
	nothing := aggregate(e.T, d("$match", d("category", "none")), count[1])
	e.expect("count of nothing", nothing, want{store.OK, 0})
	nothing.MayBeEmpty = false
	e.expect("count of nothing, where something is expected", nothing, want{store.NotFound, 0})
	e.expect("more than one batch", aggregate(e.T, d("$match", d("category", "c1")), d("$group", d("_id", "$price"))), want{store.OK, 20})
	bad := e.do(aggregate(e.T, d("$nonsense", d())))
	if bad.Outcome != store.Rejected {
		e.Errorf("unknown stage: %s, want rejected", describe(bad))
	}
}

func testCountDrop(e *env) {
	e.count(0)
	e.drop() // there is nothing to drop
	e.insertAll(numbered(0, 130)...)
	e.count(130)
	e.drop()
	e.count(0)
	e.expect("read after the drop", read(e.T, int32(1)), want{store.NotFound, 0})
	e.insertAll(numbered(0, 1)...)
	e.count(1)
}

func testIndexesTwice(e *env) {
	ix := index(e.T, e.coll, d("a", int32(1)))
	for range 2 {
		e.ensure(ix)
	}
	e.insertAll(d("_id", int32(1), "a", int32(5)))
	e.ensure(ix)
	e.expect("find", find(e.T, d("a", int32(5)), 0), want1)
	if err := e.store.EnsureIndexes(e.Context(), nil); err != nil {
		e.Errorf("no indexes: %v", err)
	}
	e.drop()
	e.ensure(ix) // a drop takes the indexes along
	e.insertAll(d("_id", int32(2), "a", int32(5)))
	e.expect("find after a drop", find(e.T, d("a", int32(5)), 0), want1)
}

// ensure creates indexes, which must succeed.
func (e *env) ensure(indexes ...workload.Index) {
	e.Helper()
	if err := e.store.EnsureIndexes(e.Context(), indexes); err != nil {
		e.Fatalf("indexes: %v", err)
	}
}

// index describes an index over the given keys.
func index(t testing.TB, coll string, keys bson.D) workload.Index {
	t.Helper()
	return workload.Index{Collection: coll, Name: keys[0].Key + "_1", Keys: doc(t, keys)}
}
