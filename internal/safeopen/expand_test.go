package safeopen

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A decompressor gives what it wants for what it gets.
func TestExpansion(t *testing.T) {
	for name, c := range map[string]struct {
		packed, unpacked int
		ok               bool
	}{
		"short":        {100, maxFree, true},
		"long":         {1 << 20, maxFree + 100<<20, true},
		"a bomb":       {100_000, maxFree + maxRatio*100_000 + 1, false},
		"an empty one": {0, maxFree + 1, false},
	} {
		var e Expansion
		in := e.Packed(bytes.NewReader(make([]byte, c.packed)))
		if _, err := io.Copy(io.Discard, in); err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, e.Unpacked(io.LimitReader(&spaces{}, int64(c.unpacked))))
		var limit *LimitError
		if c.ok && (err != nil || n != int64(c.unpacked)) || !c.ok && !errors.As(err, &limit) {
			t.Errorf("%s: %d bytes were read: %v", name, n, err)
		}
	}
}

// A file of holes is refused before anything of it is read; one with data is read from its beginning.
func TestHoles(t *testing.T) {
	dir := t.TempDir()
	make := func(name string, size int64, data int) {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.Write(bytes.Repeat([]byte("x"), data)); err != nil {
			t.Fatal(err)
		}
		if err := f.Truncate(size); err != nil {
			t.Fatal(err)
		}
	}
	make("holes", 4<<30, 1)
	make("small", maxFree, 1)
	make("data", maxFree+100<<20, 1<<20)
	for name, ok := range map[string]bool{"small": true, "data": true, "holes": false} {
		for way, open := range map[string]func() (*os.File, error){
			"Open":     func() (*os.File, error) { return Open(dir, name) },
			"OpenFile": func() (*os.File, error) { return OpenFile(filepath.Join(dir, name)) },
		} {
			f, err := open()
			var limit *LimitError
			if !ok && holesAreSeen && !errors.As(err, &limit) {
				t.Errorf("%s of %s: %v, want a limit", way, name, err)
			}
			if ok {
				b := []byte{0}
				if err != nil {
					t.Errorf("%s of %s: %v", way, name, err)
				} else if _, err := f.Read(b); err != nil || b[0] != 'x' {
					t.Errorf("%s of %s begins with %q, %v", way, name, b, err)
				}
			}
			if f != nil {
				f.Close()
			}
		}
	}
}

// Many small documents are as much as a large one.
func TestKept(t *testing.T) {
	var kept Kept
	var limit *LimitError
	n := 0
	for ; n < MaxLines; n++ {
		var d document
		if err := kept.Unmarshal([]byte(`{"list":[{}]}`), &d); err != nil {
			if !errors.As(err, &limit) {
				t.Fatal(err)
			}
			break
		}
	}
	if most := maxKept / 800; n == 0 || n > most {
		t.Errorf("%d documents of more than 800 bytes each were kept, want at most %d", n, most)
	}
	kept = Kept{}
	var d document
	if err := kept.Unmarshal([]byte(strings.Repeat("[", MaxDepth+1)), &d); !errors.As(err, &limit) {
		t.Errorf("depth: %v, want a limit", err)
	}
}
