package storetest

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// The rules in this file: the result of a batch counts the applied documents.

// numbered makes n documents with _id from first on.
func numbered(first, n int) []bson.D {
	docs := make([]bson.D, n)
	for i := range docs {
		docs[i] = d("_id", int32(first+i), "n", int32(first+i))
	}
	return docs
}

func testInsertBatch(e *env) {
	req := insert(e.T, numbered(0, 250)...)
	size := 0
	for _, one := range req.Docs {
		size += len(one)
	}
	if res := e.expect("batch in order", req, want{store.OK, 250}); res.Bytes != size || res.Attempts != 1 {
		e.Errorf("%d bytes in %d attempts, want %d in 1", res.Bytes, res.Attempts, size)
	}
	req = insert(e.T, numbered(250, 250)...)
	req.Unordered = true
	e.expect("batch out of order", req, want{store.OK, 250})
	e.count(500)
	e.holds(int32(499), d("_id", int32(499), "n", int32(499)))
}

func testOrderedDuplicates(e *env) {
	e.insertAll(d("_id", int32(3)))
	res := e.expect("batch with a duplicate in the middle", insert(e.T, numbered(0, 6)...), want{store.Partial, 3})
	e.duplicate(res)
	e.count(4) // 0, 1, 2 and the one before
	res = e.expect("batch that begins with a duplicate", insert(e.T, numbered(3, 4)...), want{store.Conflict, 0})
	e.duplicate(res)
	e.count(4)
}

func testUnorderedDuplicates(e *env) {
	e.insertAll(d("_id", int32(3)), d("_id", int32(4)))
	req := insert(e.T, numbered(0, 6)...)
	req.Unordered = true
	e.duplicate(e.expect("batch with two duplicates", req, want{store.Partial, 4}))
	e.count(6)
	e.duplicate(e.expect("batch of duplicates", req, want{store.Conflict, 0}))
	e.count(6)
}

func testConflict(e *env) {
	e.insertAll(d("_id", "k", "a", int32(1)))
	e.duplicate(e.expect("insert of a key that is there", insert(e.T, d("_id", "k", "a", int32(2))), want{store.Conflict, 0}))
	e.holds("k", d("_id", "k", "a", int32(1)))
}

// duplicate checks the result for an existing key.
func (e *env) duplicate(res *store.Result) {
	e.Helper()
	if res.Code != 11000 || res.CodeName != "DuplicateKey" || res.Reason != store.Server || res.Message == "" {
		e.Errorf("a duplicate is reported as %s", describe(res))
	}
}

func testUpdateBatch(e *env) {
	e.insertAll(numbered(0, 5)...)
	set := func(id int32) workload.Statement {
		return statement(e.T, d("_id", id), d("$set", d("n", int32(-1))))
	}
	e.expect("all match", update(e.T, set(0), set(1), set(2)), want{store.OK, 3})
	e.expect("mixed with a replacement", update(e.T, set(3), statement(e.T, d("_id", int32(4)), d("r", true))), want{store.OK, 2})
	e.holds(int32(3), d("_id", int32(3), "n", int32(-1)))
	e.holds(int32(4), d("_id", int32(4), "r", true))
	e.expect("one misses", update(e.T, set(0), set(77), set(1)), want{store.Partial, 2})
	e.expect("all miss", update(e.T, set(77), set(78)), want{store.NotFound, 0})
	loose := update(e.T, set(77), set(2))
	loose.Unordered, loose.MayBeEmpty = true, true
	e.expect("one misses, where that is an answer", loose, want{store.OK, 1})
}

func testRejected(e *env) {
	e.insertAll(d("_id", "k", "s", "text"))
	for what, change := range map[string]bson.D{
		"unknown operator":     d("$nonsense", d("a", 1)),
		"increment of a text":  d("$inc", d("s", 1)),
		"change of the key":    d("$set", d("_id", "other")),
		"replacement of a key": d("_id", "other", "s", 1),
	} {
		res := e.do(update(e.T, statement(e.T, d("_id", "k"), change)))
		if res.Outcome != store.Rejected || res.Message == "" {
			e.Errorf("%s: %s, want rejected", what, describe(res))
		}
	}
	res := e.do(&workload.Request{Verb: workload.Find, Filter: doc(e.T, d("a", d("$nonsense", 1))), Limit: 1})
	if res.Outcome != store.Rejected || res.Message == "" {
		e.Errorf("unknown filter operator: %s, want rejected", describe(res))
	}
	e.holds("k", d("_id", "k", "s", "text"))
}
