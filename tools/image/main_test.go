package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// Readers of Go accept an archive without its end, others do not.
func TestLayerHasItsEnd(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("program"), 0o755); err != nil {
		t.Fatal(err)
	}
	text, err := files(program)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasSuffix(text, make([]byte, 1024)) {
		t.Error("the archive does not end with two empty blocks")
	}
}
