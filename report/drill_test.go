package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// audited is a drill whose audit read all members and lost three writes, two of which are still somewhere.
func audited() *record.Drill {
	return &record.Drill{Head: record.Head{Status: record.Complete}, Verdict: record.Violated,
		Rounds: []record.DrillRound{{
			Number: 1, Status: record.Complete, Verdict: record.Violated, Record: "rounds/1",
			Effects: []record.DrillEffect{{Client: -1, Outage: 2.5e9, Recovery: -1, Failed: 4}},
			Ledger: &record.LedgerResult{Attempted: 12, Acknowledged: 10, LossWindow: 12e6,
				Inserts: map[string]int64{record.WriteLost: 3, record.WriteOK: 7},
				Lost:    []record.LostWrite{{ID: "a", Age: 12e6, Found: "the old timeline of rs0-1 (kept in /x)"}, {ID: "b", Age: -3e6, Found: "the old timeline of rs0-1 (kept in /x)"}, {ID: "c"}},
				Reads: []record.LedgerRead{{Source: "final", Documents: 7},
					{Source: "rs0-1", Documents: 9, Extra: 2, State: record.MemberDiverged},
					{Source: "rs0-2", Documents: 5, Missing: 2, State: record.MemberStale, Behind: "1 MiB of the primary's log were not applied"},
					{Source: "the old timeline of rs0-1 (kept in /x)", Documents: 3},
					{Source: "rs0-3", State: record.MemberNeverRead, Problem: "connection refused"}}}}}}
}

// The audit of a drill says how each member stands, and where lost writes still are.
func TestDrillSaysHowMembersStand(t *testing.T) {
	d := audited()
	var b bytes.Buffer
	if err := Write(&b, d, "md"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| rs0-1 | diverged | 9 | 0 | 2 |", "| rs0-2 | lags | 5 | 2 | 0 |", "of the primary's log were not applied", "| rs0-3 | not read |", "connection refused", "| final read | – | 7 |",
		"| the old timeline of rs0-1 | – | 3 | 0 | 0 |", "The old timeline of rs0-1 is kept in /x. Of it, only writes of this round count.", "| a | 0 | 0 | 12.0 ms before the fault took effect | the old timeline of rs0-1 |", "| b | 0 | 0 | 3.00 ms after the fault took effect |",
		"| ok | 7 | 0 | acknowledged, and present at the end |", "| lost | 3 | 0 | acknowledged, and absent at the end |",
		"Of 3 lost writes, 2 found in the old timeline of rs0-1 (kept in /x), 1 not found.",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	d.Specification.Run.Target, d.Specification.Run.Via = "lab:three", spec.ViaREST
	r := &d.Rounds[0]
	r.Members, r.CPUSeconds, r.WrittenBytes, r.ServiceCPUSeconds, r.ClientCPUSeconds = 3, 12, 1<<20, 4.5, 0.6
	b.Reset()
	if err := Write(&b, d, "md"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"target: lab:three, through a REST service",
		"The lab, with data on 3 members, used 12.0 s of CPU and wrote 1.00 MiB; the REST service used 4.50 s of CPU; the load generator used 600 ms of CPU."} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	d.Specification.Lab = &spec.Lab{}
	if text := fmt.Sprint(drillReasons(d)); !strings.Contains(text, "are removed with the lab of this drill") {
		t.Errorf("it is not said that the files are gone: %s", text)
	}
	l := d.Rounds[0].Ledger
	l.Lost[0].Found, l.Lost[1].Found, l.Inserts[record.WriteLost] = "", "", 5000
	if got, want := foundElsewhere(l), "Of the first 3 lost writes, none was found in a rollback file, in a discarded log or on another member."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	l.Unsearched = "Rollback files could not be read"
	if got, want := foundElsewhere(l), "Of the first 3 lost writes, nothing is known in other places. Rollback files could not be read."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	l.Unsearched = ""
}

// A read that succeeds ends the outage of all operations, so the first line has writes and reads.
func TestDrillTellsOutagesOfWritesAndReads(t *testing.T) {
	effect := func(kind string, outage int64) record.DrillEffect {
		return record.DrillEffect{Kind: kind, Client: -1, Before: 100, OutageFrom: 1e9, Outage: outage}
	}
	for want, effects := range map[string][]record.DrillEffect{
		"holds: loss not known; outage of writes 9.00 s, of reads 2.00 s": {effect("", 1e9), effect("writes", 9e9), effect("reads", 2e9)},
		"holds: loss not known; outage of writes 9.00 s":                  {effect("", 4e6), effect("writes", 9e9), effect("reads", 5e6)},
		"holds: loss not known; outage 1.00 s":                            {effect("", 1e9)},
		"holds: loss not known; outage of writes more than 7.00 s (did not end), of reads 2.00 s": {
			effect("", 1e9), effect("writes", -1), effect("reads", 2e9)},
	} {
		d := &record.Drill{Specification: spec.Drill{Name: "drill"}, Head: record.Head{Status: record.Complete},
			Verdict: record.Holds, Rounds: []record.DrillRound{{Number: 1, Status: record.Complete, Verdict: record.Holds,
				WindowEnd: 8e9, Faults: []record.DrillFault{{Fault: spec.ParseAction("kill:primary"), Mode: "crash", Injected: 1e9, Hit: true}},
				Effects: effects}}}
		if got := drillAnswer(d); got != want {
			t.Errorf("the answer is %q, want %q", got, want)
		}
	}
}

// The facts have the planned load, the reached rate, and what decides how long an election takes.
func TestDrillTellsLoadAndElectionTimeout(t *testing.T) {
	d := &record.Drill{Specification: spec.Drill{Run: spec.Run{Client: "wire", Workload: spec.Workload{Name: "ledger"},
		Load: spec.Load{Rate: 500, Arrivals: "poisson", Workers: 64, Duration: spec.Duration(time.Minute)}}},
		Engine: "Percona Server for MongoDB 4.4.6-8", Rounds: []record.DrillRound{{
			Topology: &spec.Topology{Kind: spec.LabReplicaSet, Members: 3, Election: "elect-fast"},
			Effects:  []record.DrillEffect{{Client: -1, Before: 480}}}}}
	want := "workload ledger, open loop of 500/s, poisson arrivals, up to 64 workers, client wire, for 1m; reached 480 ok/s before the fault"
	if got := drillLoad(d); got != want {
		t.Errorf("the load is %q, want %q", got, want)
	}
	for election, want := range map[string]string{
		"elect-fast":    "replica set of 3 members (elect-fast), election timeout 1.00 s (MongoDB's default: 10 s)",
		"elect-default": "replica set of 3 members (elect-default), election timeout 10 s (MongoDB's default)",
	} {
		d.Rounds[0].Topology.Election = election
		if got := drillLab(d); got != want {
			t.Errorf("the lab is %q, want %q", got, want)
		}
	}
	d.Engine, d.Rounds[0].Topology.Election = "documentdb 0.1", "elect-default"
	if got, want := drillLab(d), "replica set of 3 members (elect-default)"; got != want {
		t.Errorf("the lab is %q, want %q", got, want)
	}
}

// A drill as a table has one line per round; what did not end is empty.
func TestDrillCSV(t *testing.T) {
	var b bytes.Buffer
	if err := drillCSV(&b, audited()); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 2 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	got := map[string]string{}
	for i, name := range rows[0] {
		got[name] = rows[1][i]
	}
	for name, want := range map[string]string{"outage_s": "2.5", "recovery_s": "", "lost": "3", "loss_window_s": "0.012", "service_cpu_s": "", "acknowledged": "10", "verdict": "violated", "record": "rounds/1"} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
}

// A problem that is also the reason of the verdict is told once.
func TestDrillTellsAProblemOnce(t *testing.T) {
	const problem = "cannot use mongodb://a: no primary"
	d := &record.Drill{Head: record.Head{Kind: record.KindDrill, Status: record.Failed, Problem: problem},
		Verdict: record.Unknown,
		Reasons: []string{"round 2: " + problem, "round 1: no fault was injected"},
		Rounds: []record.DrillRound{{Number: 1},
			{Number: 2, Status: record.Failed, Problem: problem, Reasons: []string{problem}}}}
	doc := drillDocument(d, nil)
	text := doc.Problem + fmt.Sprint(doc.Findings)
	if strings.Count(text, problem) != 1 || !strings.Contains(text, "no fault was injected") {
		t.Errorf("it says %s", text)
	}
}
