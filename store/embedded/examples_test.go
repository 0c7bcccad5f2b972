package embedded

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/wire"
	"github.com/plimsoll-bench/plimsoll/workload"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// The parts of the language that the example workloads need have the same results here and on a real mongod.
func TestLanguageOfExamples(t *testing.T) {
	t.Parallel()
	t.Run("embedded", func(t *testing.T) {
		st := open(t, t.TempDir(), store.Concern{}, options{})
		testLanguage(t, st, st.expire)
	})
	t.Run("mongod", func(t *testing.T) {
		binary, ok := enginetest.RealMongo(t)
		if !ok {
			return
		}
		uri := enginetest.StartSet(t, binary, 1).URI
		st, err := wire.Open(t.Context(), store.Config{Target: uri, Database: "examples", Concern: store.Concern{W: "1"}, Sessions: 8,
			Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		testLanguage(t, st, nil) // it expires documents by itself
	})
}

func testLanguage(t *testing.T, st store.Store, expire func(time.Time)) {
	t.Run("push", func(t *testing.T) { testPush(testerOn(t, st)) })
	t.Run("group", func(t *testing.T) { testGroups(testerOn(t, st)) })
	t.Run("watch", func(t *testing.T) { testWatch(testerOn(t, st), st) })
	t.Run("expire", func(t *testing.T) { testExpire(testerOn(t, st), st, expire) })
	t.Run("unique", func(t *testing.T) { testUnique(testerOn(t, st)) })
	t.Run("partial", func(t *testing.T) { testPartial(testerOn(t, st)) })
}

func testPush(x *tester) {
	for id, c := range []struct {
		push bson.D
		want bson.D // nil: refused as BadValue
	}{
		{d("a", 9), d("a", bson.A{1, 2, 3, 9}, "s", "x")},
		{d("a", bson.A{8, 9}), d("a", bson.A{1, 2, 3, bson.A{8, 9}}, "s", "x")},
		{d("a", d("k", 1)), d("a", bson.A{1, 2, 3, d("k", 1)}, "s", "x")},
		{d("new", 9), d("a", bson.A{1, 2, 3}, "s", "x", "new", bson.A{9})},
		{d("in.new", d("$each", bson.A{1, 2}, "$slice", 1)), d("a", bson.A{1, 2, 3}, "s", "x", "in", d("new", bson.A{1}))},
		{d("a", d("$each", bson.A{4, 5})), d("a", bson.A{1, 2, 3, 4, 5}, "s", "x")},
		{d("a", d("$each", bson.A{4, 5}, "$slice", -2)), d("a", bson.A{4, 5}, "s", "x")},
		{d("a", d("$slice", -4, "$each", bson.A{4, 5})), d("a", bson.A{2, 3, 4, 5}, "s", "x")},
		{d("a", d("$each", bson.A{4}, "$slice", 2)), d("a", bson.A{1, 2}, "s", "x")},
		{d("a", d("$each", bson.A{4}, "$slice", int64(-50))), d("a", bson.A{1, 2, 3, 4}, "s", "x")},
		{d("a", d("$each", bson.A{}, "$slice", 0)), d("a", bson.A{}, "s", "x")},
		{d("a", d("$each", 4)), nil},
		{d("a", d("$each", bson.A{4}, "$slice", "x")), nil},
		{d("s", 1), nil},
	} {
		x.insert(append(d("_id", id), d("a", bson.A{1, 2, 3}, "s", "x")...))
		res := x.do(x.updateReq(d("_id", id), d("$push", c.push)))
		if c.want == nil {
			if res.Outcome.Success() || res.Code != 2 {
				x.Errorf("%v: %s with code %d (%s)", c.push, res.Outcome, res.Code, res.Message)
			}
			continue
		}
		if res.Outcome != store.OK || res.Docs != 1 {
			x.Errorf("%v: %s with %d documents (%s)", c.push, res.Outcome, res.Docs, res.Message)
		}
		got := bson.Raw(raw(x, x.get(id)[1:])).String()
		if diff := cmp.Diff(bson.Raw(raw(x, c.want)).String(), got); diff != "" {
			x.Errorf("%v (-want +got):\n%s", c.push, diff)
		}
	}
}

func testGroups(x *tester) {
	const n = 30
	for i := range n {
		one := d("_id", 1000+i, "k", i%3, "in", d("x", i%2))
		if i%5 == 0 {
			one = append(one, bson.E{Key: "some", Value: "s"})
		}
		x.insert(one)
	}
	for _, c := range []struct {
		id   bson.D
		docs int
		last string
	}{
		{d("k", "$k", "x", "$in.x"), 6, `{"_id": {"k": {"$numberInt":"2"},"x": {"$numberInt":"1"}},"n": {"$numberInt":"5"}}`},
		{d("k", "$k", "some", "$some"), 6, `{"_id": {"k": {"$numberInt":"2"},"some": "s"},"n": {"$numberInt":"2"}}`},
		{d("none", "$none", "always", "yes"), 1, `{"_id": {"always": "yes"},"n": {"$numberInt":"30"}}`},
		{d("k", 1), 0, ""},
		{d("k", true), 0, ""},
		{d("none", "$none"), 1, `{"_id": {"none": null},"n": {"$numberInt":"30"}}`},
		{d(), 1, `{"_id": {},"n": {"$numberInt":"30"}}`},
	} {
		res := x.do(workload.Request{Verb: workload.Aggregate, Collection: "c", Pipeline: rawArray(x, bson.A{
			d("$match", d("_id", d("$gte", 1000, "$lt", 1000+n))),
			d("$group", d("_id", c.id, "n", d("$sum", 1))), d("$sort", d("_id", -1))})})
		if c.docs == 0 {
			if res.Outcome.Success() || res.Code != 17390 {
				x.Errorf("%v: %s with code %d (%s)", c.id, res.Outcome, res.Code, res.Message)
			}
			continue
		}
		if got := bson.Raw(res.Doc).String(); res.Docs != c.docs || got != c.last {
			x.Errorf("%v: %d groups, the last is %s, want %d and %s", c.id, res.Docs, got, c.docs, c.last)
		}
	}
}

// Streams have the changes since they were opened, each once, of their collection only.
func testWatch(x *tester, st store.Store) {
	x.insert(d("_id", "before"))
	reader := testerOn(x, st)
	streams := map[string]workload.Request{}
	for _, operation := range []string{"insert", "update", "replace", "delete"} {
		streams[operation] = workload.Request{Verb: workload.Watch, Collection: "c", MayBeEmpty: true,
			Pipeline: rawArray(x, bson.A{d("$match", d("operationType", operation))})}
		if res := reader.expect(store.OK, streams[operation]); res.Docs != 0 {
			x.Errorf("%d changes before there was one", res.Docs)
		}
	}
	x.insert(d("_id", "w1", "n", 1), d("_id", "w2"))
	x.expect(store.OK, x.updateReq(d("_id", "w1"), d("$inc", d("n", 1))))
	x.expect(store.OK, x.updateReq(d("_id", "w2"), d("n", 5)))
	x.expect(store.OK, workload.Request{Verb: workload.Delete, Collection: "c",
		Updates: []workload.Statement{{Filter: raw(x, d("_id", "w1"))}}})
	elsewhere := insertReq(x, d("_id", "w3"))
	elsewhere.Collection = "other"
	x.expect(store.OK, elsewhere)
	for operation, want := range map[string]struct {
		docs int
		has  bson.D
	}{
		"insert":  {2, d("documentKey", d("_id", "w1"), "fullDocument", d("_id", "w1", "n", 1))},
		"update":  {1, d("documentKey", d("_id", "w1"), "updateDescription.updatedFields", d("n", 2))},
		"replace": {1, d("documentKey", d("_id", "w2"), "fullDocument", d("_id", "w2", "n", 5))},
		"delete":  {1, d("documentKey", d("_id", "w1"))},
	} {
		var first bson.Raw
		docs := 0
		for end := time.Now().Add(time.Minute); docs < want.docs && time.Now().Before(end); {
			if res := reader.expect(store.OK, streams[operation]); res.Docs > 0 {
				if docs += res.Docs; first == nil {
					first = append(first, res.Doc...)
				}
			}
		}
		if docs != want.docs {
			x.Errorf("%s: %d changes, want %d", operation, docs, want.docs)
		}
		for _, e := range append(want.has, bson.E{Key: "ns.coll", Value: "c"}) {
			v, err := first.LookupErr(strings.Split(e.Key, ".")...)
			if text, ok := e.Value.(string); ok {
				if got, _ := v.StringValueOK(); err != nil || got != text {
					x.Errorf("%s: %s is %v (%v), want %s", operation, e.Key, v, err, text)
				}
			} else if got, _ := v.DocumentOK(); err != nil || got.String() != bson.Raw(raw(x, e.Value)).String() {
				x.Errorf("%s: %s is %v (%v), want %v", operation, e.Key, v, err, e.Value)
			}
		}
	}
}

// A document expires by the earliest date in the field. Without a date it never does.
func testExpire(x *tester, st store.Store, expire func(time.Time)) {
	index := func(seconds any) error {
		return st.EnsureIndexes(context.Background(), []workload.Index{{Collection: "e", Name: "at_1", Keys: raw(x, d("at", 1)),
			Options: elementsOf(x, d("expireAfterSeconds", seconds))}})
	}
	now := time.Now()
	ago := func(by time.Duration) bson.DateTime { return bson.NewDateTimeFromTime(now.Add(-by)) }
	req := insertReq(x, d("_id", "old", "at", ago(2*time.Hour)), d("_id", "new", "at", ago(time.Minute)),
		d("_id", "none"), d("_id", "text", "at", "2001-01-01"), d("_id", "future", "at", ago(-time.Hour)),
		d("_id", "one of two", "at", bson.A{ago(0), ago(3 * time.Hour)}), d("_id", "null", "at", nil), d("_id", "number", "at", 5))
	req.Collection = "e"
	x.expect(store.OK, req)
	if err := index(3600); err != nil {
		x.Fatal(err)
	}
	if index(3600) != nil || index(60) == nil || index(-1) == nil {
		x.Errorf("the index again: %v, with another time: %v, before the date: %v", index(3600), index(60), index(-1))
	}
	if err := st.EnsureIndexes(context.Background(), []workload.Index{{Collection: "e", Name: "two",
		Keys: raw(x, d("x", 1, "y", 1)), Options: elementsOf(x, d("expireAfterSeconds", 1))}}); err == nil {
		x.Error("an index of two fields expires documents")
	}
	if expire != nil {
		expire(now)
	}
	const left = 6
	count := func() int64 {
		n, err := st.Count(context.Background(), "e")
		if err != nil {
			x.Fatal(err)
		}
		return n
	}
	for end := time.Now().Add(2 * time.Minute); count() > left && time.Now().Before(end); {
		time.Sleep(100 * time.Millisecond)
	}
	if n := count(); n != left {
		x.Errorf("%d documents are left, want %d", n, left)
	}
	for _, id := range []string{"new", "none", "text", "future", "null", "number"} {
		x.expect(store.OK, workload.Request{Verb: workload.Find, Collection: "e", Filter: raw(x, d("_id", id))})
	}
}

// elementsOf returns the elements of a document.
func elementsOf(t testing.TB, doc bson.D) []byte {
	all := raw(t, doc)
	return all[4 : len(all)-1]
}

// A stream that nobody reads is dropped, and its session learns that. Others go on.
func TestUnreadStream(t *testing.T) {
	x := newTester(t)
	reader := testerOn(t, x.st)
	watch := workload.Request{Verb: workload.Watch, Collection: "c", MayBeEmpty: true, Pipeline: rawArray(t, bson.A{})}
	reader.expect(store.OK, watch)
	text := strings.Repeat("x", 8<<20)
	for i := range feedBytes/len(text) + 1 {
		x.insert(d("_id", i, "text", text))
	}
	if res := reader.do(watch); res.Outcome != store.Failed || res.CodeName != "ChangeStreamHistoryLost" {
		t.Errorf("%s, %q", res.Outcome, res.CodeName)
	}
	reader.expect(store.OK, watch) // opens it again
	x.insert(d("_id", "later"))
	if res := reader.expect(store.OK, watch); res.Docs != 1 {
		t.Errorf("%d changes", res.Docs)
	}
	if err := reader.s.Close(); err != nil || x.st.(*embeddedStore).feeds.open.Load() != 0 {
		t.Errorf("the stream is open after its session (%v)", err)
	}
}

// An index that expires documents does so after the store was opened again.
func TestExpiresAfterReopening(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir, store.Concern{}, options{})
	x := testerOn(t, st)
	x.insert(d("_id", 1, "at", bson.NewDateTimeFromTime(time.Now())))
	if err := st.EnsureIndexes(t.Context(), []workload.Index{{Collection: "c", Name: "at_1", Keys: raw(t, d("at", 1)),
		Options: elementsOf(t, d("expireAfterSeconds", 60))}}); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	st = open(t, dir, store.Concern{}, options{})
	for _, c := range []struct {
		after time.Duration
		left  int64
	}{{0, 1}, {time.Hour, 0}} {
		st.expire(time.Now().Add(c.after))
		if n, err := st.Count(t.Context(), "c"); n != c.left || err != nil {
			t.Errorf("%d documents after %s (%v), want %d", n, c.after, err, c.left)
		}
	}
}
