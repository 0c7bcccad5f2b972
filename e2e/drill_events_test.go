//go:build !race

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/internal/notrun"
	"github.com/plimsoll-bench/plimsoll/record"
)

// testDrillEvents runs several planned events in one drill. If the machine is busy, one may begin before the other has
// ended, and be refused. If a server did not answer within a limit of the drill, which is then unknown, that is named,
// and ok is false.
func testDrillEvents(t *testing.T, name, load string, events ...string) (r record.DrillRound, ok bool) {
	t.Helper()
	text := "run: {target: 'lab:" + name + "', " + load + ", durability: {w: majority}}\nfaults:\n"
	for _, e := range events {
		text += "  - {" + e + "}\n"
	}
	file := filepath.Join(t.TempDir(), "events.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d, _ := untilSeen(t, known, file, "--quiet", "--recovery", "90s")
	if hung(d) {
		notrun.Here(t, "planned events, because a server did not answer: %s", strings.Join(d.Reasons, "; "))
		return r, false
	}
	if d.Verdict != record.Holds || len(d.Rounds[0].Faults) != len(events) {
		t.Fatalf("the verdict is %s because of %q: %+v", d.Verdict, d.Reasons, d.Rounds[0].Faults)
	}
	for _, f := range d.Rounds[0].Faults {
		if f.Noticed == nil || f.Noticed.P99During == 0 || f.Evidence == "" {
			t.Errorf("%s: noticed %+v, evidence %q", f.Fault, f.Noticed, f.Evidence)
		}
		if f.Event != nil && (f.Event.Outcome != record.EventCompleted || f.Done <= f.Injected) {
			t.Errorf("%s is %+v", f.Fault, f)
		}
	}
	down := func(m record.LabMember) bool { return m.State != "running" }
	if s := status(t, name); len(s.Faults) != 0 || slices.ContainsFunc(s.Members, down) {
		t.Errorf("after the events: %+v, %+v", s.Faults, s.Members)
	}
	return d.Rounds[0], true
}

// testFigure checks that an event measured at least so much of something.
func testFigure(t *testing.T, r record.DrillRound, event, figure string, least float64) {
	t.Helper()
	for _, f := range r.Faults {
		if f.Fault.Name == event && f.Event != nil && slices.ContainsFunc(f.Event.Figures, func(x record.EventFigure) bool {
			return x.Name == figure && x.Value >= least
		}) {
			return
		}
	}
	t.Errorf("%s has no figure %q of at least %v: %+v", event, figure, least, r.Faults)
}
