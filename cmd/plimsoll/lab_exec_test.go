package main

import (
	"os"
	"path/filepath"
	"testing"
)

// What cannot be started has the codes of a shell.
func TestFindProgram(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"program": 0o755, "text": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for name, want := range map[string]int{"sh": 0, "./program": 0, "./text": exitNotExecutable, dir: exitNotExecutable,
		"./missing": exitNotFound, "no-such-program": exitNotFound} {
		path, err := findProgram(name)
		if code := exitCode(err); code != want || err == nil && !filepath.IsAbs(path) {
			t.Errorf("%s: %q, code %d (%v), want %d", name, path, code, err, want)
		}
	}
}
