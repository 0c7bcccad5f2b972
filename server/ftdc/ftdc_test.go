package ftdc

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/server"
)

func marshal(t testing.TB, d bson.D) bson.Raw {
	t.Helper()
	raw, err := bson.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// chunk writes a chunk by the description of the format, without the code of the reader: columns of differences.
func chunk(t testing.TB, first bson.Raw, columns [][]int64) bson.Raw {
	t.Helper()
	samples := 0
	if len(columns) > 0 {
		samples = len(columns[0])
	}
	b := bytes.NewBuffer(bytes.Clone(first))
	b.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(columns))))
	b.Write(binary.LittleEndian.AppendUint32(nil, uint32(samples)))
	zeros := uint64(0)
	flush := func() {
		if zeros > 0 {
			b.Write(binary.AppendUvarint([]byte{0}, zeros-1))
		}
		zeros = 0
	}
	for _, column := range columns {
		for _, x := range column {
			if x == 0 {
				zeros++
				continue
			}
			flush()
			b.Write(binary.AppendUvarint(nil, uint64(x)))
		}
	}
	flush()
	return packed(t, b.Bytes(), b.Len())
}

func packed(t testing.TB, b []byte, says int) bson.Raw {
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	data := append(binary.LittleEndian.AppendUint32(nil, uint32(says)), z.Bytes()...)
	return marshal(t, bson.D{{Key: "_id", Value: bson.DateTime(1)}, {Key: "type", Value: int32(1)}, {Key: "data",
		Value: bson.Binary{Data: data}}})
}

var reference = bson.D{
	{Key: "start", Value: bson.DateTime(1000)},
	{Key: "name", Value: "db1:27017"},
	{Key: "n", Value: int32(5)},
	{Key: "list", Value: bson.A{int64(7), "text", true}},
	{Key: "in", Value: bson.D{{Key: "x", Value: 2.5}, {Key: "ts", Value: bson.Timestamp{T: 9, I: 1}}, {Key: "null",
		Value: nil}}},
}

func read(t *testing.T, b []byte) ([]string, error) {
	t.Helper()
	var got []string
	err := Read(context.Background(), bytes.NewReader(b), func(reply bson.Raw) error {
		if err := server.Valid(reply); err != nil {
			t.Fatal(err)
		}
		got = append(got, reply.Lookup("data").String())
		return nil
	})
	return got, err
}

// Samples are the reference document with the differences of each number: whole ones of doubles, two of a timestamp.
func TestSamples(t *testing.T) {
	want := []bson.D{reference,
		{{Key: "start", Value: bson.DateTime(2000)}, {Key: "name", Value: "db1:27017"}, {Key: "n", Value: int32(4)},
			{Key: "list", Value: bson.A{int64(7), "text", false}},
			{Key: "in", Value: bson.D{{Key: "x", Value: 5.0}, {Key: "ts", Value: bson.Timestamp{T: 10, I: 1}},
				{Key: "null", Value: nil}}}},
		{{Key: "start", Value: bson.DateTime(3000)}, {Key: "name", Value: "db1:27017"}, {Key: "n", Value: int32(4)},
			{Key: "list", Value: bson.A{int64(1 << 40), "text", false}},
			{Key: "in", Value: bson.D{{Key: "x", Value: 5.0}, {Key: "ts", Value: bson.Timestamp{T: 10, I: 3}},
				{Key: "null", Value: nil}}}},
	}
	columns := [][]int64{{1000, 1000}, {-1, 0}, {0, 1<<40 - 7}, {-1, 0}, {3, 0}, {1, 0}, {0, 2}}
	metadata := marshal(t, bson.D{{Key: "_id", Value: bson.DateTime(1)}, {Key: "type", Value: int32(0)}, {Key: "doc",
		Value: bson.D{}}})
	got, err := read(t, append(bytes.Clone(metadata), chunk(t, marshal(t, reference), columns)...))
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, d := range want {
		texts = append(texts, marshal(t, d).String())
	}
	if diff := cmp.Diff(texts, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What is damaged is left out and said; what is whole before and behind it is read.
func TestDamage(t *testing.T) {
	good := chunk(t, marshal(t, reference), [][]int64{{1}, {0}, {0}, {0}, {0}, {0}, {0}})
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	document := marshal(t, reference)
	huge := append(bytes.Clone(document), 7, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f)
	for name, tc := range map[string]struct {
		file    []byte
		samples int
		says    string
	}{
		"whole":            {join(good, good), 4, ""},
		"empty":            {nil, 0, ""},
		"cut off":          {join(good, good[:len(good)-3]), 2, "ends within"},
		"a wrong size":     {join(good, []byte{1, 0, 0, 0}, good), 2, "rest of the file"},
		"an enormous size": {join(good, []byte{0xff, 0xff, 0xff, 0x7f}, good), 2, "rest of the file"},
		"too few differences": {join(packed(t, append(bytes.Clone(document), 7, 0, 0, 0, 1, 0, 0, 0),
			len(document)+8), good), 2, "damaged: 1"},
		"other numbers": {join(packed(t, append(bytes.Clone(document), 9, 0, 0, 0, 1, 0, 0, 0),
			len(document)+8), good), 2, "9 numbers"},
		"too many samples":  {join(packed(t, huge, len(huge)), good), 2, "samples of"},
		"shorter than said": {join(packed(t, document, len(document)+100), good), 2, "shorter"},
		"an expanding bomb": {join(packed(t, document, 1<<31-1), good), 2, "a chunk of"},
		"a zero run too long": {join(packed(t, append(bytes.Clone(document), 7, 0, 0, 0, 1, 0, 0, 0, 0, 200),
			len(document)+10), good), 2, "differences"},
		"no document": {join(packed(t, []byte{1, 2, 3}, 3), good), 2, "without a document"},
	} {
		got, err := read(t, tc.file)
		if len(got) != tc.samples || (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(),
			tc.says) {
			t.Errorf("%s: %d samples, %v", name, len(got), err)
		}
	}
}

func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	good := chunk(t, marshal(t, reference), [][]int64{{1}, {0}, {0}, {0}, {0}, {0}, {0}})
	for name, b := range map[string][]byte{"metrics.2026-01-02T00-00-00Z-00000": good,
		"metrics.2026-01-01T00-00-00Z-00000": good[:20],
		"metrics.interim":                    good, "other": {1}} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "metrics.2026-01-03T00-00-00Z-00000")); err != nil {
		t.Fatal(err)
	}
	n := 0
	damages, err := ReadDir(context.Background(), dir, func(bson.Raw) error { n++; return nil })
	if err != nil || n != 4 || len(damages) != 2 {
		t.Errorf("%d samples, damages %v, %v", n, damages, err)
	}
	stop := errors.New("stop")
	if _, err := ReadDir(context.Background(), dir, func(bson.Raw) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
	if _, err := ReadDir(context.Background(), t.TempDir(), nil); err == nil || !strings.Contains(err.Error(),
		"diagnostic.data") {
		t.Errorf("an empty directory: %v", err)
	}
}

// Any bytes are read without a panic and with bounded memory.
func FuzzRead(f *testing.F) {
	good := chunk(f, marshal(f, reference), [][]int64{{1000, 1000}, {-1, 0}, {0, 1}, {-1, 0}, {3, 0}, {1, 0}, {0, 2}})
	f.Add([]byte(good))
	f.Add([]byte(good[:len(good)/2]))
	f.Add([]byte{5, 0, 0, 0, 0})
	rng := rand.New(rand.NewPCG(47, 3))
	for range 20 {
		b := bytes.Clone(good)
		b[rng.IntN(len(b))] ^= byte(1 << rng.IntN(8))
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_ = Read(context.Background(), bytes.NewReader(b), func(reply bson.Raw) error {
			if err := server.Valid(reply); err != nil {
				t.Fatal(err)
			}
			_ = server.ReadDiagnostics(reply)
			return nil
		})
	})
}

// FuzzChunk damages a chunk below its compression.
func FuzzChunk(f *testing.F) {
	document := marshal(f, reference)
	f.Add([]byte(document))
	f.Add(append(bytes.Clone(document), 7, 0, 0, 0, 1, 0, 0, 0, 0, 6))
	f.Fuzz(func(t *testing.T, b []byte) {
		_ = Read(context.Background(), bytes.NewReader(packed(t, b, len(b))),
			func(reply bson.Raw) error { return server.Valid(reply) })
	})
}
