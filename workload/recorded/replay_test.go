package recorded

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/workload"
	"github.com/plimsoll-bench/plimsoll/workload/own"
)

// record makes a recording.
func record(t testing.TB, o Options, operations iter.Seq2[Operation, error]) ([]byte, Header) {
	t.Helper()
	m := NewModel(o)
	var behind, out bytes.Buffer
	r, err := NewRecorder(m, "shop", &behind)
	if err != nil {
		t.Fatal(err)
	}
	for op, err := range operations {
		if err != nil {
			_ = m.Skip(&op, err)
			continue
		}
		m.Add(&op)
		if err := r.Add(&op); err != nil {
			t.Fatal(err)
		}
	}
	f, numbers, err := m.File(Source{Name: "shop", From: "test", Database: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	h, err := r.Finish(&out, f, numbers)
	if err != nil {
		t.Fatal(err)
	}
	return append(out.Bytes(), behind.Bytes()...), h
}

func openBytes(data []byte) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
}

// TestReplaySendsWhatWasRecorded replays captured commands with their values: the same commands in the same order, at
// the same times or twice as fast, and again from the first one at the end.
func TestReplaySendsWhatWasRecorded(t *testing.T) {
	data, h := record(t, Options{Values: true}, Read(bytes.NewReader(testFile(t, "commands.jsonl"))))
	if h.Operations != 5 || h.Commands != 5 || h.Left != 0 || h.Length != time.Second {
		t.Errorf("header %+v", h)
	}
	w, err := OpenReplay(openBytes(data), workload.Spec{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	stream := w.Stream(0, 1)
	var op workload.Op
	var sent []string
	for i := range w.Total() + 1 {
		stream.Turn(i)
		stream.Next(&op)
		doc, err := bson.MarshalExtJSON(own.Command(&op.Requests[0]), false, false)
		if err != nil {
			t.Fatal(err)
		}
		sent = append(sent, w.Classes()[op.Class].Name+" "+string(doc))
		stream.Done(&op, true)
	}
	var text bytes.Buffer
	for _, s := range sent {
		fmt.Fprintln(&text, s)
	}
	golden(t, "replay.golden", text.String())
	if sent[0] != sent[5] {
		t.Errorf("the recording does not begin again: %s", sent[5])
	}
	for _, speed := range []float64{1, 2} {
		times := w.Times(w.Rate() * speed)
		for i, want := range []float64{0, 250, 500, 750, 1000, 1250} {
			at, ok := times.Next()
			if want /= speed; !ok || at.Round(time.Microsecond) != time.Duration(want*float64(time.Millisecond)) {
				t.Errorf("at speed %g, operation %d is due at %v, want %gms", speed, i, at, want)
			}
		}
	}
}

// TestReplayMakesOperations replays a profile without values: the workload makes each operation.
func TestReplayMakesOperations(t *testing.T) {
	data, h := record(t, Options{}, Read(bytes.NewReader(testFile(t, "profile-4.4.jsonl"))))
	if h.Operations != 20 || h.Commands != 0 || h.Left != 2 {
		t.Errorf("header %+v", h)
	}
	w, err := OpenReplay(openBytes(data), workload.Spec{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if w.Total() != 19 { // the server refused one
		t.Errorf("%d operations", w.Total())
	}
	counts := map[string]int{}
	var op workload.Op
	streams := []workload.Stream{w.Stream(0, 2), w.Stream(1, 2)}
	for i := range w.Total() {
		s := streams[i%2]
		s.Turn(i)
		s.Next(&op)
		counts[w.Classes()[op.Class].Name]++
		s.Done(&op, true)
	}
	if counts["insert-orders"] != 3 || counts["update-orders-_id-a"] != 2 || len(counts) != 16 {
		t.Errorf("operations %v", counts)
	}
}

// TestRecordingSortsByBegin records operations in the order of their ends.
func TestRecordingSortsByBegin(t *testing.T) {
	cmd, _ := bson.Marshal(bson.D{{Key: "find", Value: "c"}, {Key: "filter", Value: bson.D{}}})
	begin := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	data, h := record(t, Options{}, func(yield func(Operation, error) bool) {
		for i, ms := range []int{5, 4, 900, 0, 1000} { // the fourth one took long
			op := Operation{Time: begin.Add(time.Duration(ms) * time.Millisecond), Database: "shop", Collection: "c", Verb: "find",
				Command: cmd, Count: 1, Duration: time.Duration(i)}
			if !yield(op, nil) {
				return
			}
		}
	})
	if h.Late != 0 || !h.Began.Equal(begin) || h.Length != time.Second {
		t.Errorf("header %+v", h)
	}
	in, err := openReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer in.close()
	for _, want := range []time.Duration{0, 4, 5, 900, 1000} {
		if e, ok := in.next(true); !ok || e.at != want*time.Millisecond {
			t.Errorf("an operation at %v, want %v", e.at, want*time.Millisecond)
		}
	}
}

// FuzzRecording opens damaged recordings.
func FuzzRecording(f *testing.F) {
	data, _ := record(f, Options{Values: true}, Read(bytes.NewReader(testFile(f, "commands.jsonl"))))
	f.Add(data)
	f.Add(data[:len(data)/2])
	f.Add(data[:len(data)-3])
	f.Fuzz(func(t *testing.T, data []byte) {
		w, err := OpenReplay(openBytes(data), workload.Spec{Seed: 1})
		if err != nil {
			return
		}
		s := w.Stream(0, 1)
		times := w.Times(w.Rate())
		var op workload.Op
		for i := range int64(20) {
			if _, ok := times.Next(); !ok {
				return
			}
			s.Turn(i)
			s.Next(&op)
			s.Done(&op, true)
		}
	})
}
