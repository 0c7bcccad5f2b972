package ledger

import (
	"bytes"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/drill/ledger/ledgertest"
)

// A tag must leave the document as it was, be found again, and notice any change of a byte.
func FuzzTag(f *testing.F) {
	f.Add(ledgertest.Marshal(bson.D{{Key: "_id", Value: "a"}, {Key: "x", Value: int32(1)}}), int64(7), uint16(3))
	f.Add(ledgertest.Marshal(bson.D{{Key: "x", Value: bson.A{1, "b"}}, {Key: "_id", Value: int64(4)}, {Key: tagName,
		Value: "mine"}}),
		int64(1<<38), uint16(40))
	f.Add(ledgertest.Marshal(bson.D{{Key: counterName(1), Value: int32(9)}, {Key: "_id", Value: "b"}, {Key: "_id", Value: "c"},
		{Key: "x", Value: nil}}), int64(9), uint16(50))
	f.Add([]byte{5, 0, 0, 0, 0}, int64(0), uint16(0))
	f.Fuzz(func(t *testing.T, doc []byte, sequence int64, at uint16) {
		var r reading
		r.read(doc, counterName(1), true) // anything may be there
		tagged, ok := appendTagged([]byte("before"), doc, 1, 5, sequence)
		if !ok {
			if !bytes.Equal(tagged, []byte("before")) {
				t.Fatal("a document that cannot be tagged left something behind")
			}
			return
		}
		tagged = tagged[len("before"):]
		if !bytes.HasPrefix(tagged[4:], doc[4:len(doc)-1]) {
			t.Fatal("the document was changed")
		}
		if bson.Raw(doc).Validate() != nil {
			return
		}
		if !r.read(tagged, "", false) || !r.trusted || r.tag.writer != 5 || r.tag.sequence != sequence ||
			r.tag.body != r.body || r.tag.id != bound(r.tag.self, r.id) {
			t.Fatalf("%x is read as %+v", tagged, r)
		}
		i := int(at) % len(tagged)
		tagged[i] ^= 1
		if r.read(tagged, "", false) && r.trusted && r.tag.body == r.body && r.tag.id == bound(r.tag.self, r.id) &&
			r.tag.sequence == sequence {
			if tagged[i] ^= 1; i >= 4 && i < len(tagged)-1 {
				t.Fatalf("a change of byte %d of %x was not noticed", i, tagged)
			}
		}
	})
}

// What is counted must be the same update with one increment more.
func FuzzCounted(f *testing.F) {
	f.Add(ledgertest.Marshal(bson.D{{Key: "$set", Value: bson.D{{Key: "x", Value: 1}}}}))
	f.Add(ledgertest.Marshal(bson.D{{Key: "$inc", Value: bson.D{{Key: "x", Value: 1}}}, {Key: "$set",
		Value: bson.D{{Key: "y", Value: 1}}}}))
	f.Add(ledgertest.Marshal(bson.D{{Key: "x", Value: 1}}))
	f.Add([]byte("\x17\x00\x00\x00\x03$000\x00\f\x00\x00\x0000000000\x00"))
	f.Fuzz(func(t *testing.T, update []byte) {
		got, ok := appendCounted([]byte("before"), update, []byte(counterName(7)))
		if !ok {
			if !bytes.Equal(got, []byte("before")) {
				t.Fatal("an update that cannot be counted left something behind")
			}
			return
		}
		var d bson.D
		// types that there are not are seen by the latter only
		if bson.Raw(update).Validate() != nil || bson.Unmarshal(update, &d) != nil {
			return
		}
		d = nil
		if err := bson.Unmarshal(got[len("before"):], &d); err != nil {
			t.Fatal(err)
		}
		inc, _ := ledgertest.Field(d, "$inc").(bson.D)
		if n := len(inc); n == 0 || inc[n-1].Key != "_plimsoll00000007" || inc[n-1].Value != int32(1) {
			t.Fatalf("%v does not count", d)
		}
	})
}

// What another process hands over may be anything. It is refused, or the ledger can be audited with it.
func FuzzTake(f *testing.F) {
	l := New(Options{Run: 3, Seed: 4, Writers: 2})
	w := l.writer(1)
	for i := range int64(pageWrites + 100) {
		w.inserts.resolve(w.inserts.begin(1), state(1+i%3), 0, i*1000)
		w.updates.resolve(w.updates.begin(1), acknowledged, 0, i*1000)
	}
	w.miss(inserts, 5, 77)
	l.shared().count(9, acknowledged)
	w.open = []undecided{{groups: []uint32{9, 10}, inserts: []int64{3}}}
	delta := l.Delta()
	f.Add(delta[len(magic) : len(delta)-4])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, body []byte) {
		got := New(Options{Run: 3, Seed: 4})
		if got.Remote(0).Take(sealed(body)) != nil {
			return
		}
		own, err := got.Workload(Params{})
		if err == nil {
			_, err = got.Audit(t.Context(), AuditOptions{Workload: own})
		}
		if err != nil {
			t.Fatal(err)
		}
	})
}

// sealed puts the frame of a hand-over around a body.
func sealed(body []byte) []byte {
	e := encoder{b: append([]byte(magic), body...)}
	return e.seal()
}
