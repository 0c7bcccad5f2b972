package ledger

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/workload"
)

// A document is taken for one of a run only if that is proven: not a copy, not one that somebody else changed into
// another, and not one that only looks like it.
func TestRemainsAreProven(t *testing.T) {
	const run = 0x01020304
	raw := func(d bson.D) bson.Raw {
		b, err := bson.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	l := New(Options{Run: run, Seed: 7})
	w, err := l.Workload(Params{Insert: 1})
	if err != nil {
		t.Fatal(err)
	}
	var op workload.Op
	w.Stream(3, 4).Next(&op)
	inserted := bson.Raw(op.Requests[0].Docs[0])
	var fields bson.D
	if err := bson.Unmarshal(inserted, &fields); err != nil {
		t.Fatal(err)
	}
	with := func(change func(bson.D) bson.D) bson.Raw { return raw(change(append(bson.D{}, fields...))) }
	slot := func(weight int64, more ...bson.E) bson.Raw {
		id := ownID(run, 3, updates, 5)
		return raw(append(bson.D{{Key: "_id", Value: bson.ObjectID(id)}, {Key: "b", Value: weight}}, more...))
	}
	weight := weightOf(run, 3, updateOf(5, 1))
	counter := counterName(run)
	alike := bson.D{{Key: "_id", Value: "x"}, {Key: counter, Value: "mine"}, {Key: counter + "0", Value: int32(1)}}
	for name, c := range map[string]struct {
		doc      bson.Raw
		whole    bool
		counters int
	}{
		"inserted":                          {inserted, true, 0},
		"inserted and updated by another":   {with(func(d bson.D) bson.D { return append(d, bson.E{Key: counterName(9), Value: int32(1)}) }), true, 1},
		"a copy":                            {with(func(d bson.D) bson.D { d[0].Value = bson.NewObjectID(); return d }), false, 0},
		"a field of that name":              {with(func(d bson.D) bson.D { d[len(d)-1].Value = "mine"; return d }), false, 0},
		"a slot":                            {slot(2 * weight), true, 0},
		"a slot with another weight":        {slot(2*weight + 1), false, 0},
		"a slot with somebody else's field": {slot(weight, bson.E{Key: "name", Value: "mine"}), false, 0},
		"a slot without counters":           {raw(bson.D{{Key: "_id", Value: bson.ObjectID(ownID(run, 3, updates, 5))}}), false, 0},
		"somebody else's":                   {raw(bson.D{{Key: "_id", Value: bson.NewObjectID()}, {Key: "a", Value: int64(1)}}), false, 0},
		"somebody else's, updated":          {raw(bson.D{{Key: "_id", Value: "x"}, {Key: counter, Value: int32(2)}}), false, 1},
		"a name like a counter's":           {raw(alike), false, 0},
		"no BSON":                           {bson.Raw{5, 0}, false, 0},
	} {
		got := RemainsIn(c.doc, true)
		if got.Whole != c.whole || c.whole && got.Run != run || len(got.Counters) != c.counters {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if RemainsIn(slot(weight), false).Whole {
		t.Error("a slot counts in a collection of another workload")
	}
	w.Loader().Load(0, 1, &op)
	loaded := bson.Raw(op.Requests[0].Docs[0])
	other := raw(bson.D{{Key: "_id", Value: "record-000000000000"}, {Key: "p", Value: "mine"}})
	if !IsLoaded(loaded, 7) || IsLoaded(loaded, 8) || IsLoaded(other, 7) || IsLoaded(inserted, 7) {
		t.Error("a document of the load phase is not told from others")
	}
}
