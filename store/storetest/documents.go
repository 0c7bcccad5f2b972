package storetest

import (
	"math"
	"math/rand/v2"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// The rules in this file: reads return the written documents byte by byte.

func testInsertRead(e *env) {
	record := d("_id", "user6284781860667377211", "field1", []byte("value one"), "field0", []byte{0, 1, 2, 255})
	res := e.expect("insert", insert(e.T, record), want1)
	if res.Bytes != len(doc(e.T, record)) || res.Attempts != 1 || res.Doc != nil {
		e.Errorf("insert: %d bytes, %d attempts, document %x", res.Bytes, res.Attempts, res.Doc)
	}
	e.holds("user6284781860667377211", record)
	e.count(1)
}

func testTypes(e *env) {
	id := bson.ObjectID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	decimal, err := bson.ParseDecimal128("-123.4567890123456789e10")
	if err != nil {
		e.Fatal(err)
	}
	all := d("_id", id,
		"double", 3.25, "negative zero", math.Copysign(0, -1), "infinity", math.Inf(1), "nan", math.NaN(),
		"string", "text", "document", d("a", d("b", int32(1))), "array", bson.A{int32(1), "two", bson.A{}, d()},
		"binary", bson.Binary{Subtype: 0, Data: []byte{0, 1}}, "uuid", bson.Binary{Subtype: 4, Data: make([]byte, 16)},
		"true", true, "false", false, "date", bson.DateTime(1_700_000_000_123), "old date", bson.DateTime(-1),
		"null", nil, "int32", int32(-5), "int64", int64(math.MaxInt64), "small int64", int64(1), "decimal", decimal)
	if !e.caps.CommonTypes {
		all = append(all, d("regex", bson.Regex{Pattern: "^a.*", Options: "i"}, "code", bson.JavaScript("x=1"),
			"timestamp", bson.Timestamp{T: 5, I: 6}, "min", bson.MinKey{}, "max", bson.MaxKey{},
			"custom", bson.Binary{Subtype: 0x80, Data: []byte{9}},
			"scope", bson.CodeWithScope{Code: "y", Scope: d("y", int32(1))})...)
	}
	e.insertAll(all)
	e.holds(id, all)
}

func testUnusual(e *env) {
	for _, one := range []bson.D{
		d("_id", ""),
		d("_id", "schlüssel-键-🔑", "größe", "naïve ☃", "🚢", d("水線", "✓")),
		d("_id", d("compound", int32(1), "key", "x"), "a", bson.A{}),
		d("_id", int64(7), "empty", d(), "zero bytes", []byte{}, "text with zero", "a\x00b"),
		d("_id", bson.DateTime(12), "deep", d("a", d("b", d("c", d("d", bson.A{d("e", bson.A{bson.A{int32(1)}})}))))),
		d("_id", true, "first", 1.5, "second", int32(2)),
	} {
		e.insertAll(one)
		e.holds(one[0].Value, one)
	}
	// Equal numbers of different types are the same key.
	e.expect("read int64 key by int32", read(e.T, int32(7)), want1)
	e.expect("read int64 key by double", read(e.T, 7.0), want1)
}

func testLarge(e *env) {
	size := e.caps.MaxDocument
	if size == 0 {
		size = 5_000_000
	}
	value := make([]byte, size-100)
	rng := rand.NewChaCha8([32]byte{1})
	if _, err := rng.Read(value); err != nil {
		e.Fatal(err)
	}
	big := d("_id", "big", "value", value)
	e.insertAll(big)
	e.holds("big", big)
}

func testMissing(e *env) {
	e.insertAll(d("_id", "there"))
	missing := read(e.T, "not there")
	if res := e.expect("read of a missing document", missing, want{store.NotFound, 0}); res.Doc != nil || res.Bytes != 0 {
		e.Errorf("it returned %x", res.Doc)
	}
	missing.MayBeEmpty = true
	e.expect("the same where nothing is an answer", missing, want{store.OK, 0})
	scan := &workload.Request{Verb: workload.Find, Filter: doc(e.T, d("_id", d("$gte", "z"))), Limit: 10}
	e.expect("empty scan", scan, want{store.NotFound, 0})
	scan.MayBeEmpty = true
	e.expect("empty scan where nothing is an answer", scan, want{store.OK, 0})
	scan.Collection = "" // set by do
	e.drop()
	e.expect("scan of a collection that does not exist", scan, want{store.OK, 0})
}

func testSet(e *env) {
	e.insertAll(d("_id", "k", "a", "one", "b", []byte("two"), "c", d("x", int32(1))))
	e.expect("set", update(e.T, statement(e.T, d("_id", "k"), d("$set", d("b", []byte("2"))))), want1)
	e.holds("k", d("_id", "k", "a", "one", "b", []byte("2"), "c", d("x", int32(1))))
	e.expect("set of other types and a new field", update(e.T, statement(e.T, d("_id", "k"), d("$set", d("a", int64(1), "new", true)))), want1)
	e.holds("k", d("_id", "k", "a", int64(1), "b", []byte("2"), "c", d("x", int32(1)), "new", true))
	e.expect("set of a dotted path", update(e.T, statement(e.T, d("_id", "k"), d("$set", d("c.x", int32(2), "c.y", "z")))), want1)
	e.holds("k", d("_id", "k", "a", int64(1), "b", []byte("2"), "c", d("x", int32(2), "y", "z"), "new", true))
	e.expect("set that changes nothing", update(e.T, statement(e.T, d("_id", "k"), d("$set", d("new", true)))), want1)
	e.count(1)
}

func testInc(e *env) {
	e.insertAll(d("_id", "k", "i", int32(1), "l", int64(math.MaxInt32), "f", 0.5, "s", d("n", int32(5))))
	e.expect("inc", update(e.T, statement(e.T, d("_id", "k"),
		d("$inc", d("i", int32(-2), "l", int32(1), "f", 1.0, "s.n", int32(1), "new", int32(7))))), want1)
	e.holds("k", d("_id", "k", "i", int32(-1), "l", int64(math.MaxInt32)+1, "f", 1.5, "s", d("n", int32(6)), "new", int32(7)))
}

func testUpdateMissing(e *env) {
	change := update(e.T, statement(e.T, d("_id", "no"), d("$set", d("a", 1))))
	e.expect("update of a missing document", change, want{store.NotFound, 0})
	change.MayBeEmpty = true
	e.expect("the same where nothing is an answer", change, want{store.OK, 0})
	replace := update(e.T, statement(e.T, d("_id", "no"), d("a", 1)))
	e.expect("replacement of a missing document", replace, want{store.NotFound, 0})
	e.count(0)
}

func testReplace(e *env) {
	e.insertAll(d("_id", "k", "a", 1, "b", 2))
	e.expect("replace", update(e.T, statement(e.T, d("_id", "k"), d("_id", "k", "c", int32(3)))), want1)
	e.holds("k", d("_id", "k", "c", int32(3)))
	e.expect("replace without naming _id", update(e.T, statement(e.T, d("_id", "k"), d("z", int32(1), "y", int32(2)))), want1)
	e.holds("k", d("_id", "k", "z", int32(1), "y", int32(2)))
}

func testUpsert(e *env) {
	upsert := func(id string, change bson.D) *workload.Request {
		st := statement(e.T, d("_id", id), change)
		st.Upsert = true
		return update(e.T, st)
	}
	e.expect("upsert by replacement, new", upsert("r", d("_id", "r", "a", int32(1))), want1)
	e.expect("upsert by replacement, there", upsert("r", d("_id", "r", "a", int32(2))), want1)
	e.holds("r", d("_id", "r", "a", int32(2)))
	e.expect("upsert by set, new", upsert("s", d("$set", d("a", int32(1)))), want1)
	e.expect("upsert by set, there", upsert("s", d("$set", d("b", int32(2)))), want1)
	e.holds("s", d("_id", "s", "a", int32(1), "b", int32(2)))
	e.count(2)
	two := update(e.T, upsert("s", d("$set", d("b", int32(3)))).Updates[0], upsert("new", d("$set", d("b", int32(3)))).Updates[0])
	e.expect("batch of upserts", two, want{store.OK, 2})
	e.count(3)
}

// testRandom compares the store with a map under random inserts, updates and reads.
func testRandom(e *env) {
	seed := uint64(time.Now().UnixNano())
	e.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	model := map[int32]int32{}
	for i := range 400 {
		id, v := rng.Int32N(40), rng.Int32()
		_, there := model[id]
		switch rng.IntN(4) {
		case 0:
			w := want{store.Conflict, 0}
			if !there {
				model[id], w = v, want1
			}
			e.expect("insert", insert(e.T, d("_id", id, "v", v)), w)
		case 1:
			w := want{store.NotFound, 0}
			if there {
				model[id], w = v, want1
			}
			e.expect("set", update(e.T, statement(e.T, d("_id", id), d("$set", d("v", v)))), w)
		case 2:
			st := statement(e.T, d("_id", id), d("v", v))
			st.Upsert = true
			model[id] = v
			e.expect("replace", update(e.T, st), want1)
		case 3:
			if there {
				e.holds(id, d("_id", id, "v", model[id]))
			} else {
				e.expect("read", read(e.T, id), want{store.NotFound, 0})
			}
		}
		if e.Failed() {
			e.Fatalf("seed %d, step %d, document %d", seed, i, id)
		}
	}
	e.count(int64(len(model)))
}
