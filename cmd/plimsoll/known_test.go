package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The list has the newest records elsewhere, each once, and forgets those that are gone. Records of plimsoll-data
// are not in it, nor are damaged lines.
func TestListOfRecordsElsewhere(t *testing.T) {
	t.Parallel()
	home, top := t.TempDir(), t.TempDir()
	env := &environment{getenv: func(name string) string { return map[string]string{"PLIMSOLL_HOME": home}[name] }}
	at := func(n int) string {
		dir := filepath.Join(top, fmt.Sprintf("record %d\n", n))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	noteRecord(env, filepath.Join(top, "plimsoll-data", "runs", "a"))
	if list := knownRecords(env); len(list) != 0 {
		t.Errorf("%q", list)
	}
	for n := range mostKnown + 5 {
		noteRecord(env, at(n))
	}
	noteRecord(env, at(7))
	list := knownRecords(env)
	if len(list) != mostKnown || list[len(list)-1] != at(7) || slices.Contains(list, at(4)) ||
		!slices.Contains(list, at(8)) {
		t.Errorf("%d records, the last is %q", len(list), list[len(list)-1])
	}
	if err := os.RemoveAll(at(8)); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(home, recordsFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = f.WriteString("\"relative\"\nno quotes\n\"unfinished")
	_ = f.Close()
	if list := knownRecords(env); len(list) != mostKnown-1 || slices.Contains(list, filepath.Join(top, "record 8\n")) {
		t.Errorf("%d records", len(list))
	}
	if list := elsewhereOf(env, top); len(list) != 0 {
		t.Errorf("records of the folder are elsewhere: %q", list)
	}
}
