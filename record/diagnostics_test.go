package record

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What was written during the run is kept, newest first, and no more than fits.
func TestDiagnosticFiles(t *testing.T) {
	dir, begun := t.TempDir(), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, f := range map[string]struct {
		size  int64
		after time.Duration
	}{
		"metrics.old": {10, -time.Hour}, "metrics.a": {10 << 20, time.Minute}, "metrics.b": {10 << 20, 2 * time.Minute},
		"metrics.interim": {1 << 10, 3 * time.Minute}, "other": {1, time.Minute},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, f.size); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, begun.Add(f.after)); err != nil {
			t.Fatal(err)
		}
	}
	names, left := diagnosticFiles(dir, begun)
	if d := cmp.Diff([]string{"metrics.interim", "metrics.b"}, names); d != "" || left != 1 {
		t.Errorf("%d left out: %s", left, d)
	}
	if names, left := diagnosticFiles(filepath.Join(dir, "none"), begun); len(names) != 0 || left != 0 {
		t.Errorf("%v, %d", names, left)
	}
}
