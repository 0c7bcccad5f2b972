package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
	"github.com/plimsoll-bench/plimsoll/suite/judge"
)

// recordKinds makes a small record of each kind. The names are those of their main files.
var recordKinds = map[string]func(dir string) error{
	record.RunFile: func(dir string) error {
		_, err := recordtest.Run{Warmup: 1, Seconds: 3, Rate: 50, Median: 2e6, Seed: 1, Sampled: true, Name: "small"}.Write(dir)
		return err
	},
	record.StudyFile: func(dir string) error {
		_, err := recordtest.Study{Workers: []int{8, 16}, Blocks: 3, Seed: 1, Name: "small"}.Write(dir)
		return err
	},
	record.SuiteFile: func(dir string) error {
		s, err := recordtest.Suite{}.Write(dir)
		if err != nil {
			return err
		}
		w, err := record.Continue[*record.Suite](dir, nil)
		if err != nil {
			return err
		}
		s.SuiteJudgement = judge.Of(dir, s) // as a suite has it that ended
		return errors.Join(w.Write(s), w.Close())
	},
	record.DrillFile: func(dir string) error { _, err := recordtest.Drill{Rounds: 1}.Write(dir); return err },
	record.CapacityFile: func(dir string) error {
		_, err := recordtest.Capacity{Events: []string{"kill:secondary"}}.Write(dir)
		return err
	},
	record.ProbeFile: func(dir string) error { _, err := recordtest.Probe{}.Write(dir); return err },
	record.ComparisonFile: func(dir string) error {
		return record.WriteComparison(dir, &record.ComparisonReport{Head: record.Head{SchemaVersion: record.SchemaVersion,
			Kind: record.KindComparison, Validity: []measure.Finding{}},
			Sides: []record.ComparisonSide{{Name: "a", N: 1}, {Name: "b", N: 1}}, Differences: []record.Difference{},
			Comparisons: []record.Comparison{{Metric: "throughput", Verdict: record.Inconclusive}}})
	},
}

// plimsoll runs this test program as plimsoll, in a directory of its own, and returns the exit code with all output as
// one line.
func plimsoll(t *testing.T, args ...string) (code int, output string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	cmd := exec.Cmd{Path: exe, Args: append([]string{"plimsoll"}, args...), Dir: t.TempDir(), Stdout: &b, Stderr: &b}
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), strings.Join(strings.Fields(b.String()), " ") // without line breaks
}

func TestRecordsThatAreNotWhatWasMeasured(t *testing.T) {
	t.Parallel()
	for file, write := range recordKinds {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "r")
			if err := write(dir); err != nil {
				t.Fatal(err)
			}
			whole, text := plimsoll(t, "show", "--verbose", dir)
			if strings.Contains(text, "changed after") || strings.Contains(text, "no checksums") {
				t.Errorf("the record as it was written is doubted: %s", text)
			}
			path, sums := filepath.Join(dir, file), filepath.Join(dir, record.SumsFile)
			original := read(t, path)
			listed := read(t, sums)
			head := `{"schema_version":"1.0","kind":"` + strings.TrimSuffix(file, ".json") + `"}`
			for _, c := range []struct {
				name, main, sums string // sums "-" removes the file
				code             int
				says             string
			}{
				{"no checksums", original, "-", whole, "has no checksums"},
				{"altered", original + " ", listed, exitInvalid, "changed after the record"},
				{"no longer listed", original, "", exitInvalid, "changed after the record"},
				{"nothing in it", head, "-", exitInvalid, "has no results"},
				{"another version", strings.Replace(original, `"1.0"`, `"99.0"`, 1), "-", exitUsage, "schema version"},
			} {
				write := func(name, text string) {
					if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				write(path, c.main)
				write(sums, c.sums)
				if c.sums == "-" {
					if err := os.Remove(sums); err != nil {
						t.Fatal(err)
					}
				}
				code, text := plimsoll(t, "show", "--verbose", dir)
				if code != c.code || !strings.Contains(text, c.says) {
					t.Errorf("%s: show ended with %d, want %d, and has to say %q:\n%.1500s", c.name, code, c.code, c.says, text)
				}
				code, text = plimsoll(t, "report", dir, "-o", "-")
				if (code == exitUsage) != (c.code == exitUsage) || !strings.Contains(text, c.says) {
					t.Errorf("%s: report ended with %d and does not say %q", c.name, code, c.says)
				}
			}
		})
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
