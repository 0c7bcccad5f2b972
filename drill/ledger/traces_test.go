package ledger

import (
	"bytes"
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/drill/ledger/ledgertest"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// log is a place of bytes.
type log struct {
	ledgertest.Reader
	bytes []byte
}

func (l *log) Stretches(_ context.Context, each func([]byte) error) error { return each(l.bytes) }

// The tags of lost writes are found among other bytes; damaged ones, cut ones and those of other runs are not.
func TestTraces(t *testing.T) {
	l, own, w := script(t, 100, func(i int) bool { return i >= 90 })
	_, _, all := script(t, 100, func(int) bool { return false })
	raw := func(n int64) []byte {
		return ledgertest.Marshal(all.Docs[ledgertest.KeyOf(bson.ObjectID(ownID(5, 0, inserts, n)))])
	}
	var old bytes.Buffer
	for n := int64(85); n < 95; n++ {
		old.WriteString("what a log has between them _plimsoll")
		old.Write(raw(n))
	}
	damaged := raw(96)
	damaged[bytes.Index(damaged, tagStart)+tagAt+tagSelf-1] ^= 1
	old.Write(damaged)
	foreign, _ := appendTagged(nil, own.(*ownWorkload).appendOwn(nil, 4, 0, 97), 4, 0, 97)
	old.Write(foreign)
	cut := raw(98)
	old.Write(cut[:bytes.Index(cut, tagStart)+len(tagStart)+20])
	place := &log{ledgertest.Reader{Source: "the old timeline"}, old.Bytes()}
	got := audited(t, l, AuditOptions{Workload: own, Final: &ledgertest.Reader{Source: FinalRead, W: w},
		Discarded: []Source{place}})
	if len(got.Lost) != 10 {
		t.Fatalf("%d writes are lost", len(got.Lost))
	}
	for _, lost := range got.Lost {
		want := ""
		if lost.Sequence < 95 {
			want = "the old timeline"
		}
		if lost.Found != want {
			t.Errorf("%d is found in %q, want %q", lost.Sequence, lost.Found, want)
		}
	}
	if last := got.Reads[len(got.Reads)-1]; last.Source != "the old timeline" || last.Documents != 10 || last.Problem != "" {
		t.Errorf("%+v", last)
	}
}

// A log has a slot as it was after each of its updates, the last counter without its high bytes. Updates are found by
// the weights that only they have: not those of other runs, nor damaged ones.
func TestTracesOfUpdates(t *testing.T) {
	const n, kept = 3 * slotCounters * liveSlots / 2, 200
	l := New(Options{Run: 5, Writers: 1})
	own, err := l.Workload(Params{Update: 1})
	if err != nil {
		t.Fatal(err)
	}
	w, log5 := ledgertest.New(nil, nil), &bytes.Buffer{}
	s := own.Stream(0, 1)
	observe := l.Observe(0)
	var op workload.Op
	for i := range int64(n) {
		s.Next(&op)
		slot, counter := slotOf(i)
		id := bson.ObjectID(ownID(5, 0, updates, slot))
		if i < kept {
			w.Apply(id, ledgertest.Unmarshal(op.Requests[0].Updates[0].Update), 1)
		}
		d := bson.D{{Key: "_id", Value: id}}
		for c := range counter + 1 {
			d = append(d, bson.E{Key: string(rune('a' + c)), Value: int32(weightOf(5, 0, updateOf(slot, c)))})
		}
		raw := ledgertest.Marshal(d)
		switch {
		case i == n-1: // another weight
			raw[len(raw)-4]++
		case i == n-2: // another run
			raw[4+5]++
		case i >= n-liveSlots-2:
			raw = nil // nothing of it
		case i%3 == 0: // stored as another type
			raw = ledgertest.Marshal(append(d[:len(d)-1:len(d)-1], bson.E{Key: d[len(d)-1].Key,
				Value: int64(d[len(d)-1].Value.(int32))}))
		}
		log5.WriteString("between")
		log5.Write(raw[:max(0, len(raw)-2)])
		observe(&op, &load.Settlement{Outcome: store.OK, Confirmed: 1, Failed: -1, Attempts: 1, Ended: i})
	}
	place := &log{ledgertest.Reader{Source: "the old timeline"}, log5.Bytes()}
	got := audited(t, l, AuditOptions{Workload: own, Final: &ledgertest.Reader{Source: FinalRead, W: w},
		Discarded: []Source{place},
		MostLost:  n})
	if len(got.Lost) != n-kept {
		t.Fatalf("%d updates are lost, want %d", len(got.Lost), n-kept)
	}
	for _, lost := range got.Lost {
		want := "the old timeline"
		// that one stands before the one with another weight
		if lost.Sequence >= n-liveSlots-2 && lost.Sequence != n-1-liveSlots {
			want = ""
		}
		if lost.Found != want {
			t.Errorf("update %d (%s) is found in %q, want %q", lost.Sequence, lost.ID, lost.Found, want)
		}
	}
	if last := got.Reads[len(got.Reads)-1]; last.Documents != n-liveSlots-1 {
		t.Errorf("%d updates were found, want %d", last.Documents, n-liveSlots-1)
	}
}

// Of the last counter, the log of a row may have one byte, if the counter before it has the same bytes after that one.
// A counter of which more should be there is not found.
func TestTracesOfRowsThatEndAlike(t *testing.T) {
	const n = 20_000
	l := New(Options{Run: 5, Writers: 1})
	own, err := l.Workload(Params{Update: 1})
	if err != nil {
		t.Fatal(err)
	}
	s, observe, old := own.Stream(0, 1), l.Observe(0), &bytes.Buffer{}
	alike := map[int64]bool{}
	var op workload.Op
	for i := range int64(n) {
		s.Next(&op)
		observe(&op, &load.Settlement{Outcome: store.OK, Confirmed: 1, Failed: -1, Attempts: 1, Ended: i})
		slot, counter := slotOf(i)
		if counter == 0 {
			continue
		}
		last, before := weightOf(5, 0, i), weightOf(5, 0, updateOf(slot, counter-1))
		alike[i] = last>>8 == before>>8
		raw := ledgertest.Marshal(bson.D{{Key: "_id", Value: bson.ObjectID(ownID(5, 0, updates, slot))},
			{Key: string(rune('a' + counter)), Value: int32(last)}})
		old.Write(raw[:len(raw)-4])
		old.WriteByte(^byte(last >> 8)) // another one than the next of the counter
	}
	got := audited(t, l, AuditOptions{Workload: own,
		Final:     &ledgertest.Reader{Source: FinalRead, W: ledgertest.New(nil, nil)},
		Discarded: []Source{&log{ledgertest.Reader{Source: "the old timeline"}, old.Bytes()}}, MostLost: n})
	found := 0
	for _, lost := range got.Lost {
		if lost.Found != "" {
			found++
		}
		if (lost.Found != "") != alike[lost.Sequence] {
			t.Errorf("update %d is found in %q, and the rows end alike: %v", lost.Sequence, lost.Found, alike[lost.Sequence])
		}
	}
	if len(got.Lost) != n || found == 0 {
		t.Errorf("%d updates are lost, %d of them found", len(got.Lost), found)
	}
}
