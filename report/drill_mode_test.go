package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Outages of rounds in which connections broke are not put together with those in which they hung, and what a slow disk
// left is said.
func TestDrillTellsModesApart(t *testing.T) {
	round := func(n int, mode string, outage, during float64) record.DrillRound {
		return record.DrillRound{Number: n, Status: record.Complete, Verdict: record.Holds,
			Faults:  []record.DrillFault{{Fault: spec.ParseAction("random:primary"), Mode: mode, Injected: 1e9, Hit: true}},
			Effects: []record.DrillEffect{{Client: -1, Outage: int64(outage), Before: 1000, During: during}}}
	}
	d := &record.Drill{Specification: spec.Drill{Name: "drill"}, Head: record.Head{Status: record.Complete},
		Verdict: record.Holds, Rounds: []record.DrillRound{
			round(1, "crash", 1e9, 0), round(2, "black-hole", 12e9, 0), round(3, "crash", 3e9, 0), round(4, "black-hole", -1, 0), round(5, "slow", 0, 250)}}
	for i := range d.Rounds[:4] {
		d.Rounds[i].Ledger = &record.LedgerResult{Acknowledged: 100, LossWindow: -1, Inserts: map[string]int64{},
			Reads: []record.LedgerRead{{Source: record.FinalSource}}}
	}
	d.Rounds[1].Ledger.Inserts[record.WriteLost], d.Rounds[1].Ledger.LossWindow = 7, 80e6
	d.Rounds[1].Expect.Loss, d.Specification.Run.Durability.W = spec.LossAny, "1"
	d.Modes = d.ByMode()
	d.Modes[0].Statement, d.Modes[1].Statement = "two without loss.", "one of two."
	var b bytes.Buffer
	if err := Write(&b, d, "md"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| crash (connections break) | 2 | 2.00 s | 3.00 s | 0 | 0 |", "| black hole (connections hang) | 2 | 12.0 s | 12.0 s | 1 | 1 |",
		"round 5: while the fault was in place, throughput was 250 ok/s. That is 25",
		"holds; crash: outage 2.00 s (median), 3.00 s (longest), no acknowledged write lost; " +
			"black-hole: outage 12.0 s and one that did not end while the load ran in 1 of 2 rounds, up to 7 acknowledged writes lost in a round, " +
			"which w:1 allows; slow: outage 0, loss not known",
		"black hole (connections hang): up to 7 acknowledged writes lost in a round, which w:1 allows (acknowledged up to 80.0 ms before the fault took effect)",
		"Crash (connections break): two without loss.", "Black hole (connections hang): one of two.", "| 4 | holds | black-hole | did not end |",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}

// An outage that did not end stands in the first line, also where there is but one round.
func TestDrillTellsAnOutageWithoutEnd(t *testing.T) {
	d := &record.Drill{Specification: spec.Drill{Name: "drill"}, Head: record.Head{Status: record.Complete},
		Verdict: record.Holds, Rounds: []record.DrillRound{{
			Number: 1, Status: record.Complete, Verdict: record.Holds,
			Faults:  []record.DrillFault{{Fault: spec.ParseAction("power-off:host1"), Mode: "crash", Injected: 1e9, Hit: true}},
			Effects: []record.DrillEffect{{Client: -1, Outage: -1, OutageFrom: 1e9, Before: 1000}}}}}
	if got, want := drillAnswer(d), "holds: loss not known; outage that did not end while the load ran"; got != want {
		t.Errorf("the answer is %q, want %q", got, want)
	}
}

// Without acknowledged writes (w:0) it is known that none was lost, if the final read was done.
func TestDrillTellsThatNothingWasAcknowledged(t *testing.T) {
	for want, problem := range map[string]string{"holds: no write was acknowledged, so none could be lost": "",
		"holds: loss not known": "no primary"} {
		l := &record.LedgerResult{Attempted: 10, Reads: []record.LedgerRead{{Source: record.FinalSource, Problem: problem}}}
		f := record.DrillFault{Fault: spec.ParseAction("power-off:host1"), Mode: "crash", Injected: 1e9, Hit: true}
		d := &record.Drill{Specification: spec.Drill{Name: "drill"}, Head: record.Head{Status: record.Complete},
			Verdict: record.Holds, Rounds: []record.DrillRound{{Number: 1, Status: record.Complete, Verdict: record.Holds,
				Ledger: l, Faults: []record.DrillFault{f}}}}
		if got := drillAnswer(d); got != want {
			t.Errorf("the answer is %q, want %q", got, want)
		}
	}
}

// A fault that could not be done has no mode: the text and the tables say so, and why.
func TestDrillTellsAFaultThatWasNotInjected(t *testing.T) {
	fault := record.DrillFault{Fault: spec.ParseAction("kill:gateway-9"), Target: "kill:gateway-9", Problem: "there is no member gateway-9"}
	struck := record.DrillFault{Fault: spec.ParseAction("kill:primary"), Target: "rs0-1", Mode: "crash", Injected: 1e9,
		Done: 1e9, Hit: true, Evidence: "its process is gone"}
	d := &record.Drill{Specification: spec.Drill{Name: "drill"}, Head: record.Head{Status: record.Complete},
		Verdict: record.Unknown, Rounds: []record.DrillRound{
			{Number: 1, Status: record.Complete, Verdict: record.Unknown, Faults: []record.DrillFault{fault}},
			{Number: 2, Status: record.Complete, Verdict: record.Holds, Faults: []record.DrillFault{struck, fault}},
			{Number: 3, Status: record.Failed, Verdict: record.Unknown}}}
	var b bytes.Buffer
	if err := Write(&b, d, "md"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"kill:gateway-9 (not injected): there is no member gateway-9",
		"kill:primary on rs0-1 took effect: its process is gone. Failure mode: crash (connections break).",
		"| 1 | unknown | not injected |", "| 2 | holds | crash |", "| 3 | unknown | – |",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "()") {
		t.Errorf("a mode is empty in\n%s", b.String())
	}
}
