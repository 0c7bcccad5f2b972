package recorded

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/klauspost/compress/zstd"

	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/workload"
	"github.com/plimsoll-bench/plimsoll/workload/own"
)

// line is a captured command as 'plimsoll workload record --from commands:FILE' reads it.
func line(t testing.TB, verb, collection string, rest map[string]any) string {
	t.Helper()
	name, err := json.Marshal(collection)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(rest)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{"time": "2026-03-01T10:00:00.250Z", "db": "shop", "command": {%q: %s, %s}`+"\n", verb, name, b[1:])
}

// recordText writes the files of 'plimsoll workload record': the workload, and the recording.
func recordText(t testing.TB, o Options, commands string) (own.File, []byte, error) {
	t.Helper()
	m := NewModel(o)
	var behind, out bytes.Buffer
	r, err := NewRecorder(m, "shop", &behind)
	if err != nil {
		t.Fatal(err)
	}
	for op, err := range Read(strings.NewReader(commands)) {
		if err != nil {
			if err := m.Skip(&op, err); err != nil {
				return own.File{}, nil, err
			}
			continue
		}
		m.Add(&op)
		if err := r.Add(&op); err != nil {
			t.Fatal(err)
		}
	}
	f, numbers, err := m.File(Source{Name: "shop", From: "test", Database: "shop"})
	if err != nil {
		return f, nil, err
	}
	if _, err := r.Finish(&out, f, numbers); err != nil {
		t.Fatal(err)
	}
	return f, append(out.Bytes(), behind.Bytes()...), nil
}

// checkUsable checks that Plimsoll reads what it wrote, and that no line of a comment comes from a name.
func checkUsable(t testing.TB, f own.File, recording []byte) {
	t.Helper()
	text, err := Text(f)
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(string(text)) {
		l = strings.TrimSuffix(l, "\n")
		if strings.ContainsFunc(l, unicode.IsControl) {
			t.Errorf("the line %q has control characters", l)
		}
		if !strings.HasPrefix(l, "#") {
			break
		}
	}
	if len(text) > spec.MaxBytes {
		t.Errorf("the workload file has %d bytes", len(text))
	}
	if _, err := own.Open(workload.Spec{Text: string(text), Seed: 1, Clients: 1}); err != nil {
		t.Errorf("the workload file that was written is refused: %v\n%.2000s", err, text)
	}
	_, err = OpenReplay(openBytes(recording), workload.Spec{Seed: 1, Clients: 1})
	if err != nil && err.Error() != "the recording has no operation that can be sent" {
		t.Errorf("the recording that was written is refused: %v\n%.2000s", err, text)
	}
}

// What comes from a forged log must not make files that Plimsoll refuses, nor lines on the terminal that it did not
// write.
func TestForgedNames(t *testing.T) {
	honest := line(t, "find", "orders", map[string]any{"filter": map[string]any{"state": "paid"}})
	many := strings.Builder{}
	for i := range 300 {
		filter := map[string]any{}
		for j := range 40 {
			filter[fmt.Sprintf("%d %s %d", i, strings.Repeat("long name ", 100), j)] = 1
		}
		many.WriteString(line(t, "find", "orders", map[string]any{"filter": filter}))
	}
	for name, forged := range map[string]string{
		"newline and escape": line(t, "find", "a\nwrote /etc/passwd\x1b[2J", map[string]any{"filter": map[string]any{"b\n\x1b]0;x\x07": 1}}),
		"system collection":  line(t, "find", "system.users", map[string]any{"filter": map[string]any{}}),
		"dollar":             line(t, "find", "a$b", map[string]any{"filter": map[string]any{"$where": "x"}}),
		"zero byte":          line(t, "find", "a\x00b", map[string]any{"filter": map[string]any{"a\x00": 1}}),
		"not UTF-8":          strings.Replace(honest, "orders", "or\xffders", 1),
		"a large limit":      line(t, "find", "orders", map[string]any{"limit": int64(math.MaxInt64)}),
		"the smallest limit": line(t, "find", "orders", map[string]any{"limit": int64(math.MinInt64)}),
		"too long":           many.String(),
		"far in the future":  strings.Replace(honest, `"2026-03-01T10:00:00.250Z"`, "1772359200177235500", 1),
		"the last time":      strings.Replace(honest, `"2026-03-01T10:00:00.250Z"`, `{"$date": {"$numberLong": "9223372036854775807"}}`, 1),
	} {
		f, recording, err := recordText(t, Options{}, honest+honest+forged)
		if err != nil {
			t.Errorf("%s: the honest operation is lost too: %v", name, err)
			continue
		}
		checkUsable(t, f, recording)
		if _, err := OpenReplay(openBytes(recording), workload.Spec{Seed: 1}); err != nil {
			t.Errorf("%s: the honest operation cannot be replayed: %v", name, err)
		}
		if text, _ := Text(f); !strings.Contains(string(text), "state") {
			t.Errorf("%s: the honest operation is not in the file:\n%s", name, text)
		}
	}
}

// Documents whose largest arrays and texts would not fit together are recorded with shorter ones.
func TestLargeDocumentsAreRecorded(t *testing.T) {
	document := func(n, size int) map[string]any {
		var list []string
		for range n {
			list = append(list, fmt.Sprintf("%0*d", size, len(list)))
		}
		return map[string]any{"a": list}
	}
	text := line(t, "insert", "c", map[string]any{"documents": []any{document(3000, 10)}}) +
		line(t, "insert", "c", map[string]any{"documents": []any{document(2, 20_000)}})
	f, recording, err := recordText(t, Options{}, text)
	if err != nil {
		t.Fatal(err)
	}
	checkUsable(t, f, recording)
	if got, _ := Text(f); !strings.Contains(string(got), "are shorter here") || !strings.Contains(string(got), "$array") {
		t.Errorf("the file does not say that its arrays are shorter:\n%s", got)
	}
}

// FuzzRecorder records arbitrary commands. What the recorder writes, Plimsoll reads.
func FuzzRecorder(f *testing.F) {
	for l := range bytes.Lines(testFile(f, "commands.jsonl")) {
		f.Add(string(l), false)
		f.Add(string(l), true)
	}
	either := map[string]any{"$or": []any{map[string]any{"a": 1}}}
	f.Add(line(f, "find", "a\nb\x1b", map[string]any{"limit": int64(math.MaxInt64), "filter": either}), true)
	f.Fuzz(func(t *testing.T, commands string, values bool) {
		file, recording, err := recordText(t, Options{Values: values}, commands)
		if err == nil { // otherwise nothing of it can be used
			checkUsable(t, file, recording)
		}
	})
}

// FuzzReplay opens arbitrary bytes as a recording: behind a header, or as a file.
func FuzzReplay(f *testing.F) {
	data, _ := record(f, Options{Values: true}, Read(bytes.NewReader(testFile(f, "commands.jsonl"))))
	f.Add(data, false)
	f.Add(data[:len(data)/2], false)
	f.Add([]byte{1, 2, 3}, true)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 1}, true)
	first, _, _ := bytes.Cut(testFile(f, "commands.jsonl"), []byte("\n"))
	short, _ := record(f, Options{Values: true}, Read(bytes.NewReader(first))) // parsed again and again
	header, _, _ := bytes.Cut(unpacked(f, short), []byte("\n"))
	f.Fuzz(func(t *testing.T, b []byte, behind bool) {
		if behind {
			b = append(append(bytes.Clone(header), '\n'), b...)
		}
		if !bytes.HasPrefix(b, []byte{0x28, 0xb5, 0x2f, 0xfd}) {
			b = packed(t, b)
		}
		r, err := OpenReplay(openBytes(b), workload.Spec{Seed: 1, Clients: 1})
		if err != nil {
			return
		}
		stream := r.Stream(0, 1)
		var op workload.Op
		for n := range int64(3) {
			stream.Turn(n)
			stream.Next(&op)
			stream.Done(&op, true)
		}
	})
}

func unpacked(t testing.TB, b []byte) []byte {
	t.Helper()
	in, err := openReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	defer in.close()
	h, err := json.Marshal(in.header)
	if err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(in.in)
	if err != nil {
		t.Fatal(err)
	}
	return append(append(h, '\n'), rest...)
}

func packed(t testing.TB, b []byte) []byte {
	t.Helper()
	z, err := encoder()
	if err != nil {
		t.Fatal(err)
	}
	return z.EncodeAll(b, nil)
}

// encoder is shared, because a new one costs far more than what the fuzz targets compress with it.
var encoder = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
})
