package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// testLink makes a connection's prepared parts without a connection.
func testLink(tb testing.TB, target string, concern store.Concern, g *greeting) *link {
	tb.Helper()
	st, err := newSettings(tb.Context(), store.Config{Target: target, Database: "db", Concern: concern})
	if err != nil {
		tb.Fatal(err)
	}
	g.maxBatch, g.maxMessage = defaultMaxBatch, defaultMaxMessage
	lsid := marshal(tb, bson.D{{Key: "id", Value: bson.Binary{Subtype: 4, Data: bytes.Repeat([]byte{7}, 16)}}})
	l := &link{greeting: g, shape: newShape(st, g, lsid), ids: new(objectIDs)}
	l.use = &l.shape
	return l
}

// lsidValue is the lsid of testLink.
var lsidValue = bson.D{{Key: "id", Value: bson.Binary{Subtype: 4, Data: bytes.Repeat([]byte{7}, 16)}}}

// wantMessage builds a whole OP_MSG in the slow and obvious way.
func wantMessage(tb testing.TB, flags uint32, body bson.D, section string, docs ...[]byte) []byte {
	msg := make([]byte, headerLen, 256)
	msg = binary.LittleEndian.AppendUint32(msg, flags)
	msg = append(msg, 0)
	msg = append(msg, marshal(tb, body)...)
	if section != "" {
		size := 4 + len(section) + 1
		for _, d := range docs {
			size += len(d)
		}
		msg = append(msg, 1)
		msg = binary.LittleEndian.AppendUint32(msg, uint32(size))
		msg = append(append(msg, section...), 0)
		for _, d := range docs {
			msg = append(msg, d...)
		}
	}
	binary.LittleEndian.PutUint32(msg, uint32(len(msg)))
	binary.LittleEndian.PutUint32(msg[4:], 9)
	binary.LittleEndian.PutUint32(msg[12:], 2013)
	return msg
}

func compare(t *testing.T, got, want []byte) {
	t.Helper()
	if !bytes.Equal(got, want) {
		t.Errorf("message differs:\n%s", cmp.Diff(hex.Dump(want), hex.Dump(got)))
	}
}

func TestReadMessages(t *testing.T) {
	filter, sort := bson.D{{Key: "_id", Value: "user1"}}, bson.D{{Key: "_id", Value: 1}}
	lsid := bson.E{Key: "lsid", Value: lsidValue}
	db := bson.E{Key: "$db", Value: "db"}
	readConcern := bson.E{Key: "readConcern", Value: bson.D{{Key: "level", Value: "majority"}}}
	mode := func(m string) bson.E { return bson.E{Key: "$readPreference", Value: bson.D{{Key: "mode", Value: m}}} }
	point := &workload.Request{Verb: workload.Find, Collection: "c", Filter: marshal(t, filter), Limit: 1}
	scan := &workload.Request{Verb: workload.Find, Collection: "c", Filter: marshal(t, filter), Limit: 500, Skip: 3,
		Sort: marshal(t, sort), Projection: marshal(t, sort)}
	all := &workload.Request{Verb: workload.Find, Collection: "c"}
	for _, tc := range []struct {
		name    string
		target  string
		concern store.Concern
		role    role
		left    time.Duration
		req     *workload.Request
		want    bson.D
	}{
		{"point read", "mongodb://h", store.Concern{}, roleStandalone, 1500 * time.Microsecond, point, bson.D{
			{Key: "find", Value: "c"}, {Key: "filter", Value: filter}, {Key: "limit", Value: int64(1)},
			{Key: "singleBatch", Value: true}, lsid, {Key: "maxTimeMS", Value: int64(2)}, db}},
		{"no deadline", "mongodb://h", store.Concern{}, roleRouter, 0, point, bson.D{
			{Key: "find", Value: "c"}, {Key: "filter", Value: filter}, {Key: "limit", Value: int64(1)},
			{Key: "singleBatch", Value: true}, lsid, db}},
		{"scan with concern and preference", "mongodb://h", store.Concern{Read: "majority", Preference: "secondaryPreferred"},
			roleSecondary, time.Second, scan, bson.D{
				{Key: "find", Value: "c"}, {Key: "filter", Value: filter}, {Key: "limit", Value: int64(500)},
				{Key: "projection", Value: sort}, {Key: "skip", Value: int64(3)}, {Key: "sort", Value: sort},
				readConcern, lsid, db, mode("secondaryPreferred")}},
		{"everything, direct to a member", "mongodb://h/?directConnection=true", store.Concern{}, roleSecondary, time.Second, all,
			bson.D{{Key: "find", Value: "c"}, {Key: "filter", Value: bson.D{}}, lsid, db, mode("primaryPreferred")}},
		{"standalone has no preference", "mongodb://h", store.Concern{Preference: "nearest"}, roleStandalone, time.Second, all,
			bson.D{{Key: "find", Value: "c"}, {Key: "filter", Value: bson.D{}}, lsid, db}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := testLink(t, tc.target, tc.concern, &greeting{role: tc.role, sessions: true})
			msg := l.appendFind(nil, tc.req, tc.left)
			sealMessage(msg, 9, 0)
			compare(t, msg, wantMessage(t, 0, tc.want, ""))
		})
	}
}

func TestCursorMessages(t *testing.T) {
	l := testLink(t, "mongodb://h", store.Concern{Read: "local", Preference: "nearest"}, &greeting{role: rolePrimary, sessions: true})
	l.clusterTime = marshal(t, bson.D{{Key: "clusterTime", Value: bson.Timestamp{T: 3, I: 1}}})
	clusterTime := bson.E{Key: "$clusterTime", Value: bson.Raw(l.clusterTime)}
	lsid, db := bson.E{Key: "lsid", Value: lsidValue}, bson.E{Key: "$db", Value: "db"}
	pipeline := bson.A{bson.D{{Key: "$match", Value: bson.D{}}}}

	_, array, err := bson.MarshalValue(pipeline)
	if err != nil {
		t.Fatal(err)
	}
	msg := l.appendAggregate(nil, &workload.Request{Collection: "c", Pipeline: array})
	sealMessage(msg, 9, 0)
	compare(t, msg, wantMessage(t, 0, bson.D{
		{Key: "aggregate", Value: "c"}, {Key: "pipeline", Value: pipeline}, {Key: "cursor", Value: bson.D{}},
		{Key: "readConcern", Value: bson.D{{Key: "level", Value: "local"}}}, lsid, clusterTime, db,
		{Key: "$readPreference", Value: bson.D{{Key: "mode", Value: "nearest"}}}}, ""))

	msg = l.appendGetMore(msg, 1<<40, []byte("db.c"), 0)
	sealMessage(msg, 9, 0)
	compare(t, msg, wantMessage(t, 0, bson.D{{Key: "getMore", Value: int64(1 << 40)}, {Key: "collection", Value: "c"},
		lsid, clusterTime, db}, ""))

	msg = l.appendGetMore(msg, 1, []byte("other.a.b"), 0) // a view's cursor may belong elsewhere
	sealMessage(msg, 9, 0)
	compare(t, msg, wantMessage(t, 0, bson.D{{Key: "getMore", Value: int64(1)}, {Key: "collection", Value: "a.b"}, lsid, clusterTime,
		{Key: "$db", Value: "other"}}, ""))
}

func TestWriteMessages(t *testing.T) {
	yes := true
	doc1, doc2 := marshal(t, bson.D{{Key: "_id", Value: 1}}), marshal(t, bson.D{{Key: "_id", Value: "x"}, {Key: "a", Value: 2.5}})
	lsid, db := bson.E{Key: "lsid", Value: lsidValue}, bson.E{Key: "$db", Value: "db"}
	req := &workload.Request{Verb: workload.Insert, Collection: "c", Docs: [][]byte{doc1, doc2}}

	l := testLink(t, "mongodb://h", store.Concern{W: "majority", Journal: &yes}, &greeting{role: rolePrimary, sessions: true})
	msg, n := l.appendInsert(nil, req, req.Docs, time.Second)
	sealMessage(msg, 9, 0)
	compare(t, msg, wantMessage(t, 0, bson.D{{Key: "insert", Value: "c"}, {Key: "ordered", Value: true},
		{Key: "writeConcern", Value: bson.D{{Key: "w", Value: "majority"}, {Key: "j", Value: true}}},
		lsid, {Key: "maxTimeMS", Value: int64(1000)}, db}, "documents", doc1, doc2))
	if n != 2 {
		t.Errorf("%d documents written, want 2", n)
	}

	l = testLink(t, "mongodb://h", store.Concern{W: "0"}, &greeting{role: roleStandalone, sessions: true})
	msg, _ = l.appendInsert(msg, req, req.Docs[:1], 0)
	sealMessage(msg, 9, flagMoreToCome)
	compare(t, msg, wantMessage(t, flagMoreToCome, bson.D{{Key: "insert", Value: "c"}, {Key: "ordered", Value: true},
		{Key: "writeConcern", Value: bson.D{{Key: "w", Value: int32(0)}}}, db}, "documents", doc1))

	l = testLink(t, "mongodb://h", store.Concern{W: "2"}, &greeting{role: roleStandalone})
	list := []workload.Statement{{Filter: doc1, Update: doc2, Upsert: true}, {Filter: doc2, Update: doc1}}
	msg, _ = l.appendUpdate(msg, &workload.Request{Verb: workload.Update, Collection: "c", Unordered: true}, list, 0)
	sealMessage(msg, 9, 0)
	compare(t, msg, wantMessage(t, 0, bson.D{{Key: "update", Value: "c"}, {Key: "ordered", Value: false},
		{Key: "writeConcern", Value: bson.D{{Key: "w", Value: int32(2)}}}, db}, "updates",
		marshal(t, bson.D{{Key: "q", Value: bson.Raw(doc1)}, {Key: "u", Value: bson.Raw(doc2)}, {Key: "upsert", Value: true}}),
		marshal(t, bson.D{{Key: "q", Value: bson.Raw(doc2)}, {Key: "u", Value: bson.Raw(doc1)}})))
}

func TestBatchesAreSplitAtTheServersLimits(t *testing.T) {
	l := testLink(t, "mongodb://h", store.Concern{}, &greeting{role: roleStandalone})
	doc := marshal(t, bson.D{{Key: "_id", Value: 1}, {Key: "v", Value: make([]byte, 100)}})
	docs := [][]byte{doc, doc, doc, doc, doc}
	list := make([]workload.Statement, 5)
	for i := range list {
		list[i] = workload.Statement{Filter: doc, Update: doc}
	}
	req := &workload.Request{Collection: "c"}
	count := func() (inserted, updated int) {
		_, inserted = l.appendInsert(nil, req, docs, 0)
		_, updated = l.appendUpdate(nil, req, list, 0)
		return inserted, updated
	}
	l.greeting.maxBatch = 3
	if i, u := count(); i != 3 || u != 3 {
		t.Errorf("with at most 3 statements: %d inserted, %d updated", i, u)
	}
	msg, _ := l.appendInsert(nil, req, docs[:2], 0)
	l.greeting.maxMessage = len(msg)
	if i, _ := count(); i != 2 {
		t.Errorf("%d documents in a message with room for exactly 2", i)
	}
	l.greeting.maxMessage--
	if i, _ := count(); i != 1 {
		t.Errorf("%d documents in a message with room for 1", i)
	}
	l.greeting.maxMessage = 100
	if i, u := count(); i != 0 || u != 0 {
		t.Errorf("%d and %d in a message that holds none", i, u)
	}
}

func TestMissingIDIsAdded(t *testing.T) {
	l := testLink(t, "mongodb://h", store.Concern{}, &greeting{role: roleStandalone})
	late := marshal(t, bson.D{{Key: "a", Value: 1}, {Key: "_id", Value: 2}})
	none := marshal(t, bson.D{{Key: "a", Value: 1}})
	req := &workload.Request{Collection: "c", Docs: [][]byte{late, none, none}}
	msg, n := l.appendInsert(nil, req, req.Docs, 0)
	at := bytes.Index(msg, []byte("documents\x00"))
	if n != 3 || at < 0 {
		t.Fatalf("%d documents, section at %d", n, at)
	}
	rest := msg[at+len("documents\x00"):]
	var docs []bson.Raw
	for len(rest) > 0 {
		_, next, ok := rawbson.Split(rest)
		if !ok {
			t.Fatal("broken document sequence")
		}
		docs = append(docs, bson.Raw(rest[:len(rest)-len(next)]))
		rest = next
	}
	if !bytes.Equal(docs[0], late) {
		t.Error("a document with a late _id was changed")
	}
	id1, ok1 := docs[1].Lookup("_id").ObjectIDOK()
	id2, ok2 := docs[2].Lookup("_id").ObjectIDOK()
	if !ok1 || !ok2 || id1 == id2 {
		t.Errorf("generated ids: %v, %v", docs[1], docs[2])
	}
	if err := docs[1].Validate(); err != nil || docs[1].Lookup("a").AsInt64() != 1 {
		t.Errorf("document with a generated _id: %v %v", docs[1], err)
	}
}

func TestMaxTime(t *testing.T) {
	for left, want := range map[time.Duration]int64{
		0: 0, 1: 1, time.Millisecond: 1, time.Millisecond + 1: 2, 30 * 24 * time.Hour: 0,
	} {
		if got := maxTime(left); got != want {
			t.Errorf("maxTime(%v) = %d, want %d", left, got, want)
		}
	}
}
