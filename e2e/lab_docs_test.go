//go:build !race

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
)

// TestLabDocs runs the commands of docs/lab.md.
func TestLabDocs(t *testing.T) {
	inTurn(t, 50)
	if _, ok := enginetest.DocumentDB(t); !ok {
		return
	}
	real, there := enginetest.RealMongo(t)
	plain := there && !enginetest.HasTLS(t, real)
	runDocs(t, "lab.md", 25, func(line string) string {
		line = regexp.MustCompile(`--duration \S+`).ReplaceAllString(line, "--duration 500ms")
		if plain && strings.Contains(line, "--tls") {
			line += " --engine documentdb"
		}
		return line
	})
}

// TestDrillDocs runs the commands of docs/drill.md.
func TestDrillDocs(t *testing.T) {
	inTurn(t, 30)
	if _, ok := enginetest.DocumentDB(t); !ok {
		return
	}
	runDocs(t, "drill.md", 6, func(line string) string { return line })
}

// runDocs runs the commands of a page of the documentation in order and with changes, in one directory. Its labs have a
// home of their own, which --all means and where none is left.
func runDocs(t *testing.T, page string, least int, change func(line string) string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "docs", page))
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
	t.Cleanup(func() {
		runLine(t, dir, home, "plimsoll lab down --all --quiet")
		if left, err := filepath.Glob(filepath.Join(home, "labs", "*")); err != nil || len(left) > 0 {
			t.Errorf("left are %v (%v)", left, err)
		}
	})
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		for line := range strings.Lines(block[1]) {
			runLine(t, dir, home, change(strings.TrimPrefix(strings.TrimSpace(line), "sudo ")))
			ran++
		}
	}
	if ran < least {
		t.Errorf("found only %d commands", ran)
	}
}

// runLine runs a line like a shell. A run that is too short for a verdict is not a failure.
func runLine(t *testing.T, dir, home, line string) {
	t.Helper()
	f := files(t)
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PLIMSOLL_HOME="+home, "PATH="+filepath.Dir(f.binary)+":"+os.Getenv("PATH"))
	began := time.Now()
	out, err := cmd.CombinedOutput()
	t.Logf("%.1f s: %s", time.Since(began).Seconds(), line)
	if code := cmd.ProcessState.ExitCode(); code != 0 && code != 6 {
		t.Errorf("%s\n%v\n%s", line, err, out)
	}
}
