package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// shorter makes a study short enough for a test; what it compares stays.
var shorter = []struct {
	find *regexp.Regexp
	by   string
}{
	{regexp.MustCompile(`duration: [0-9.]+m?s`), "duration: 50ms"},
	{regexp.MustCompile(`warmup: [0-9.]+m?s`), "warmup: 5ms"},
	{regexp.MustCompile(`settle: [0-9.]+m?s`), "settle: 1ms"},
	{regexp.MustCompile(`records: ([0-9]+)k`), "records: $1"},
	{regexp.MustCompile(`trials: [0-9]+`), "trials: 2"},
	{regexp.MustCompile(`workers: (128|256|64)\b`), "workers: 8"},
	{regexp.MustCompile(`canary: 0`), "canary: -1"},
	{regexp.MustCompile(`p99<`), "mean<"}, // short trials have too few operations for a percentile, and are refused
}

func shorten(text string) string {
	for _, s := range shorter {
		text = s.find.ReplaceAllString(text, s.by)
	}
	return text
}

// yamlFiles returns the blocks of a page that begin with the name of a file.
func yamlFiles(page string) map[string]string {
	files := map[string]string{}
	for _, m := range regexp.MustCompile("(?s)```yaml\n# (\\S+\\.yaml)\n(.*?)```").FindAllStringSubmatch(page, -1) {
		files[m[1]] = m[2]
	}
	return files
}

// TestStudyDocs runs every command that docs/study.md shows, in their order and in one directory, with the studies that
// it shows made short.
func TestStudyDocs(t *testing.T) {
	top, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(top, "docs", "study.md"))
	if err != nil {
		t.Fatal(err)
	}
	files, commands := yamlFiles(string(page)), shellCommands(string(page))
	if len(files) < 3 || len(commands) < 12 {
		t.Fatalf("found only %d studies and %d commands", len(files), len(commands))
	}
	t.Chdir(t.TempDir())
	for name, text := range files {
		write(t, name, shorten(text))
	}
	for _, line := range commands {
		runDocumented(t, regexp.MustCompile(`--trials \d+`).ReplaceAllString(line, "--trials 2"))
		if name, ok := strings.CutPrefix(line, "plimsoll study init "); ok {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			write(t, name, shorten(string(text)))
		}
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Every example can be run, from its plan to its verdict, one after the other in one directory.
func TestExamplesCanBeRun(t *testing.T) {
	files, err := filepath.Glob("../../examples/study/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("only %v (%v)", files, err)
	}
	texts := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(file)] = strings.ReplaceAll(shorten(string(text)), "confirm: 3", "confirm: 1")
	}
	t.Chdir(t.TempDir())
	for name, text := range texts {
		if strings.Contains(text, "\nlab:") { // brings up servers, which this test does not install
			continue
		}
		text = strings.ReplaceAll(text, "capacity: {", "capacity: {from: 20, to: 30, ")
		write(t, name, text+"canary: -1\n")
		runDocumented(t, "plimsoll study run "+name+" -q --trials 1 --out out-"+name)
	}
}
