package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
		var stdout, stderr bytes.Buffer
		code := mainRun(context.Background(), &environment{
			args: words[1:], stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr,
			getenv: func(string) string { return "" }, now: time.Now, width: func() int { return 80 },
			signals: func() (<-chan os.Signal, func()) { return nil, func() {} },
		})
		if code != exitSuccess {
			t.Errorf("%s\nexit %d\nstdout:\n%s\nstderr:\n%s", line, code, &stdout, &stderr)
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
