package safeopen

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestOnlyRegularFilesBelow(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "record")
	write(t, filepath.Join(dir, "run.json"), "{}")
	write(t, filepath.Join(dir, "logs", "a.log"), "a")
	write(t, filepath.Join(top, "secret"), "secret")
	for name, to := range map[string]string{"out": "../secret", "in": "run.json", "device": "/dev/zero", "up": ".."} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, ok := range map[string]bool{"run.json": true, "logs/a.log": true, "out": false, "in": false, "device": false, "up/secret": false,
		"pipe": false, "logs": false, "../secret": false, "/etc/passwd": false} {
		b, err := ReadFile(dir, name, 100)
		if (err == nil) != ok {
			t.Errorf("reading %s: %q, %v; want it to be read: %v", name, b, err, ok)
		}
		if Exists(dir, name) != ok {
			t.Errorf("%s exists: %v, want %v", name, !ok, ok)
		}
	}
	if _, err := ReadFile(dir, "none", 100); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: got %v, want that it does not exist", err)
	}
	link := filepath.Join(top, "latest")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(link, "run.json", 100); err != nil {
		t.Errorf("the directory that a user names may be a link: %v", err)
	}
	if _, err := ReadPath("/dev/zero", 100); !errors.Is(err, ErrNotRegular) {
		t.Errorf("a device: got %v, want that it is not regular", err)
	}
}

func TestSizesAreKnownBeforeReading(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "huge"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(1 << 40); err != nil {
		t.Fatal(err)
	}
	var limit *LimitError
	if _, err := ReadFile(dir, "huge", MaxDocument); !errors.As(err, &limit) {
		t.Errorf("got %v, want a limit", err)
	}
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	lines := NewLines(strings.NewReader("a\n\n" + long + "\nlast"))
	for _, want := range []string{"a\n", "\n", long + "\n"} {
		if b, err := lines.Next(); err != nil || string(b) != want {
			t.Fatalf("got %.20q, %v, want %.20q", b, err, want)
		}
	}
	if b, err := lines.Next(); !errors.Is(err, ErrTorn) || string(b) != "last" {
		t.Errorf("got %q, %v, want the torn line", b, err)
	}
	if _, err := lines.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want the end", err)
	}
}

// spaces is an endless line, as the output of a small compressed file may be.
type spaces struct{ read int }

func (s *spaces) Read(b []byte) (int, error) {
	s.read += len(b)
	copy(b, bytes.Repeat([]byte{' '}, len(b)))
	return len(b), nil
}

func TestEndlessLine(t *testing.T) {
	var s spaces
	var limit *LimitError
	if _, err := NewLines(&s).Next(); !errors.As(err, &limit) || s.read > MaxLine+1<<20 {
		t.Errorf("got %v after %d bytes, want a limit at %d", err, s.read, MaxLine)
	}
}

func TestUnmarshalCountsFirst(t *testing.T) {
	for name, text := range map[string]string{
		"many": "[" + strings.Repeat("{},", MaxValues) + "{}]",
		"deep": strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1),
	} {
		var limit *LimitError
		var v any
		if err := Unmarshal([]byte(text), &v); !errors.As(err, &limit) {
			t.Errorf("%s: got %v, want a limit", name, err)
		}
	}
	var v []string
	if err := Unmarshal([]byte(`["`+strings.Repeat(",{[", MaxValues)+`\""]`), &v); err != nil || len(v) != 1 {
		t.Errorf("what is in a string was counted: %v", err)
	}
}

func TestDir(t *testing.T) {
	top := t.TempDir()
	write(t, filepath.Join(top, "parts", "one", "run.json"), "{}")
	if err := os.Symlink(t.TempDir(), filepath.Join(top, "linked")); err != nil {
		t.Fatal(err)
	}
	for name, ok := range map[string]bool{"parts/one": true, "parts": true, "linked": false, "..": false, "parts/../..": false, "": false, "parts/one/run.json": false} {
		if _, err := Dir(top, name); (err == nil) != ok {
			t.Errorf("%q: %v, want it found: %v", name, err, ok)
		}
	}
}

func TestInputMayBeAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o644); err != nil {
		t.Fatal(err)
	}
	go func() { _ = os.WriteFile(path, []byte("a: 1"), 0o644) }()
	if b, err := readInput(t.Context(), path, 100); err != nil || string(b) != "a: 1" {
		t.Errorf("a pipe: %q, %v", b, err)
	}
	if _, err := readInput(t.Context(), t.TempDir(), 100); err == nil {
		t.Error("a directory was read")
	}
	var limit *LimitError
	if _, err := readInput(t.Context(), "/dev/zero", 1000); !errors.As(err, &limit) {
		t.Errorf("an endless file: %v, want a limit", err)
	}
}
