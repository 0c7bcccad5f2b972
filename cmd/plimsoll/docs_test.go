package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/plimsoll-bench/plimsoll/published"
	"github.com/plimsoll-bench/plimsoll/store/null"
)

// smaller makes the commands of the documentation short enough for a test; nothing else is changed.
var smaller = []struct {
	find *regexp.Regexp
	by   string
}{
	{regexp.MustCompile(`--(duration|warmup) \S+`), "--$1 100ms"},
	{regexp.MustCompile(`--records \S+`), "--records 500"},
	{regexp.MustCompile(`--stage \d+m:`), "--stage 100ms:"},
	{regexp.MustCompile(`recordcount=\d+`), "recordcount=500"},
	{regexp.MustCompile(`plimsoll disk `), "plimsoll disk --segment 4MiB --clients 1,4 "},
	{regexp.MustCompile(`plimsoll calibrate`), "plimsoll calibrate --duration 100ms"},
}

// TestDocs runs every command that the pages of docs/ show, in their order, each page in
// a directory of its own, against a responder where they name a server. A command may find fault with
// its result, as a run of a tenth of a second deserves, but it must not fail.
func TestDocs(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil || len(pages) < 4 {
		t.Fatalf("found only the pages %v (%v)", pages, err)
	}
	top, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	documents, err := published.Documents()
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if slices.ContainsFunc(documents, func(s *published.Source) bool { return s.Name+".md" == filepath.Base(page) }) {
			continue // TestPagesOfDocuments has them
		}
		if slices.Contains([]string{"ycsb.md", "study.md", "engines.md", "faultfs.md", "lab.md", "drill.md", "ci.md"}, filepath.Base(page)) {
			// ycsb.md, study.md and faultfs.md have tests of their own; engines.md needs root and the network; e2e runs the
			// README, lab.md and drill.md; the example of ci.md measures for a minute, and a script has its commands
			continue
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(page), func(t *testing.T) {
			address := responder(t, null.Options{Count: 1 << 20}).Addr()
			t.Chdir(t.TempDir())
			if err := os.Symlink(filepath.Join(top, "examples"), "examples"); err != nil { // pages name files as seen from the top
				t.Fatal(err)
			}
			for _, line := range shellCommands(string(text)) {
				if filepath.Base(page) == "agents.md" {
					line += " --print-spec" // e2e has agents
				}
				runDocumented(t, strings.ReplaceAll(line, "localhost:27017", address))
			}
		})
	}
}

func runDocumented(t *testing.T, line string) {
	t.Helper()
	for _, s := range smaller {
		line = s.find.ReplaceAllString(line, s.by)
	}
	words := strings.Fields(strings.ReplaceAll(line, "'", ""))
	if len(words) == 0 || words[0] != "plimsoll" {
		t.Errorf("%q is no call of plimsoll", line)
		return
	}
	if words[1] == "calibrate" {
		return // starts its own program once more, which here is the test; a script covers it
	}
	if command := strings.Join(words[1:], " "); regexp.MustCompile(`^(study|suite) (plan|run) examples/`).MatchString(command) {
		planDocumented(t, line) // make smoke runs them
		return
	}
	code, stdout, stderr := hereWith(t, homeOf(t), words[1:]...)
	switch code {
	case exitSuccess, exitObjective, exitInvalid:
	default:
		t.Errorf("%s\nexit %d\nstdout:\n%s\nstderr:\n%s", line, code, stdout, stderr)
	}
}

// homes are the homes of tests, each for all its commands: a study is resumed with the home that it was run with.
var homes sync.Map

func homeOf(t *testing.T) string {
	t.Helper()
	home, known := homes.Load(t)
	if !known {
		home = t.TempDir()
		homes.Store(t, home)
	}
	return home.(string)
}
