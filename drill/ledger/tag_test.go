package ledger

import (
	"encoding/hex"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/drill/ledger/ledgertest"
)

// The form of a tag is that of all ledgers: what one process writes another one reads, and people find documents by it.
func TestTagIsSmallAndOfOneForm(t *testing.T) {
	plain := ledgertest.Marshal(bson.D{{Key: "_id", Value: "a"}, {Key: "x", Value: int32(1)}})
	tagged, ok := appendTagged(nil, plain, 0x2a, 3, 17)
	if !ok || len(tagged) != len(plain)+40 {
		t.Fatalf("%v, %d bytes more", ok, len(tagged)-len(plain))
	}
	if err := bson.Raw(tagged).Validate(); err != nil {
		t.Fatal(err)
	}
	subtype, v := bson.Raw(tagged).Lookup(tagName).Binary()
	if got := hex.EncodeToString(v); subtype != 0 || got != "0000002a0000030000000011"+"69e89ecb"+"b9d53198"+"a57fab79" {
		t.Errorf("subtype %d, %s", subtype, got)
	}
	if got := tagText(0x2a, 3, 17); got != "_plimsoll: 0000002a0000030000000011…" {
		t.Errorf("named %q", got)
	}
	for _, bad := range []tag{{writer: maxWriters}, {writer: -1}, {sequence: maxSequence}, {sequence: -1}} {
		if _, ok := appendTagged(nil, plain, 1, bad.writer, bad.sequence); ok {
			t.Errorf("writer %d, sequence %d do not fit into a tag, and were written", bad.writer, bad.sequence)
		}
	}
}

// What has the name of a tag and is none, or is damaged, counts as a tag that cannot be trusted.
func TestWrongTags(t *testing.T) {
	plain := bson.D{{Key: "_id", Value: "a"}, {Key: "x", Value: int32(1)}}
	tagged, _ := appendTagged(nil, ledgertest.Marshal(plain), 0x2a, 3, 17)
	_, v := bson.Raw(tagged).Lookup(tagName).Binary()
	wrong := []any{
		bson.D{{Key: "r", Value: int64(1)}, {Key: "w", Value: int32(1)}, {Key: "s", Value: int64(1)},
			{Key: "c", Value: int64(1)}}, bson.D{}, nil, "text", int64(4),
		string(v), bson.Binary{}, bson.Binary{Data: v[:tagValue-1]}, bson.Binary{Data: append(append([]byte{}, v...), 0)},
		bson.Binary{Subtype: 2, Data: v},
		bson.Binary{Subtype: 0x80, Data: v}, bson.A{bson.Binary{Data: v}},
	}
	for i := range 8 * tagID { // each bit of what names the write, that of the kind among them
		data := append([]byte{}, v...)
		data[i/8] ^= 1 << (i % 8)
		wrong = append(wrong, bson.Binary{Data: data})
	}
	for _, value := range wrong {
		var r reading
		if doc := ledgertest.Marshal(append(plain[:2:2], bson.E{Key: tagName, Value: value})); !r.read(doc, "",
			false) || !r.tagged ||
			r.trusted {
			t.Errorf("%v: tagged %v, trusted %v", value, r.tagged, r.trusted)
		}
	}
}

// Counters of any run are no part of what was inserted, whatever number a server has made of them; fields with names
// that only look like theirs are.
func TestCounters(t *testing.T) {
	plain := ledgertest.Marshal(bson.D{{Key: "_id", Value: "a"}, {Key: "x", Value: int32(1)}})
	tagged, _ := appendTagged(nil, plain, 0x2a, 3, 17)
	inserted := ledgertest.Unmarshal(tagged)
	const name = "_plimsoll0000002a"
	for _, c := range []struct {
		e       bson.E
		updates int64
		counted bool
		body    bool // it is one of the document's own
	}{
		{bson.E{Key: name, Value: int32(7)}, 7, true, false},
		{bson.E{Key: name, Value: int64(math.MaxInt32 + 1)}, math.MaxInt32 + 1, true, false},
		{bson.E{Key: name, Value: 3.0}, 3, true, false},
		{bson.E{Key: name, Value: "7"}, 0, false, false},
		{bson.E{Key: "_plimsoll0000002b", Value: int32(7)}, 0, false, false},
		{bson.E{Key: "_plimsollfedcba98", Value: "?"}, 0, false, false},
		{bson.E{Key: "_plimsoll0000002A", Value: int32(7)}, 0, false, true},
		{bson.E{Key: "_plimsoll000002a", Value: int32(7)}, 0, false, true},
		{bson.E{Key: "_plimsoll00000002a", Value: int32(7)}, 0, false, true},
		{bson.E{Key: "_plimsoll0000002g", Value: int32(7)}, 0, false, true},
		{bson.E{Key: "_plimsolk0000002a", Value: int32(7)}, 0, false, true},
	} {
		var r reading
		if !r.read(ledgertest.Marshal(append(inserted[:3:3], c.e)), name, false) || !r.trusted || r.updates != c.updates ||
			r.counted != c.counted {
			t.Errorf("%v is read as %d updates, counted %v", c.e, r.updates, r.counted)
		}
		if same := r.body == r.tag.body; same == c.body {
			t.Errorf("%v: the inserted document is the same: %v", c.e, same)
		}
		// In a document of the load phase, which has no tag.
		before := reading{}
		before.read(plain, name, false)
		r.read(ledgertest.Marshal(bson.D{{Key: "_id", Value: "a"}, {Key: "x", Value: int32(1)}, c.e}), name, true)
		if r.tagged || r.updates != c.updates || (r.body == before.body) == c.body {
			t.Errorf("%v without a tag: tagged %v, %d updates", c.e, r.tagged, r.updates)
		}
	}
}

// What stands before the tag was inserted, whatever its name is; what follows it shows in the sum of the fields of the
// ledger, by which members are compared.
func TestNamesOfTheLedgerInDocuments(t *testing.T) {
	rng := rand.New(rand.NewPCG(firstSeed(t), 9))
	names := []string{"_id", tagName, counterName(42), counterName(43), "_", "_i", "x", "_plimsoll_"}
	for range 3000 {
		d := bson.D{{Key: "_id", Value: rng.Int32()}}
		for i := range rng.IntN(6) {
			value := any(rng.Int32())
			if rng.IntN(3) == 0 {
				value = bson.Binary{Data: make([]byte, 12*rng.IntN(3))}
			}
			d = append(d, bson.E{Key: names[rng.IntN(len(names))] + strings.Repeat("k", i/3), Value: value})
		}
		rng.Shuffle(rng.IntN(len(d))+1, func(i, j int) { d[i], d[j] = d[j], d[i] })
		doc, ok := appendTagged(nil, ledgertest.Marshal(d), 42, 5, rng.Int64N(maxSequence))
		var r reading
		if !ok || !r.read(doc, counterName(42), false) || !r.trusted || r.body != r.tag.body ||
			r.tag.id != bound(r.tag.self, r.id) || r.counted {
			t.Fatalf("%v is read as %+v", d, r)
		}
		marks := r.marks
		updated := append(ledgertest.Unmarshal(doc), bson.E{Key: counterName(43), Value: int32(1)},
			bson.E{Key: counterName(42), Value: int32(2)})
		if !r.read(ledgertest.Marshal(updated), counterName(42), false) || !r.trusted || r.body != r.tag.body ||
			r.updates != 2 ||
			r.marks == marks {
			t.Fatalf("%v is read as %+v", updated, r)
		}
	}
}
