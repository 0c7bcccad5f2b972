package faultfs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The name beside the socket may be somebody's directory.
func TestListenRemovesOnlySockets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sock")
	precious := filepath.Join(path+"~", "file")
	if err := os.Mkdir(filepath.Dir(precious), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(precious, []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	if l, err := listen(t.Context(), path); err == nil {
		l.Close()
		t.Error("a directory in the place of the early socket was no error")
	}
	if b, err := os.ReadFile(precious); string(b) != "precious" {
		t.Errorf("the file is %q, %v", b, err)
	}
	if err := os.RemoveAll(path + "~"); err != nil {
		t.Fatal(err)
	}
	l, err := listen(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

// What the check of the options accepts can be a socket.
func TestLongestSocket(t *testing.T) {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	o := Options{Data: dir, Mount: dir, Socket: filepath.Join(dir, strings.Repeat("s", longestSocket-len(dir)-1))}
	if err := o.check(); err != nil {
		t.Fatal(err)
	}
	l, err := listen(t.Context(), o.Socket)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if o.Socket += "s"; o.check() == nil {
		t.Errorf("a path of %d characters is accepted", len(o.Socket))
	}
}
