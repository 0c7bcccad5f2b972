package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
)

// Only the last attempt of a trial counts, and what belongs to a procedure is no trial of the comparison.
func TestProgressCountsTrialsOnce(t *testing.T) {
	s := &record.Study{Trials: []record.Trial{
		{Number: 1, Attempt: 1, Kind: record.TrialCompared, Status: record.TrialLost},
		{Number: 1, Attempt: 2, Kind: record.TrialCompared, Status: record.TrialDone},
		{Number: 2, Attempt: 1, Kind: record.TrialCompared, Status: record.TrialFailed},
		{Number: 2, Attempt: 2, Kind: record.TrialCompared, Status: record.TrialRunning},
		{Number: 3, Attempt: 1, Kind: record.TrialCanary, Status: record.TrialPlanned},
		{Number: 100001, Attempt: 1, Kind: record.TrialSearch, Status: record.TrialDone},
		{Number: 100002, Attempt: 1, Kind: record.TrialSearch, Status: record.TrialFailed},
	}}
	if got := studyNow(s, t.TempDir()).Text; got != "1 of 3 trials done" {
		t.Errorf("the study is at %q", got)
	}
}

func TestLastLine(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "lines")
	for text, want := range map[string]string{"": "", "torn": "", "one\n": "one", "one\ntwo\nto": "two",
		strings.Repeat("x", 2*lineAtMost) + "\n": "", strings.Repeat("x", lineAtMost) + "\nend\n": "end"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := string(lastLine(name)); got != want {
			t.Errorf("the last line of %.20q is %.20q, want %q", text, got, want)
		}
	}
}
