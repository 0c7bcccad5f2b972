package embedded

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// record is a document of the model: {_id, n, tags, in: {v}}. v below 0 means that "in" is missing.
type record struct {
	id, n int
	tags  []int
	v     int
}

func (r record) doc() bson.D {
	tags := bson.A{}
	for _, t := range r.tags {
		tags = append(tags, t)
	}
	out := d("_id", r.id, "n", r.n, "tags", tags)
	if r.v >= 0 {
		out = append(out, bson.E{Key: "in", Value: d("v", r.v)})
	}
	return out
}

// model is the trivial store: a map, all of which every query reads.
type model map[int]record

func (m model) where(keep func(record) bool) []record {
	var out []record
	for _, r := range m {
		if keep(r) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b record) int { return cmp.Compare(a.id, b.id) })
	return out
}

// TestAgainstModel does the same random operations on a store and on the model. Indexes appear on the
// way, and the store is closed and opened again.
func TestAgainstModel(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	g := &game{r: rand.New(rand.NewPCG(seed, 1)), m: model{}, dir: t.TempDir()}
	g.reopen(t)
	for step := range 3000 {
		g.step(t, step)
		if t.Failed() {
			t.Fatalf("at step %d of seed %d", step, seed)
		}
	}
	for id := range 60 {
		g.checkGet(t, id)
	}
}

type game struct {
	r   *rand.Rand
	m   model
	dir string
	x   *tester
}

func (g *game) reopen(t *testing.T) {
	if g.x != nil {
		if err := g.x.st.Close(); err != nil {
			t.Fatal(err)
		}
	}
	o := options{memTableBytes: 256 << 10} // small, so that flushes and compactions take part
	g.x = testerOn(t, open(t, g.dir, store.Concern{}, o))
}

func (g *game) random() record {
	r := record{id: g.r.IntN(60), n: g.r.IntN(20), v: g.r.IntN(12) - 3}
	for range g.r.IntN(4) {
		r.tags = append(r.tags, g.r.IntN(6))
	}
	return r
}

func (g *game) step(t *testing.T, step int) {
	switch step {
	case 500:
		g.x.index(d("n", 1, "in.v", 1))
	case 600:
		g.x.index(d("n", 1), "partialFilterExpression", d("n", d("$gte", 8)))
	case 700:
		g.x.index(d("in.v", 1, "n", -1), "partialFilterExpression", d("in.v", d("$lte", 4)))
	case 900:
		g.x.index(d("tags", -1), "partialFilterExpression", d("tags", d("$gt", 2), "n", d("$lt", 15)))
	case 1000:
		g.x.index(d("tags", 1))
	case 1500:
		g.x.index(d("in.v", 1))
	case 1200:
		g.x.index(d("n", -1, "in.v", 1))
	case 2000:
		g.x.index(d("in.v", -1))
	case 800, 1800, 2500:
		g.reopen(t)
	}
	switch g.r.IntN(12) {
	case 10:
		g.remove(t)
	case 11:
		g.setSelected(t)
	case 0, 1:
		g.insert(t)
	case 2:
		g.insertMany(t)
	case 3:
		g.set(t)
	case 4:
		g.replace(t)
	case 5:
		g.checkGet(t, g.r.IntN(70))
	case 6:
		g.checkCount(t)
	default:
		g.checkFind(t)
	}
}

func (g *game) outcome(t *testing.T, what string, req workload.Request, want store.Outcome) {
	t.Helper()
	if res := g.x.do(req); res.Outcome != want {
		t.Errorf("%s: %s (%s), want %s", what, res.Outcome, res.Message, want)
	}
}

func (g *game) insert(t *testing.T) {
	r := g.random()
	want := store.OK
	if _, ok := g.m[r.id]; ok {
		want = store.Conflict
	} else {
		g.m[r.id] = r
	}
	g.outcome(t, fmt.Sprint("insert ", r), insertReq(t, r.doc()), want)
}

func (g *game) insertMany(t *testing.T) {
	req := workload.Request{Verb: workload.Insert, Collection: "c", Unordered: true}
	done, n := 0, 2+g.r.IntN(4)
	for range n {
		r := g.random()
		req.Docs = append(req.Docs, raw(t, r.doc()))
		if _, ok := g.m[r.id]; !ok {
			g.m[r.id] = r
			done++
		}
	}
	want := store.Partial
	if done == n {
		want = store.OK
	} else if done == 0 {
		want = store.Conflict
	}
	g.outcome(t, "insert many", req, want)
}

// set changes all fields but _id by operators, with $inc for n.
func (g *game) set(t *testing.T) {
	r := g.random()
	old, ok := g.m[r.id]
	if r.v < 0 {
		r.v = 0
	}
	tags := r.doc()[2].Value
	req := g.x.updateReq(d("_id", r.id), d("$inc", d("n", r.n-old.n), "$set", d("tags", tags, "in.v", r.v)))
	want := store.OK
	if !ok {
		want = store.NotFound
	} else {
		g.m[r.id] = r
	}
	g.outcome(t, fmt.Sprint("set ", r), req, want)
}

// replace upserts the whole document.
func (g *game) replace(t *testing.T) {
	r := g.random()
	req := g.x.updateReq(d("_id", r.id), r.doc())
	req.Updates[0].Upsert = true
	g.m[r.id] = r
	g.outcome(t, fmt.Sprint("replace ", r), req, store.OK)
}

// remove removes the first document of a filter, or all.
func (g *game) remove(t *testing.T) {
	filter, keep := g.query()
	selected := g.m.where(keep)
	many := g.r.IntN(4) == 0
	if many && len(selected) > 6 {
		return // some stay
	}
	req := workload.Request{Verb: workload.Delete, Collection: "c", MayBeEmpty: true,
		Updates: []workload.Statement{{Filter: raw(t, filter), Many: many}}}
	want := min(len(selected), 1)
	if many {
		want = len(selected)
	}
	res := g.x.do(req)
	if res.Outcome != store.OK || res.Docs != want {
		t.Errorf("remove %v, many %v: %s (%s) of %d, want %d", filter, many, res.Outcome, res.Message, res.Docs, want)
	}
	gone := 0
	for _, r := range selected { // any of them may be the first
		if g.x.get(r.id) == nil {
			delete(g.m, r.id)
			gone++
		}
	}
	if gone != want {
		t.Errorf("remove %v: %d are gone, want %d", filter, gone, want)
	}
}

// setSelected changes one field of all documents of a filter, or changes the first one in an order and reads it.
func (g *game) setSelected(t *testing.T) {
	filter, keep := g.query()
	selected := g.m.where(keep)
	n := g.r.IntN(20)
	if g.r.IntN(2) == 0 {
		req := g.x.updateReq(filter, d("$set", d("n", n)))
		req.Updates[0].Many, req.MayBeEmpty = true, true
		if res := g.x.do(req); res.Outcome != store.OK || res.Docs != len(selected) {
			t.Errorf("set all of %v: %s (%s) of %d, want %d", filter, res.Outcome, res.Message, res.Docs, len(selected))
		}
		for _, r := range selected {
			r.n = n
			g.m[r.id] = r
		}
		return
	}
	req := g.x.updateReq(filter, d("$set", d("n", n)))
	req.Verb, req.Sort, req.New, req.MayBeEmpty = workload.FindAndModify, raw(t, d("_id", -1)), true, true
	res := g.x.do(req)
	if len(selected) == 0 {
		if res.Outcome != store.OK || res.Docs != 0 {
			t.Errorf("modify %v: %s with %d documents", filter, res.Outcome, res.Docs)
		}
		return
	}
	last := selected[len(selected)-1]
	last.n = n
	g.m[last.id] = last
	if res.Outcome != store.OK || fmt.Sprint(sorted(decode(t, res.Doc))) != fmt.Sprint(sorted(last.doc())) {
		t.Errorf("modify %v: %s (%s) %v, want %v", filter, res.Outcome, res.Message, decode(t, res.Doc), last.doc())
	}
}

func (g *game) checkGet(t *testing.T, id int) {
	got := g.x.get(id)
	want, ok := g.m[id]
	if !ok {
		if got != nil {
			t.Errorf("get %d: %v, want nothing", id, got)
		}
		return
	}
	if a, b := fmt.Sprint(sorted(got)), fmt.Sprint(sorted(want.doc())); a != b {
		t.Errorf("get %d: %s, want %s", id, a, b)
	}
}

// sorted orders the fields by name: an update may append a field where an insert has it elsewhere.
func sorted(doc bson.D) bson.D {
	out := slices.Clone(doc)
	slices.SortFunc(out, func(a, b bson.E) int { return cmp.Compare(a.Key, b.Key) })
	return out
}

// query returns a random filter and the same condition on the model.
func (g *game) query() (bson.D, func(record) bool) {
	lo := g.r.IntN(20)
	hi := lo + g.r.IntN(6)
	tag, v := g.r.IntN(6), g.r.IntN(9)
	has := func(r record, ok func(int) bool) bool { return slices.ContainsFunc(r.tags, ok) }
	switch g.r.IntN(11) {
	case 7:
		return d("n", d("$gt", lo, "$lte", hi)), func(r record) bool { return r.n > lo && r.n <= hi }
	case 8:
		return d("tags", d("$gt", tag, "$lte", tag)), func(r record) bool {
			return has(r, func(x int) bool { return x > tag }) && has(r, func(x int) bool { return x <= tag })
		}
	case 9:
		return d("n", d("$in", bson.A{lo, hi, nil})), func(r record) bool { return r.n == lo || r.n == hi }
	case 10:
		return d("tags", d("$ne", tag), "in.v", d("$lte", v)), func(r record) bool {
			return !slices.Contains(r.tags, tag) && r.v >= 0 && r.v <= v
		}
	case 0:
		return d("n", d("$gte", lo, "$lt", hi)), func(r record) bool { return r.n >= lo && r.n < hi }
	case 1:
		return d("n", lo, "in.v", d("$gte", v)), func(r record) bool { return r.n == lo && r.v >= v }
	case 2:
		return d("tags", tag), func(r record) bool { return slices.Contains(r.tags, tag) }
	case 3: // one element may be at or above and another one below
		return d("tags", d("$gte", tag, "$lt", tag)), func(r record) bool {
			return has(r, func(x int) bool { return x >= tag }) && has(r, func(x int) bool { return x < tag })
		}
	case 4:
		return d("in.v", nil), func(r record) bool { return r.v < 0 }
	case 5:
		return d("_id", d("$gte", lo, "$lt", hi+20)), func(r record) bool { return r.id >= lo && r.id < hi+20 }
	}
	return d("tags", tag, "n", d("$lt", hi)), func(r record) bool { return r.n < hi && slices.Contains(r.tags, tag) }
}

// checkFind compares the result of a find page by page, in an order that the _id or an index has.
func (g *game) checkFind(t *testing.T) {
	filter, keep := g.query()
	want := g.m.where(keep)
	sort := d("_id", 1)
	if g.r.IntN(2) == 0 { // in the order of an index, backwards, or in memory
		first, second := 1-2*g.r.IntN(2), 1-2*g.r.IntN(2)
		sort = d("n", first, "in.v", second, "_id", 1)
		slices.SortStableFunc(want, func(a, b record) int {
			return cmp.Or(first*cmp.Compare(a.n, b.n), second*cmp.Compare(max(a.v, -1), max(b.v, -1)), cmp.Compare(a.id, b.id))
		})
	} else if g.r.IntN(2) == 0 {
		sort = d("_id", -1)
		slices.Reverse(want)
	}
	req := findReq(t, filter)
	req.Sort, req.MayBeEmpty = raw(t, sort), true
	req.Skip, req.Limit = int64(g.r.IntN(4)), int64(g.r.IntN(5))
	want = want[min(int(req.Skip), len(want)):]
	if req.Limit > 0 {
		want = want[:min(int(req.Limit), len(want))]
	}
	res := g.x.do(req)
	if res.Outcome != store.OK || res.Docs != len(want) {
		t.Errorf("find %v sort %v skip %d limit %d: %s with %d documents, want %d", filter, sort, req.Skip, req.Limit, res.Outcome, res.Docs, len(want))
		return
	}
	if len(want) > 0 && decode(t, res.Doc)[0].Value != int32(want[0].id) {
		t.Errorf("find %v sort %v skip %d: first %v, want _id %d", filter, sort, req.Skip, decode(t, res.Doc), want[0].id)
	}
}

// checkCount compares a count and a sum by aggregation.
func (g *game) checkCount(t *testing.T) {
	filter, keep := g.query()
	want := g.m.where(keep)
	sum := 0
	for _, r := range want {
		sum += r.n
	}
	pipeline := bson.A{d("$match", filter), d("$group", d("_id", nil, "count", d("$sum", 1), "sum", d("$sum", "$n")))}
	res := g.x.do(workload.Request{
		Verb: workload.Aggregate, Collection: "c", Pipeline: rawArray(t, pipeline), MayBeEmpty: true,
	})
	got := decode(t, res.Doc)
	if len(want) == 0 {
		if got != nil {
			t.Errorf("count %v: %v, want nothing", filter, got)
		}
		return
	}
	if got == nil || got[1].Value != int32(len(want)) || got[2].Value != int32(sum) {
		t.Errorf("count %v: %v, want %d and sum %d", filter, got, len(want), sum)
	}
}
