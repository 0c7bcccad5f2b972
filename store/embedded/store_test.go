package embedded

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
	"go.mongodb.org/mongo-driver/v2/bson"
)

func TestInsertFindUpdate(t *testing.T) {
	x := newTester(t)
	x.insert(bson.D{{Key: "_id", Value: "a"}, {Key: "n", Value: int32(1)}, {Key: "s", Value: "one"}})
	x.expect(store.Conflict, insertReq(t, d("_id", "a")))
	x.expect(store.OK, x.updateReq(bson.D{{Key: "_id", Value: "a"}}, bson.D{{Key: "$set", Value: bson.D{{Key: "s", Value: "two"}}}}))
	want := bson.D{{Key: "_id", Value: "a"}, {Key: "n", Value: int32(1)}, {Key: "s", Value: "two"}}
	if diff := cmp.Diff(want, x.get("a")); diff != "" {
		t.Error(diff)
	}
	x.expect(store.NotFound, x.updateReq(d("_id", "b"), d("$set", d("s", "two"))))
	x.expect(store.NotFound, workload.Request{Verb: workload.Find, Collection: "c", Filter: raw(t, d("_id", "b")), Limit: 1})
}

func TestDeadlinePassed(t *testing.T) {
	x := newTester(t)
	req := workload.Request{Verb: workload.Insert, Collection: "c", Docs: [][]byte{raw(t, bson.D{{Key: "_id", Value: 1}})}}
	x.s.Do(time.Now().Add(-time.Second), &req, &x.res)
	if x.res.Outcome != store.NotApplied || x.res.Reason != store.Timeout || x.res.Attempts != 0 {
		t.Errorf("late insert: %+v, want not-applied by timeout without an attempt", x.res)
	}
	req = workload.Request{Verb: workload.Find, Collection: "c"}
	x.s.Do(time.Now().Add(-time.Second), &req, &x.res)
	if x.res.Outcome != store.Failed || x.res.Reason != store.Timeout {
		t.Errorf("late find: %+v, want failed by timeout", x.res)
	}
}

func TestReopenKeepsData(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir, store.Concern{}, options{})
	x := testerOn(t, st)
	ctx := context.Background()
	ix := []workload.Index{{Collection: "c", Name: "n_1", Keys: raw(t, d("n", 1))}}
	if err := st.EnsureIndexes(ctx, ix); err != nil {
		t.Fatal(err)
	}
	for i := range 500 {
		x.insert(bson.D{{Key: "_id", Value: i}, {Key: "n", Value: bson.A{i % 7, i % 5}}})
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	st = open(t, dir, store.Concern{}, options{})
	if n, err := st.Count(ctx, "c"); n != 500 || err != nil {
		t.Fatalf("count after reopen: %d, %v", n, err)
	}
	c := st.lookup("c")
	if len(c.indexes) != 1 || !c.indexes[0].multikey.Load() {
		t.Fatalf("the index was not kept: %+v", c.indexes)
	}
	if err := st.Drop(ctx, "c"); err != nil {
		t.Fatal(err)
	}
	if n, err := st.Count(ctx, "c"); n != 0 || err != nil {
		t.Fatalf("count after drop: %d, %v", n, err)
	}
	if err := st.Drop(ctx, "c"); err != nil {
		t.Errorf("dropping what does not exist: %v", err)
	}
}

func TestUnacknowledged(t *testing.T) {
	st := open(t, t.TempDir(), store.Concern{W: "0"}, options{})
	x := testerOn(t, st)
	x.expect(store.Unacknowledged, insertReq(t, d("_id", 1)))
	if x.get(1) == nil {
		t.Error("the document is not there")
	}
}

func TestSyncs(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		c    store.Concern
		want bool
	}{
		{store.Concern{}, false},
		{store.Concern{W: "1"}, false},
		{store.Concern{W: "1", Journal: &yes}, true},
		{store.Concern{Journal: &yes}, true},
		{store.Concern{W: "majority"}, true},
		{store.Concern{W: "majority", Journal: &no}, false},
		{store.Concern{W: "0"}, false},
	} {
		if got := syncs(c.c); got != c.want {
			t.Errorf("syncs(%+v) = %v, want %v", c.c, got, c.want)
		}
	}
	cfg := store.Config{Concern: store.Concern{W: "0", Journal: &yes}}
	if _, err := openWith(context.Background(), t.TempDir(), cfg, options{}); err == nil {
		t.Error("w:0 with j:true was accepted")
	}
}

// TestPointReadAllocates: what Plimsoll adds to Pebble's own point read is nothing.
func TestPointReadAllocates(t *testing.T) {
	x := newTester(t)
	for i := range 100 {
		x.insert(bson.D{{Key: "_id", Value: i}, {Key: "v", Value: make([]byte, 1000)}})
	}
	req := workload.Request{Verb: workload.Find, Collection: "c", Filter: raw(t, bson.D{{Key: "_id", Value: 42}}), Limit: 1}
	deadline := time.Now().Add(time.Hour)
	n := testing.AllocsPerRun(1000, func() { x.s.Do(deadline, &req, &x.res) })
	if x.res.Outcome != store.OK || n != 0 {
		t.Errorf("a point read makes %v allocations (outcome %s), want 0", n, x.res.Outcome)
	}
}
