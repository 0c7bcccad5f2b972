package ledger

import (
	"bytes"
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// log is a place of bytes.
type log struct {
	reader
	bytes []byte
}

func (l *log) Stretches(_ context.Context, each func([]byte) error) error { return each(l.bytes) }

// The tags of lost writes are found among other bytes; damaged ones, cut ones and those of other runs are not.
func TestTraces(t *testing.T) {
	l, own, w := script(t, 100, func(i int) bool { return i >= 90 })
	_, _, all := script(t, 100, func(int) bool { return false })
	raw := func(n int64) []byte { return marshal(all.docs[keyOf(bson.ObjectID(ownID(5, 0, inserts, n)))]) }
	var old bytes.Buffer
	for n := int64(85); n < 95; n++ {
		old.WriteString("what a log has between them _plimsoll")
		old.Write(raw(n))
	}
	damaged := raw(96)
	damaged[bytes.Index(damaged, tagStart)+len(tagStart)+tagSequenceAt-tagRunAt+8] ^= 1
	old.Write(damaged)
	foreign, _ := appendTagged(nil, own.(*ownWorkload).appendOwn(nil, 4, 0, 97), 4, 0, 97)
	old.Write(foreign)
	cut := raw(98)
	old.Write(cut[:bytes.Index(cut, tagStart)+len(tagStart)+20])
	place := &log{reader{name: "the old timeline"}, old.Bytes()}
	got := audited(t, l, AuditOptions{Workload: own, Final: &reader{name: FinalRead, w: w}, Elsewhere: []Source{place}})
	if len(got.Lost) != 10 {
		t.Fatalf("%d writes are lost", len(got.Lost))
	}
	for _, x := range got.Lost {
		want := ""
		if x.Sequence < 95 {
			want = "the old timeline"
		}
		if x.Found != want {
			t.Errorf("%d is found in %q, want %q", x.Sequence, x.Found, want)
		}
	}
	if last := got.Reads[len(got.Reads)-1]; last.Source != "the old timeline" || last.Documents != 10 || last.Problem != "" {
		t.Errorf("%+v", last)
	}
}
