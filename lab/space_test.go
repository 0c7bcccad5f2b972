package lab

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// What the files of a directory take is counted once each, without holes.
func TestFilesIn(t *testing.T) {
	dir := t.TempDir()
	if n := bytesIn(t.Context(), filepath.Join(dir, "missing")); n != 0 {
		t.Errorf("a directory that is not there takes %d", n)
	}
	empty := bytesIn(t.Context(), dir)
	file := filepath.Join(dir, "sub", "a")
	makeDir(t, filepath.Dir(file))
	if err := os.WriteFile(file, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	one := bytesIn(t.Context(), dir)
	if one < empty+1<<20 || one > empty+2<<20 {
		t.Errorf("1 MiB takes %d", one-empty)
	}
	if err := os.Link(file, filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "holes"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(1 << 30); err != nil {
		t.Fatal(err)
	}
	if n := bytesIn(t.Context(), dir); n > one+1<<19 {
		t.Errorf("another name and a hole take %d", n-one)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if n := bytesIn(ended, dir); n != 0 {
		t.Errorf("nobody waits for %d", n)
	}
}
