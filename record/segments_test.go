package record

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A run that is killed right after its load phase still says what that did, and how its operations were
// timed: the load phase has no schedule, the measured part has one.
func TestSecondBeginIsWritten(t *testing.T) {
	dir := t.TempDir()
	w, err := CreateRun(dir, Tool{Name: "plimsoll"}, testSpec())
	if err != nil {
		t.Fatal(err)
	}
	loading := testDims()
	loading.Scheduled = false
	if err := w.Begin(loading, testStart); err != nil {
		t.Fatal(err)
	}
	fill := FillResult{Records: 1000, Inserted: 600, Present: 400, Counted: 1000, Seconds: 2}
	w.SetFill(fill)
	if err := w.Begin(testDims(), testStart.Add(3*time.Second)); err != nil {
		t.Fatal(err)
	}
	for _, iv := range testIntervals(t, 3)[:5] {
		if err := w.Interval(iv); err != nil {
			t.Fatal(err)
		}
	}
	r, err := OpenRun(dir) // without Finish
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != Killed || !r.Scheduled {
		t.Errorf("status %s, scheduled: %v", r.Status, r.Scheduled)
	}
	if diff := cmp.Diff(&fill, r.Fill); diff != "" {
		t.Errorf("load phase (-want +got):\n%s", diff)
	}
}
