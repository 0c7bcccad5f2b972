//go:build !race

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
)

// TestDrillDocs runs the commands of docs/drill.md in order, in one directory.
func TestDrillDocs(t *testing.T) {
	inTurn(t, 30)
	if _, ok := enginetest.DocumentDB(t); !ok {
		return
	}
	page, err := os.ReadFile(filepath.Join("..", "docs", "drill.md"))
	if err != nil {
		t.Fatal(err)
	}
	examples, err := filepath.Abs(filepath.Join("..", "examples"))
	if err != nil {
		t.Fatal(err)
	}
	home, dir, ran := enginetest.Home(t, files(t).home), t.TempDir(), 0
	if err := os.Symlink(examples, filepath.Join(dir, "examples")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { runLine(t, dir, home, "plimsoll lab down --all --quiet") })
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		for line := range strings.Lines(block[1]) {
			runLine(t, dir, home, strings.TrimPrefix(strings.TrimSpace(line), "sudo "))
			ran++
		}
	}
	if ran < 6 {
		t.Errorf("found only %d commands", ran)
	}
}
