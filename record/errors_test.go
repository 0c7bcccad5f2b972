package record

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/plimsoll-bench/plimsoll/spec"
)

func TestErrorsSayWhatToDo(t *testing.T) {
	for err, want := range map[error]string{
		syscall.ENOSPC:  "free space",
		syscall.EROFS:   "read-only",
		syscall.EACCES:  "may write",
		syscall.ENOTDIR: "part of this path is a file",
	} {
		got := explain("/data/r", &fs.PathError{Op: "open", Path: "/data/r/run.json", Err: err}).Error()
		if !strings.Contains(got, want) || !strings.Contains(got, "/data/r") || strings.Contains(got, "\n") {
			t.Errorf("%v: %q does not contain %q", err, got, want)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := CreateRun(filepath.Join(file, "record"), Tool{}, spec.Run{}); err == nil {
		t.Error("a record below a file")
	}
	if _, err := CreateRun(" ", Tool{}, spec.Run{}); err == nil {
		t.Error("a record without directory")
	}
}

func TestOpenRefusesWhatItCannotRead(t *testing.T) {
	for content, want := range map[string]string{
		"":                                       "no record",
		"{":                                      "damaged",
		`{"schema_version":"2.0","kind":"run"}`:  "schema version",
		`{"schema_version":"1.9","kind":"tart"}`: "of a run",
		`{"schema_version":"1.0","kind":"run","phases":3}`: "damaged",
	} {
		dir := t.TempDir()
		if content != "" {
			if err := os.WriteFile(filepath.Join(dir, RunFile), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := OpenRun(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", content, err, want)
		}
	}
}

func BenchmarkInterval(b *testing.B) {
	w := newTestWriter(b, filepath.Join(b.TempDir(), "record"))
	iv := testIntervals(b, 1)[5]
	for b.Loop() {
		if err := w.Interval(iv); err != nil {
			b.Fatal(err)
		}
	}
}
