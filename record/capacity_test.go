package record_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
)

// A killed search keeps its finished steps, also those that only the journal has, and the running one is lost.
func TestKilledCapacity(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "capacity")
	c := recordtest.Capacity{Status: record.Running}.Record()
	w, err := record.Create[*record.Capacity](dir, *c.Specification)
	if err != nil {
		t.Fatal(err)
	}
	l := &c.Lines[0]
	steps := slices.Clone(l.Steps)
	l.Status, l.Steps = record.LineRunning, l.Steps[:2]
	if err := w.Write(c); err != nil {
		t.Fatal(err)
	}
	running := steps[3]
	running.Verdict = ""
	for _, s := range []record.LineStep{steps[2], running} {
		e := record.CapacityEvent{At: time.Now(), Event: record.EventEnd, Line: l.Name, Step: &s}
		if err := w.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := record.OpenCapacity(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got.Status != record.Killed || got.Conclude() != record.Ended || len(got.Validity) != 1 {
		t.Errorf("%s, %s, %v", got.Status, got.Conclude(), got.Validity)
	}
	have := got.Lines[0].Steps
	if len(have) != 4 || have[3].Verdict != record.StepLost {
		t.Fatalf("%+v", have)
	}
	if d := cmp.Diff(steps[:3], have[:3]); d != "" {
		t.Error(d)
	}
}

// The safe load is the lowest line that counts. It is unknown if one of them is unknown.
func TestSafeLine(t *testing.T) {
	for name, x := range map[string]struct {
		change func(lines []record.LoadLine)
		safe   string
		want   record.Conclusion
	}{
		"all found":   {func([]record.LoadLine) {}, "initial-sync:secondary", record.Satisfied},
		"not counted": {func(l []record.LoadLine) { l[2].Counts = false }, "kill:secondary", record.Satisfied},
		"none":        {func(l []record.LoadLine) { l[2].Status, l[2].Rate = record.LineNone, 0 }, "", record.Missed},
		"skipped":     {func(l []record.LoadLine) { l[2].Status, l[2].Rate = record.LineSkipped, 0 }, "kill:secondary", record.Satisfied},
		"failed":      {func(l []record.LoadLine) { l[2].Status, l[2].Rate = record.LineFailed, 0 }, "", record.NoResult},
		"undecided":   {func(l []record.LoadLine) { l[1].Status = record.LineUndecided }, "initial-sync:secondary", record.Incredible},
	} {
		c := recordtest.Capacity{Events: []string{"kill:secondary", "initial-sync:secondary"}}.Record()
		x.change(c.Lines)
		c.FindSafe()
		if c.Safe != x.safe || c.Conclude() != x.want {
			t.Errorf("%s: %q, %s", name, c.Safe, c.Conclude())
		}
	}
}
