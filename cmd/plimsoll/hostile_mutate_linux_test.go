package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/klauspost/compress/zstd"

	"github.com/plimsoll-bench/plimsoll/record"
)

// mutator changes a record at random.
type mutator struct {
	r       *rand.Rand
	outside string            // a directory that no record leads to, but for mutated ones
	others  map[string]string // records to take files from
	sealed  bool              // whether checksums can be made
	did     []string
}

// sparse is the size of a file that takes no room.
const sparse = 30 << 30

// mutate makes one to three changes. Half of the records are sealed again, as a person with bad intentions would.
func (m *mutator) mutate(dir string) error {
	for range 1 + m.r.IntN(3) {
		path, err := m.anyFile(dir)
		if err != nil {
			return err
		}
		if path == "" {
			return nil
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		change := m.text
		switch m.r.IntN(8) {
		case 0:
			change = m.replace
		case 1:
			change = m.bytes
		case 2:
			if at := m.anyDir(dir); at != "" {
				path, rel, change = at, strings.TrimPrefix(at, dir), m.linkDir
			}
		}
		what, err := change(path)
		if err != nil {
			return fmt.Errorf("%s of %s: %w", what, rel, err)
		}
		m.did = append(m.did, what+" of "+rel)
	}
	if m.sealed && m.r.IntN(2) == 0 {
		_ = record.Seal(dir) // what is no file any more has no checksum
	}
	return nil
}

// anyFile prefers the files at the top, from which the others are found.
func (m *mutator) anyFile(dir string) (string, error) {
	var top, all []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if info, err := d.Info(); err != nil || info.Size() == sparse {
			return err
		}
		if all = append(all, path); filepath.Dir(path) == dir {
			top = append(top, path)
		}
		return nil
	})
	if len(top) > 0 && m.r.IntN(4) > 0 {
		all = top
	}
	if err != nil || len(all) == 0 {
		return "", err
	}
	return all[m.r.IntN(len(all))], nil
}

// anyDir is a directory within a record, "" if it has none.
func (m *mutator) anyDir(dir string) string {
	var all []string
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error { // what cannot be read is not chosen
		if err == nil && d.IsDir() && path != dir {
			all = append(all, path)
		}
		return nil
	})
	if len(all) == 0 {
		return ""
	}
	return all[m.r.IntN(len(all))]
}

// replace puts something else in the place of a file.
func (m *mutator) replace(path string) (string, error) {
	if err := os.Remove(path); err != nil {
		return "remove", err
	}
	switch m.r.IntN(8) {
	case 0:
		return "a pipe instead", syscall.Mkfifo(path, 0o644)
	case 1:
		return "a link to a device instead", os.Symlink("/dev/zero", path)
	case 2:
		return "a link outside instead", os.Symlink(filepath.Join(m.outside, "secret"), path)
	case 3:
		return "a directory instead", os.Mkdir(path, 0o755)
	case 4:
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			return "", err
		}
		m.sealed = false // it would take as long as reading it
		return "a sparse file instead", os.Truncate(path, sparse)
	case 5:
		return "nothing instead", nil
	case 6:
		b, err := bomb()
		if err != nil {
			return "", err
		}
		return "a bomb instead", os.WriteFile(path, b, 0o644)
	}
	other, err := m.anyFile(m.others[[]string{record.RunFile, record.StudyFile, record.ProbeFile,
		record.DrillFile}[m.r.IntN(4)]])
	if err != nil {
		return "", err
	}
	b, err := os.ReadFile(other)
	if err != nil {
		return "", err
	}
	return filepath.Base(other) + " of another record instead", os.WriteFile(path, b, 0o644)
}

// bomb is a gigabyte of spaces, compressed.
func bomb() ([]byte, error) {
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return nil, err
	}
	spaces := bytes.Repeat([]byte(" "), 1<<20)
	for range 1 << 10 {
		if _, err := z.Write(spaces); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), z.Close()
}

// linkDir puts a link outside in the place of a directory.
func (m *mutator) linkDir(dir string) (string, error) {
	to := m.outside
	if m.r.IntN(2) == 0 {
		to = filepath.Join(m.outside, "r")
	}
	if err := os.Rename(dir, dir+".old"); err != nil {
		return "rename", err
	}
	return "a link outside for the directory", os.Symlink(to, dir)
}

// bytes changes a file without regard to what is in it.
func (m *mutator) bytes(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil || len(b) == 0 {
		return "nothing", err
	}
	what := "flipped bytes"
	switch m.r.IntN(4) {
	case 0:
		what, b = "cut", b[:m.r.IntN(len(b))]
	case 1:
		what, b = "twice", append(b, b...)
	case 2:
		at := m.r.IntN(len(b))
		what, b = "garbage inside", slices.Insert(b, at, bytes.Repeat([]byte{0, 0xff, '{', '\n'}, 1+m.r.IntN(2000))...)
	default:
		for range 1 + m.r.IntN(20) {
			b[m.r.IntN(len(b))] ^= byte(1 << m.r.IntN(8))
		}
	}
	return what, os.WriteFile(path, b, 0o644)
}

// text changes values of JSON, in a document, in lines, or in compressed lines.
func (m *mutator) text(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "read", err
	}
	packed := strings.HasSuffix(path, ".zst")
	if packed {
		z, err := zstd.NewReader(nil)
		if err != nil {
			return "", err
		}
		defer z.Close()
		if b, err = z.DecodeAll(b, nil); err != nil {
			return m.bytes(path)
		}
	}
	parts := [][]byte{b}
	if strings.Contains(path, ".ndjson") {
		parts = bytes.SplitAfter(b, []byte("\n"))
	}
	at := m.r.IntN(len(parts))
	if len(parts[at]) > 1 && len(parts) > 1 && m.r.IntN(4) == 0 {
		return m.many(path, parts[at], packed)
	}
	var v any
	if json.Unmarshal(parts[at], &v) != nil {
		return m.bytes(path)
	}
	what := ""
	for range 1 + m.r.IntN(4) {
		v, what = m.value(v, "")
	}
	if d, ok := v.(map[string]any); ok && m.r.IntN(5) == 0 {
		d["status"] = "running"
		what += ", running"
	}
	if parts[at], err = json.Marshal(v); err != nil {
		return "", err
	}
	parts[at] = append(parts[at], '\n')
	if b = bytes.Join(parts, nil); packed {
		z, err := zstd.NewWriter(nil)
		if err != nil {
			return "", err
		}
		b = z.EncodeAll(b, nil)
	}
	return what, os.WriteFile(path, b, 0o644)
}

// many makes a file of one line over and over. Compressed, it is short, and stands for a gigabyte.
func (m *mutator) many(path string, line []byte, packed bool) (what string, err error) {
	what, most := "one line for ever", 64<<20
	if packed {
		most = 1 << 30
		if m.r.IntN(2) == 0 {
			what, line = "one line with many spaces for ever", slices.Concat(line[:1], bytes.Repeat([]byte(" "), 4<<20), line[1:])
		}
	}
	f, err := os.Create(path)
	if err != nil {
		return what, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	to := bufio.NewWriterSize(f, 1<<20)
	out := io.Writer(to)
	if packed {
		z, err := zstd.NewWriter(to, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
		if err != nil {
			return what, err
		}
		defer func() { err = errors.Join(err, z.Close(), to.Flush()) }()
		out = z
	}
	for range min(1_000_000, most/len(line)) {
		if _, err := out.Write(line); err != nil {
			return what, err
		}
	}
	return what, to.Flush()
}

// value changes one value in a tree of them and says which.
func (m *mutator) value(v any, at string) (any, string) {
	switch x := v.(type) {
	case map[string]any:
		if len(x) == 0 || m.r.IntN(12) == 0 {
			return m.other(v), at
		}
		keys := make([]string, 0, len(x))
		for k := range x {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		k := keys[m.r.IntN(len(keys))]
		if at == "" && (k == "schema_version" || k == "kind") { // such a record is refused at once
			return v, at
		}
		changed, where := m.value(x[k], at+"."+k)
		x[k] = changed
		return x, where
	case []any:
		if len(x) == 0 || m.r.IntN(8) == 0 {
			return m.list(x), at + "[]"
		}
		i := m.r.IntN(len(x))
		changed, where := m.value(x[i], fmt.Sprintf("%s[%d]", at, i))
		x[i] = changed
		return x, where
	}
	return m.other(v), at
}

// list makes a list longer or shorter.
func (m *mutator) list(x []any) any {
	switch {
	case len(x) == 0 || m.r.IntN(3) == 0:
		return m.other(x)
	case m.r.IntN(2) == 0:
		return x[:m.r.IntN(len(x))]
	}
	one := x[m.r.IntN(len(x))]
	switch m.r.IntN(4) {
	case 0:
		one = map[string]any{}
	case 1:
		one = nil
	}
	return append(x, slices.Repeat([]any{one}, []int{1, 100, 10_000, 500_000}[m.r.IntN(4)])...)
}

// other is a value in the place of another one, mostly of the same type.
func (m *mutator) other(v any) any {
	numbers := []any{-1, 0, 1, 1e300, -1e300, json.Number("9223372036854775807"), json.Number("-9223372036854775808"), 2147483648, 1e15, 0.5, 1e-300}
	texts := []any{"", "\x1b]0;x\x07\u202e", strings.Repeat("x", 100_000), "../../outside/secret", "/etc/passwd", "\x00", "running", "measure", "lab:x", "a\nb"}
	anything := []any{nil, true, []any{}, map[string]any{}, []any{map[string]any{}},
		json.RawMessage(strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000))}
	list := anything
	switch v.(type) {
	case float64:
		list = numbers
	case string:
		list = texts
	}
	if m.r.IntN(6) == 0 {
		list = slices.Concat(numbers, texts, anything)
	}
	return list[m.r.IntN(len(list))]
}
