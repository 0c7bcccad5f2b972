package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/store/null"
)

// TestYCSBDocs runs every command that docs/ycsb.md shows, in their order and in one directory.
func TestYCSBDocs(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "ycsb.md"))
	if err != nil {
		t.Fatal(err)
	}
	commands := shellCommands(string(page))
	if len(commands) < 7 {
		t.Fatalf("found only %d commands: %q", len(commands), commands)
	}
	address := responder(t, null.Options{}).Addr()
	t.Chdir(t.TempDir())
	for _, line := range commands {
		words := strings.Fields(strings.ReplaceAll(line, "localhost:27017", address))
		if words[0] != "plimsoll" {
			t.Errorf("%q is no call of plimsoll", line)
			continue
		}
		code, stdout, stderr := here(t, words[1:]...)
		if code != exitSuccess {
			t.Errorf("%s\nexit %d\nstdout:\n%s\nstderr:\n%s", line, code, stdout, stderr)
		}
	}
}

// shellCommands returns the lines of all blocks that are marked as commands of a shell.
func shellCommands(page string) (lines []string) {
	inside := false
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```sh"
		case inside && line != "":
			lines = append(lines, line)
		}
	}
	return lines
}
