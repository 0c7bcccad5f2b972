package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Operations that were dropped or never sent did not succeed either.
func TestNotOkCountsWhatWasNeverDone(t *testing.T) {
	r := &record.Run{Course: record.Course{Unsent: 20}}
	p := &record.PhaseResult{Counts: measure.Tally{Attempted: 600, Succeeded: 590, Failed: 10}, Offered: 1000,
		Dropped: 380}
	want := Tile{"Not ok", "41.0 %", "10 failed, 0 indeterminate, 380 dropped, 20 unsent"}
	list := runTiles(r, p)
	if got := list[len(list)-1]; got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestMissedObjectivesAreRed(t *testing.T) {
	r := &record.Run{Head: record.Head{Status: record.Complete}, Objectives: []measure.ObjectiveResult{{Objective: "p99<1ms"}}}
	if d := Of(r); d.Grade != Bad || !strings.HasPrefix(d.Brief, "does not hold") {
		t.Errorf("a run: %s, %s", d.Grade, d.Brief)
	}
	s := recordtest.Study{Workers: []int{8, 128}, Blocks: 2}.Make()
	if d := Of(s); d.Grade != Bad || !strings.HasPrefix(d.Brief, "does not hold") {
		t.Errorf("a study: %s, %s", d.Grade, d.Brief)
	}
}

func TestATrialUnderWayIsNotLost(t *testing.T) {
	s := recordtest.Study{Workers: []int{8, 16}, Blocks: 2}.Make()
	s.Trials[1].Status, s.Trials[2].Status = record.TrialRunning, record.TrialPlanned
	for _, b := range Of(s).Checks {
		if strings.Contains(b.Text, "failed or invalid") {
			t.Error(b.Text)
		}
	}
}

func TestTargetsAreNamedOnce(t *testing.T) {
	for want, target := range map[string]record.Target{
		"null:":                         {Address: "null:", Kind: "null", Topology: "null"},
		"a:1, mongod 8.0.4, standalone": {Address: "a:1", Kind: "mongod", Version: "8.0.4", Topology: "standalone"},
		"a:1, mongod":                   {Address: "a:1", Kind: "mongod"},
	} {
		if got := runTarget(&record.Run{Target: target}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Nothing is claimed of writes and documents if the target stores none.
func TestATargetThatStoresNothingConfirmsNothing(t *testing.T) {
	r := &record.Run{Target: record.Target{Address: "null:", Kind: "null"}, Fill: &record.FillResult{Records: 5},
		Specification: spec.Run{Durability: spec.Durability{Name: "durable"}},
		Phases:        []record.PhaseResult{{Phase: "measure"}}}
	text := fmt.Sprint(Of(r))
	for _, never := range []string{"writes confirmed", "content as written", "durable"} {
		if strings.Contains(text, never) {
			t.Errorf("%q is in %s", never, text)
		}
	}
	r.Target = record.Target{Address: "a:1", Kind: "mongod"}
	if text := fmt.Sprint(Of(r)); !strings.Contains(text, "writes confirmed") || !strings.Contains(text, "durable") {
		t.Errorf("a mongod confirms writes: %s", text)
	}
}

func TestLatenessIsABadgeOfItsOwn(t *testing.T) {
	r := &record.Run{Head: record.Head{Validity: []measure.Finding{{ID: "schedule-lateness", Severity: measure.Note}}}}
	found := map[string]Grade{}
	for _, b := range runChecks(r, &record.PhaseResult{Offered: 10}) {
		found[b.Text] = b.Grade
	}
	if found["clocks and counts agree"] != Good || found["sent on time (see the note)"] != Note {
		t.Errorf("%v", found)
	}
}

func TestFirstScreenOfAStudyWithoutCapacity(t *testing.T) {
	s := recordtest.Study{Workers: []int{8, 16}, Blocks: 2}.Make()
	s.Capacity, s.Procedures = nil, nil
	s.Trials[0].Values["errors"] = 0.25
	found := map[string]Tile{}
	for _, tile := range Of(s).Tiles {
		found[tile.Name] = tile
	}
	if b := found["Baseline"]; !strings.HasSuffix(b.Value, " ok/s") || !strings.Contains(b.Note, " to ") || !strings.Contains(b.Note, "n = 2") {
		t.Errorf("baseline: %v", b)
	}
	if b := found["Fastest"]; !strings.Contains(b.Note, "workers=16") {
		t.Errorf("fastest: %v", b)
	}
	if b := found["Not ok, at most"]; b.Value != "25.0 %" || !strings.Contains(b.Note, "trial 1,") {
		t.Errorf("not ok: %v", b)
	}
	s.Comparisons = nil
	if list := Of(s).Tiles; list[0].Name != "Baseline" || !strings.Contains(list[0].Note, "median of 2 trials") {
		t.Errorf("without comparisons: %v", list)
	}
}

// The first screen of a drill and of a probe says what its verdict rests on.
func TestWhatAVerdictRestsOn(t *testing.T) {
	good := record.DrillRound{Status: record.Complete, Faults: []record.DrillFault{{Hit: true}},
		Ledger: &record.LedgerResult{}, Seeds: 10, SeedsFound: 10}
	bad := record.DrillRound{Status: record.Failed, Faults: []record.DrillFault{{}}, Seeds: 10, SeedsFound: 7,
		Unread: []string{"rs0-1"}}
	if got := drillChecks(&record.Drill{Rounds: []record.DrillRound{{Status: record.Running}}}); got != nil {
		t.Errorf("before a round is over: %v", got)
	}
	text := fmt.Sprint(drillChecks(&record.Drill{Rounds: []record.DrillRound{good, good}}))
	if strings.ContainsAny(text, "✗!") || !strings.Contains(text, "2 rounds complete") || !strings.Contains(text, "documents from before the load present") {
		t.Errorf("good rounds: %s", text)
	}
	text = fmt.Sprint(drillChecks(&record.Drill{Rounds: []record.DrillRound{good, bad}}))
	for _, want := range []string{"! 1 of 2 rounds complete", "✗ 1 fault without effect", "✗ writes not checked in 1 round", "! not all members read", "✗ 3 documents from before the load lost"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
	nothing := record.Drill{Rounds: []record.DrillRound{{Status: record.Failed}}}
	nothing.Specification.Faults = make([]spec.Fault, 1)
	if text := fmt.Sprint(drillChecks(&nothing)); strings.Contains(text, "✓") || !strings.Contains(text, "✗ 1 fault not injected") {
		t.Errorf("a round in which nothing was injected or measured: %s", text)
	}
	doubtful := record.Drill{Rounds: []record.DrillRound{good}}
	doubtful.Validity = []measure.Finding{{ID: record.DrillRunInvalid}}
	if text := fmt.Sprint(drillChecks(&doubtful)); !strings.Contains(text, "! rates not valid") {
		t.Errorf("a round with an invalid run: %s", text)
	}
	for verdict, grade := range map[record.DrillVerdict]Grade{record.Holds: Good, record.Violated: Bad, "unknown": Warn} {
		if got := drillReasons(&record.Drill{Verdict: verdict, Reasons: []string{"why"}}); len(got) != 1 ||
			got[0].Grade != grade || got[0].Text != "why" {
			t.Errorf("%s: %v", verdict, got)
		}
	}
	text = fmt.Sprint(probeChecks(&record.Probe{Head: record.Head{Status: record.Complete}, Verdict: record.Honest,
		Steps: make([]record.ProbeStep, 3)}))
	if strings.ContainsAny(text, "✗!") || !strings.Contains(text, "3 steps measured") {
		t.Errorf("an honest disk: %s", text)
	}
	text = fmt.Sprint(probeChecks(&record.Probe{Head: record.Head{Status: record.Complete,
		Validity: []measure.Finding{{}}}, Verdict: record.Lying}))
	if !strings.Contains(text, "✗ flushes do not reach the device") || !strings.Contains(text, "! 1 finding about it") {
		t.Errorf("a lying disk: %s", text)
	}
}

// A median of operations whose medians are far apart describes none of them, so the page has both.
func TestMediansApart(t *testing.T) {
	r, p := &record.Run{}, &record.PhaseResult{}
	at := func(ns int64) *record.Latency { return &record.Latency{Count: 100, P50: &ns} }
	p.Classes = []record.ClassResult{{Name: "read"}, {Name: "update"}, {Name: "part", Part: true}}
	for _, c := range []struct {
		reads, updates int64
		value, note    string
	}{{4_000, 984_000, "4.00 µs to 984 µs", "read to update"}, {500_000, 984_000, "", ""}, {984_000, 4_000, "4.00 µs to 984 µs", "update to read"}} {
		for i, l := range []*record.Latency{at(c.reads), at(c.updates), at(1)} {
			p.Classes[i].Response, p.Classes[i].Service = l, l
		}
		if value, note := mediansApart(r, p); value != c.value || note != c.note {
			t.Errorf("%d and %d ns: %q, %q", c.reads, c.updates, value, note)
		}
	}
}
