package record

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Numbers that broke what was drawn from them are refused where they are read: a side of -1 trials, a second before the
// first.
func TestNumbersAreCheckedWhenRead(t *testing.T) {
	for name, c := range map[string]struct {
		read func(dir string) error
		says string
	}{
		ComparisonFile: {readers[ComparisonFile], "has -1 trials"},
		TimelineFile:   {readers[TimelineFile], "a second has step -5"},
	} {
		dir := t.TempDir()
		b, err := os.ReadFile(filepath.Join("testdata", "broken", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := c.read(dir); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got error %v, want %q", name, err, c.says)
		}
	}
}
