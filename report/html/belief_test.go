package html

import (
	"fmt"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// The first screen of a drill and of a probe says what its verdict rests on.
func TestWhatAVerdictRestsOn(t *testing.T) {
	good := record.DrillRound{Status: record.Complete, Faults: []record.DrillFault{{Hit: true}}, Ledger: &record.LedgerResult{}, Seeds: 10, SeedsFound: 10}
	bad := record.DrillRound{Status: record.Failed, Faults: []record.DrillFault{{}}, Seeds: 10, SeedsFound: 7, Unread: []string{"rs0-1"}}
	if got := drillBadges(&record.Drill{Rounds: []record.DrillRound{{Status: record.Running}}}); got != nil {
		t.Errorf("before a round is over: %v", got)
	}
	text := fmt.Sprint(drillBadges(&record.Drill{Rounds: []record.DrillRound{good, good}}))
	if strings.ContainsAny(text, "✗!") || !strings.Contains(text, "2 rounds complete") || !strings.Contains(text, "older records still there") {
		t.Errorf("good rounds: %s", text)
	}
	text = fmt.Sprint(drillBadges(&record.Drill{Rounds: []record.DrillRound{good, bad}}))
	for _, want := range []string{"! 1 of 2 rounds complete", "✗ 1 fault without effect", "✗ writes not judged in 1 round", "! some members not read", "✗ 3 older records gone"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
	for verdict, mark := range map[record.DrillVerdict]string{record.Holds: "✓", record.Violated: "✗", "unknown": "!"} {
		if got := drillReasons(&record.Drill{Verdict: verdict, Reasons: []string{"why"}}); len(got) != 1 || got[0].Mark != mark || got[0].Text != "why" {
			t.Errorf("%s: %v", verdict, got)
		}
	}
	text = fmt.Sprint(probeBadges(&record.Probe{Head: record.Head{Status: record.Complete}, Verdict: record.Honest, Steps: make([]record.ProbeStep, 3)}))
	if strings.ContainsAny(text, "✗!") || !strings.Contains(text, "3 steps measured") {
		t.Errorf("an honest disk: %s", text)
	}
	text = fmt.Sprint(probeBadges(&record.Probe{Head: record.Head{Status: record.Complete, Validity: []measure.Finding{{}}}, Verdict: record.Lying}))
	if !strings.Contains(text, "✗ flushes do not reach the device") || !strings.Contains(text, "! 1 finding about it") {
		t.Errorf("a lying disk: %s", text)
	}
}
