package embedded

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// d is a document with the given keys and values in turn.
func d(kv ...any) bson.D {
	out := bson.D{}
	for i := 0; i+1 < len(kv); i += 2 {
		out = append(out, bson.E{Key: kv[i].(string), Value: kv[i+1]})
	}
	return out
}

func findReq(t testing.TB, filter bson.D) workload.Request {
	return workload.Request{Verb: workload.Find, Collection: "c", Filter: raw(t, filter)}
}

func TestFilters(t *testing.T) {
	x := newTester(t)
	x.insert(
		d("_id", 1, "n", 5, "s", "five", "a", bson.A{1, 2, 3}),
		d("_id", 2, "n", 6.5, "s", "six", "in", d("city", "Bonn", "zip", 1)),
		d("_id", 3, "n", int64(7), "in", d("city", "Oslo"), "a", bson.A{d("k", 1, "v", 9), d("k", 2, "v", 8)}),
		d("_id", 4, "n", nil, "a", bson.A{}),
		d("_id", 5, "s", "n", "a", bson.A{bson.A{1, 2, 3}, 4}),
	)
	cases := []struct {
		filter bson.D
		want   []any
	}{
		{d(), []any{1, 2, 3, 4, 5}},
		{d("n", 5.0), []any{1}},
		{d("n", d("$gte", 6)), []any{2, 3}},
		{d("n", d("$gte", 5, "$lt", 7)), []any{1, 2}},
		{d("n", d("$lt", 6.5)), []any{1}},
		{d("n", nil), []any{4, 5}},
		{d("n", d("$gte", "a")), nil},
		{d("n", d("$gte", 5, "$lt", "a")), nil},
		{d("s", d("$gte", "five", "$lt", "o")), []any{1, 5}},
		{d("in.city", "Oslo"), []any{3}},
		{d("in.city", nil), []any{1, 4, 5}},
		{d("in", d("city", "Oslo")), []any{3}},
		{d("in.city.x", 1), nil},
		{d("a", 2), []any{1}},
		{d("a", bson.A{1, 2, 3}), []any{1, 5}},
		{d("a", bson.A{}), []any{4}},
		{d("a", d("$gte", 3, "$lt", 2)), []any{1}},
		{d("a.k", 2), []any{3}},
		{d("a.v", d("$gte", 9)), []any{3}},
		{d("a.k", 1, "a.v", 8), []any{3}},
		{d("_id", d("$gte", 2, "$lt", 4)), []any{2, 3}},
		{d("_id", 3, "n", 7), []any{3}},
		{d("_id", 3, "n", 8), nil},
	}
	check := func(t *testing.T) {
		for _, c := range cases {
			got := x.ids(findReq(t, c.filter))
			slicesEqualAny(t, fmt.Sprint(c.filter), got, c.want)
		}
	}
	t.Run("scan", check)
	for _, keys := range []bson.D{d("n", 1), d("a", 1), d("a.k", 1), d("in.city", 1, "n", 1), d("s", 1, "n", 1), d("in", 1)} {
		x.index(keys)
	}
	t.Run("indexed", check)
}

func (x *tester) index(keys bson.D, options ...any) {
	x.Helper()
	var name []string
	for _, k := range keys {
		name = append(name, fmt.Sprintf("%s_%v", k.Key, k.Value))
	}
	ix := []workload.Index{{Collection: "c", Name: strings.Join(name, "_"), Keys: raw(x, keys),
		Options: elementsOf(x, d(options...))}}
	for range 2 { // the second time it exists
		if err := x.st.EnsureIndexes(context.Background(), ix); err != nil {
			x.Fatal(err)
		}
	}
}

// slicesEqualAny compares lists of _id without regard to order and integer type.
func slicesEqualAny(t *testing.T, name string, got, want []any) {
	t.Helper()
	a, b := map[string]int{}, map[string]int{}
	for _, v := range got {
		a[fmt.Sprint(v)]++
	}
	for _, v := range want {
		b[fmt.Sprint(v)]++
	}
	if diff := cmp.Diff(b, a); diff != "" {
		t.Errorf("%s: documents differ (-want +got):\n%s", name, diff)
	}
}

func TestSortSkipLimit(t *testing.T) {
	x := newTester(t)
	x.index(d("n", 1))
	for i := range 20 {
		x.insert(d("_id", i, "g", i%3, "n", (i*7)%20))
	}
	x.index(d("g", 1, "n", 1))
	for _, c := range []struct {
		filter, sort bson.D
		skip, limit  int64
		want         string
	}{
		{d(), d("_id", 1), 17, 0, "[17 18 19]"},
		{d("_id", d("$gte", 5)), d(), 0, 2, "[5 6]"},
		{d(), d("n", 1), 1, 3, "[3 6 9]"},
		{d("g", 1), d("n", 1), 0, 3, "[1 4 7]"},
		{d("g", 1), d("n", 1), 2, 2, "[7 10]"},
		{d(), d("g", 1, "n", 1), 0, 3, "[0 3 6]"},
		{d("g", 1), d("n", -1), 0, 3, "[19 16 13]"}, // an index, backwards
		{d(), d("g", -1, "n", -1), 0, 2, "[17 14]"},
		{d(), d("g", 1, "n", -1), 1, 2, "[15 12]"}, // in memory
		{d("n", d("$lte", 2)), d("g", -1, "n", 1), 0, 0, "[0 3 6]"},
		{d(), d("_id", -1), 0, 2, "[19 18]"},
	} {
		req := findReq(t, c.filter)
		req.Skip, req.Limit, req.Sort = c.skip, c.limit, raw(t, c.sort)
		if got := fmt.Sprint(x.page(req)); got != c.want {
			t.Errorf("%v sort %v skip %d limit %d: %s, want %s", c.filter, c.sort, c.skip, c.limit, got, c.want)
		}
	}
}

// page returns the _id of the documents of one page in order.
func (x *tester) page(req workload.Request) []any {
	n := x.expect(store.OK, req).Docs
	var out []any
	skip := req.Skip
	for i := range n {
		req.Skip, req.Limit = skip+int64(i), 1
		out = append(out, decode(x, x.expect(store.OK, req).Doc)[0].Value)
	}
	return out
}

func TestPlans(t *testing.T) {
	x := newTester(t)
	for _, keys := range []bson.D{d("city", 1), d("g", 1, "n", 1), d("h", -1, "n", 1)} {
		x.index(keys)
	}
	c := x.st.(*embeddedStore).lookup("c")
	for _, k := range []struct {
		filter, sort bson.D
		index        string
		ok           bool
	}{
		{d(), d(), "", true},
		{d("_id", "a", "city", "x"), d(), "", true},
		{d("city", "x"), d(), "city_1", true},
		{d("city", d("$gte", "x")), d("_id", 1), "", true},
		{d("city", "x"), d("_id", 1), "", true},
		{d("g", 1, "n", d("$gte", 3, "$lt", 9)), d("n", 1), "g_1_n_1", true},
		{d("g", 1), d("n", -1), "g_1_n_1", true},
		{d(), d("g", -1, "n", -1), "g_1_n_1", true},
		{d("n", 4), d(), "", true},
		{d(), d("g", 1, "n", 1), "g_1_n_1", true},
		{d(), d("g", 1, "n", -1), "", false},
		{d(), d("_id", 1, "n", -1), "", true},
		{d(), d("_id", -1), "", true},
		{d("h", 1), d("n", -1), "h_-1_n_1", true},
		{d(), d("h", -1, "n", 1), "h_-1_n_1", true},
		{d(), d("h", 1, "n", -1), "h_-1_n_1", true},
		{d(), d("h", 1, "n", 1), "", false},
	} {
		var f filter
		if err := f.compile(raw(t, k.filter)); err != nil {
			t.Fatal(err)
		}
		sorts, err := compileSort(nil, raw(t, k.sort))
		if err != nil {
			t.Fatal(err)
		}
		p, ok := choose(c, &f, sorts)
		name := ""
		if ok && p.index != nil {
			name = p.index.name
		}
		if name != k.index || ok != k.ok {
			t.Errorf("plan for %v sort %v: index %q, there is one: %v; want %q %v", k.filter, k.sort, name, ok, k.index, k.ok)
		}
	}
}

func TestProjection(t *testing.T) {
	x := newTester(t)
	x.insert(d("_id", 1, "a", 1, "b", d("c", 2, "d", 3), "l", bson.A{d("c", 4, "d", 5), 6}))
	for _, c := range []struct{ proj, want bson.D }{
		{d(), d("_id", 1, "a", 1, "b", d("c", 2, "d", 3), "l", bson.A{d("c", 4, "d", 5), 6})},
		{d("a", 1), d("_id", 1, "a", 1)},
		{d("_id", 1), d("_id", 1)},
		{d("l", 1, "b", 1, "none", 1), d("_id", 1, "b", d("c", 2, "d", 3), "l", bson.A{d("c", 4, "d", 5), 6})},
	} {
		req := findReq(t, d("_id", 1))
		req.Projection = raw(t, c.proj)
		res := x.expect(store.OK, req)
		if diff := cmp.Diff(raw(t, c.want), res.Doc); diff != "" {
			t.Errorf("projection %v: %v, want %v", c.proj, decode(t, res.Doc), c.want)
		}
	}
}

func TestAggregate(t *testing.T) {
	x := newTester(t)
	for i := range 10 {
		x.insert(d("_id", i, "g", i%2, "n", i, "f", float64(i)/2, "tags", bson.A{"x", fmt.Sprint(i % 3)}, "in", d("v", i)))
	}
	count := bson.A{d("$match", d()), d("$group", d("_id", 1, "n", d("$sum", 1)))}
	for _, c := range []struct {
		pipeline bson.A
		docs     int
		first    bson.D
	}{
		{count, 1, d("_id", int32(1), "n", int32(10))},
		{bson.A{d("$match", d("g", 1)), d("$group", d("_id", nil, "n", d("$sum", 1)))}, 1, d("_id", nil, "n", int32(5))},
		{bson.A{d("$group", d("_id", "$g", "sum", d("$sum", "$in.v"), "avg", d("$avg", "$n"), "f", d("$sum", "$f"))), d("$sort", d("_id", -1))},
			2, d("_id", int32(1), "sum", int32(25), "avg", 5.0, "f", 12.5)},
		{bson.A{d("$group", d("_id", "$missing", "n", d("$sum", "$in"), "avg", d("$avg", "$in.v.x")))}, 1, d("_id", nil, "n", int32(0), "avg", nil)},
		{bson.A{d("$group", d("_id", "$n", "s", d("$sum", "$f"))), d("$sort", d("s", -1)), d("$limit", 3)}, 3, d("_id", int32(9), "s", 4.5)},
		{bson.A{d("$match", d("n", d("$gte", 2))), d("$group", d("_id", "$n")), d("$limit", int64(3))}, 3, d("_id", int32(2))},
		{bson.A{d("$match", d("n", 99)), d("$group", d("_id", "$n"))}, 0, nil},
	} {
		req := workload.Request{Verb: workload.Aggregate, Collection: "c", Pipeline: rawArray(t, c.pipeline), MayBeEmpty: true}
		res := x.expect(store.OK, req)
		if res.Docs != c.docs {
			t.Errorf("%v: %d documents, want %d", c.pipeline, res.Docs, c.docs)
		}
		if c.first != nil {
			if diff := cmp.Diff(c.first, decode(t, res.Doc)); diff != "" {
				t.Errorf("%v (-want +got):\n%s", c.pipeline, diff)
			}
		}
	}
	x.expect(store.NotFound, workload.Request{Verb: workload.Aggregate, Collection: "none", Pipeline: rawArray(t, count)})
}

func TestUnsupportedIsRejectedByName(t *testing.T) {
	x := newTester(t)
	x.insert(d("_id", 1, "n", 1))
	find := func(filter bson.D) workload.Request { return findReq(t, filter) }
	with := func(f func(*workload.Request)) workload.Request { r := find(d()); f(&r); return r }
	pipe := func(stages ...any) workload.Request {
		return workload.Request{Verb: workload.Aggregate, Collection: "c", Pipeline: rawArray(t, bson.A(stages))}
	}
	project := func(p bson.D) workload.Request {
		return with(func(r *workload.Request) { r.Projection = raw(t, p) })
	}
	upsert := x.updateReq(d("_id", 9, "n", 1), d("$set", d("n", 1)))
	upsert.Updates[0].Upsert = true
	group := func(v any) workload.Request { return pipe(d("$group", d("_id", 1, "n", v))) }
	for want, req := range map[string]workload.Request{
		"$or":                          find(d("$or", bson.A{})),
		"$and":                         find(d("$and", bson.A{})),
		"array position (a.0)":         find(d("a.0", 1)),
		"without an order (0x0B)":      find(d("n", bson.Regex{Pattern: "x"})),
		"_id of BSON type 0x13":        insertReq(t, d("_id", bson.Decimal128{})),
		"without $group":               pipe(d("$limit", 4)),
		"projection of n by":           project(d("n", 0)),
		"projection of _id by":         project(d("n", 1, "_id", 0)),
		"projection of m.x":            project(d("m.x", 1)),
		"projection of m by":           project(d("m", "$n")),
		"array position (b.1)":         with(func(r *workload.Request) { r.Sort = raw(t, d("b.1", 1)) }),
		"$inc of n by anything but":    x.updateReq(d("_id", 1), d("$inc", d("n", "x"))),
		"$exists":                      find(d("n", d("$exists", true))),
		"upsert whose filter":          upsert,
		"positional update path l.0":   x.updateReq(d("_id", 1), d("$set", d("l.0", 2))),
		"positional update path l.$":   x.updateReq(d("_id", 1), d("$set", d("l.$", 2))),
		"$unwind":                      pipe(d("$unwind", "$n")),
		"$skip":                        pipe(d("$skip", 1)),
		"$match behind $group":         pipe(d("$group", d("_id", 1)), d("$match", d())),
		"$sort behind $sort":           pipe(d("$sort", d("n", 1)), d("$sort", d("n", 1))),
		"$min":                         group(d("$min", "$n")),
		"$add":                         group(d("$sum", d("$add", bson.A{"$n", 1}))),
		"group by array position (n.0": group(d("$sum", "$n.0")),
		"projection of n by anything":  project(d("n", d("$slice", 1))),
		"sorting n":                    with(func(r *workload.Request) { r.Sort = raw(t, d("n", d("$meta", "textScore"))) }),
		"$unset":                       x.updateReq(d("_id", 1), d("$unset", d("n", 1))),
		"$lookup":                      pipe(d("$lookup", d())),
		"$push":                        group(d("$push", "$n")),
		"$multiply":                    pipe(d("$group", d("_id", d("$multiply", bson.A{1, 2})))),
		"$$ROOT":                       pipe(d("$group", d("_id", "$$ROOT"))),
	} {
		res := x.do(req)
		if res.Outcome != store.Rejected || res.Reason != store.Client || !strings.Contains(res.Message, want) {
			t.Errorf("%s: %s by %s: %q, want rejected by client with the name", want, res.Outcome, res.Reason, res.Message)
		}
	}
	if got := x.get(1); len(got) != 2 || got[1].Value != int32(1) {
		t.Errorf("a rejected request changed the document to %v", got)
	}
	for _, keys := range []bson.D{d("n", "text"), d("n", 2)} {
		err := x.st.EnsureIndexes(context.Background(), []workload.Index{{Collection: "c", Name: "t", Keys: raw(t, keys)}})
		if err == nil || !strings.Contains(err.Error(), "neither ascending nor descending") {
			t.Errorf("index %v: %v", keys, err)
		}
	}
}

// A request can be unsupported because of the documents: with an array on a path it is rejected too.
func TestUnsupportedDocuments(t *testing.T) {
	x := newTester(t)
	x.index(d("a", 1, "b", 1))
	res := x.do(insertReq(t, d("_id", 1, "a", bson.A{1})))
	if res.Outcome != store.Rejected || res.Reason != store.Client || !strings.Contains(res.Message, "a_1_b_1") {
		t.Errorf("an array in an index of two fields: %s by %s: %q", res.Outcome, res.Reason, res.Message)
	}
	x.insert(d("_id", 2, "l", bson.A{d("v", 1)}, "m", bson.Decimal128{}))
	for want, stage := range map[string]bson.D{
		"l.v":      d("_id", "$l.v"),
		"through":  d("_id", 1, "n", d("$avg", "$l.v")),
		"decimals": d("_id", 1, "n", d("$sum", "$m")),
	} {
		res := x.do(workload.Request{Verb: workload.Aggregate, Collection: "c", Pipeline: rawArray(t, bson.A{d("$group", stage)})})
		if res.Outcome != store.Rejected || res.Reason != store.Client || !strings.Contains(res.Message, want) {
			t.Errorf("%v: %s by %s: %q", stage, res.Outcome, res.Reason, res.Message)
		}
	}
}

func TestMalformedRequests(t *testing.T) {
	x := newTester(t)
	bad := []byte{9, 0, 0, 0, 2, 'a', 0, 7, 0}
	for _, req := range []workload.Request{
		{Verb: workload.Insert, Collection: "c", Docs: [][]byte{bad}},
		{Verb: workload.Insert, Collection: "c", Docs: [][]byte{nil}},
		{Verb: workload.Insert, Collection: "c"},
		{Verb: workload.Insert, Docs: [][]byte{raw(t, d("_id", 1))}},
		{Verb: workload.Insert, Collection: "c", Docs: [][]byte{raw(t, d("_id", bson.A{1}))}},
		{Verb: workload.Find, Collection: "c", Filter: bad},
		{Verb: workload.Find, Collection: "c", Sort: bad},
		{Verb: workload.Find, Collection: "c", Projection: bad},
		{Verb: workload.Update, Collection: "c"},
		{Verb: workload.Update, Collection: "c", Updates: []workload.Statement{{Filter: bad, Update: bad}}},
		{Verb: workload.Update, Collection: "c", Updates: []workload.Statement{{Update: bad}}},
		{Verb: workload.Aggregate, Collection: "c", Pipeline: bad},
		{Verb: workload.Verb(9), Collection: "c"},
	} {
		if res := x.do(req); res.Outcome != store.Rejected || res.Message == "" {
			t.Errorf("%v: %s %q, want rejected with a message", req, res.Outcome, res.Message)
		}
	}
}
