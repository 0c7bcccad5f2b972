package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// A family that resumes does no trial twice, also if it was killed within a line of its journal.
func TestResume(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	tries := 0
	f := family{name: "slow", matrix: true, resumes: true}
	for _, name := range []string{"a", "b"} {
		f.rows = append(f.rows, row{name: name, lie: name, goal: everyOne, full: 3,
			try: func(_ context.Context, t *trial) (answer, error) {
				if tries++; tries == 4 {
					stop()
				}
				t.named = name
				return accused, nil
			}})
	}
	all := func(ctx context.Context) []counts {
		rows := []counts{{Row: "a"}, {Row: "b"}}
		if _, err := f.resumed(ctx, config{seed: 1}, "..", rows, io.Discard); err != nil {
			t.Fatal(err)
		}
		return rows
	}
	if rows := all(ctx); rows[0].Accused != 2 || rows[1].Accused != 1 {
		t.Errorf("before it was stopped: %+v", rows)
	}
	if dir, err := os.UserCacheDir(); err == nil {
		cache = dir
	}
	files, err := filepath.Glob(filepath.Join(cache, "*", "slow-*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the journals are %v, %v", files, err)
	}
	out, err := os.OpenFile(files[0], os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.WriteString(`{"row":"b","se`); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if rows := all(t.Context()); rows[0].Named["a"] != 3 || rows[1].Named["b"] != 3 {
			t.Errorf("resumed: %+v", rows)
		}
	}
	if tries != 7 { // the stopped one is tried again
		t.Errorf("%d tries for 6 trials", tries)
	}
}

// Other rules and other plants have a hash of their own, and tests of the rules do not.
func TestHashOfRules(t *testing.T) {
	root := t.TempDir()
	hash := func(name, text string) string {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		h, err := hashOf(root, ".")
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	first := hash("rule.go", "a")
	if hash("rule_test.go", "a") != first || hash("rule.go", "b") == first || hash("rule.go", "a") != first {
		t.Error("the hash is not that of the rules")
	}
	if files, err := filepath.Glob(filepath.Join("..", rulesOf[0], "*.go")); err != nil || len(files) == 0 {
		t.Errorf("no rules are at %s: %v", rulesOf[0], err)
	}
}
