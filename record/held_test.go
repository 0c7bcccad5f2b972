package record

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Whoever holds a study reads what was under way as that, also where the file system knows no locks, and looks at
// the record of the trial before it calls it lost.
func TestHeldStudyKeepsWhatWasUnderWay(t *testing.T) {
	dir, want := writeStudy(t) // nobody holds it
	got, err := ReadHeld[*Study](dir)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-written +read:\n%s", d)
	}
	if last := got.Trials[len(got.Trials)-1]; last.Status != TrialRunning || got.Status != Running {
		t.Errorf("study %s, trial %+v", got.Status, last)
	}
	if _, err := ReadHeld[*Study](t.TempDir()); err == nil {
		t.Error("a directory without a study was read")
	}
}
