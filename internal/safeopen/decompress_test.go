package safeopen

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

func packed(t testing.TB, how string, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := map[string]func() io.WriteCloser{
		"gzip": func() io.WriteCloser { return gzip.NewWriter(&b) },
		"zstd": func() io.WriteCloser { z, _ := zstd.NewWriter(&b); return z },
	}[how]()
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Compressed and plain texts are the same. A cut one gives what it has, a bomb is refused, and other formats are named.
func TestDecompressed(t *testing.T) {
	text := []byte(strings.Repeat("one line of a log\n", 1000))
	read := func(data []byte) ([]byte, error) {
		r, err := Decompressed(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return io.ReadAll(r)
	}
	members := append(packed(t, "gzip", text[:500]), packed(t, "gzip", text[500:])...) // as log rotation appends them
	for name, data := range map[string][]byte{"plain": text, "gzip": packed(t, "gzip", text), "members": members,
		"zstd": packed(t, "zstd", text)} {
		if got, err := read(data); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	if got, err := read([]byte("x")); err != nil || string(got) != "x" {
		t.Errorf("a short text: %q, %v", got, err)
	}
	for _, how := range []string{"gzip", "zstd"} {
		whole := packed(t, how, text)
		if _, err := read(whole[:len(whole)-6]); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("a cut %s: %v", how, err)
		}
		var limit *LimitError
		if _, err := read(packed(t, how, make([]byte, maxFree+64<<20))); !errors.As(err, &limit) {
			t.Errorf("a bomb of %s: %v", how, err)
		}
	}
	if _, err := read([]byte("\xfd7zXZ\x00rest")); err == nil || !strings.Contains(err.Error(), "xz -dc") {
		t.Errorf("xz: %v", err)
	}
}
