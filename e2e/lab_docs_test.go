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

// TestLabDocs runs the commands of docs/lab.md in order, in one directory.
func TestLabDocs(t *testing.T) {
	inTurn(t, 50)
	if _, ok := enginetest.DocumentDB(t); !ok {
		return
	}
	page, err := os.ReadFile(filepath.Join("..", "docs", "lab.md"))
	if err != nil {
		t.Fatal(err)
	}
	home, dir, ran := enginetest.Home(t, files(t).home), t.TempDir(), 0 // --all means these labs only
	t.Cleanup(func() {
		runLine(t, dir, home, "plimsoll lab down --all --quiet")
		if left, err := filepath.Glob(filepath.Join(home, "labs", "*")); err != nil || len(left) > 0 {
			t.Errorf("left are %v (%v)", left, err)
		}
	})
	real, there := enginetest.RealMongo(t)
	plain := there && !enginetest.HasTLS(t, real)
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		for line := range strings.Lines(block[1]) {
			line = strings.TrimPrefix(strings.TrimSpace(line), "sudo ")
			line = regexp.MustCompile(`--duration \S+`).ReplaceAllString(line, "--duration 500ms")
			if plain && strings.Contains(line, "--tls") {
				line += " --engine documentdb"
			}
			runLine(t, dir, home, line)
			ran++
		}
	}
	if ran < 25 {
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
