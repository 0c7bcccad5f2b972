package drill

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// paged writes bytes as pages of a segment, with the headers that PostgreSQL puts between them.
func paged(data []byte) []byte {
	var out []byte
	for first := true; len(data) > 0; first = false {
		header := make([]byte, walHeader)
		if first {
			header = make([]byte, walLongHeader)
			binary.LittleEndian.PutUint16(header[2:], walLongFlag)
		}
		n := min(walPage-len(header), len(data))
		out = append(append(out, header...), data[:n]...)
		data = data[n:]
	}
	return out
}

// What lies across pages and across segments is found in one piece.
func TestOldTimelineIsWhole(t *testing.T) {
	dir := t.TempDir()
	words := []string{"begin", "across two pages", "across two segments", "end"}
	size := 3*walPage - walLongHeader - 2*walHeader
	data := bytes.Repeat([]byte{'.'}, 2*size)
	copy(data, words[0])
	copy(data[walPage-walLongHeader-7:], words[1])
	copy(data[size-9:], words[2])
	copy(data[len(data)-len(words[3]):], words[3])
	for i, name := range []string{"000000010000000000000003", "000000010000000000000004"} {
		if err := os.WriteFile(filepath.Join(dir, name), paged(data[i*size:(i+1)*size]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := &oldTimeline{member: "rs0-1", dir: dir}
	found := map[string]bool{}
	err := o.Stretches(t.Context(), func(b []byte) error {
		for _, w := range words {
			found[w] = found[w] || bytes.Contains(b, []byte(w))
		}
		return nil
	})
	if err != nil || len(found) != len(words) {
		t.Fatal(found, err)
	}
	for _, w := range words {
		if !found[w] {
			t.Errorf("%q is not found", w)
		}
	}
	if err := (&oldTimeline{dir: t.TempDir()}).Stretches(t.Context(), func([]byte) error { return nil }); err == nil {
		t.Error("a directory without segments was searched")
	}
}

// Rollback files as the manual of MongoDB describes them are read, in both layouts.
func TestRollbackFiles(t *testing.T) {
	dir := t.TempDir()
	var docs []byte
	for i := range 3 {
		b, err := bson.Marshal(bson.D{{Key: "_id", Value: i}})
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, b...)
	}
	for _, at := range []string{"db/rollback/6f6f6f6f-0000-4000-8000-000000000001/removed.2026-11-22T12-00-00.0.bson", "db/rollback/test.c/removed.x.bson", "db/other/removed.no.bson"} {
		file := filepath.Join(dir, at)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, docs, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list := rollbacks("rs0-1", dir)
	if len(list) != 1 || !strings.HasPrefix(list[0].Name(), "the rollback of rs0-1 (kept in ") {
		t.Fatalf("found %+v", list)
	}
	n := 0
	if err := list[0].Scan(t.Context(), "c", func([]byte) error { n++; return nil }); err != nil || n != 6 {
		t.Errorf("%d documents, error %v", n, err)
	}
	torn := &rollbackFiles{files: []string{filepath.Join(dir, "torn.bson")}}
	if err := os.WriteFile(torn.files[0], docs[:len(docs)-2], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := torn.Scan(t.Context(), "c", func([]byte) error { return nil }); err == nil {
		t.Error("a torn file was read without a word")
	}
}
