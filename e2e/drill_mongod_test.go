//go:build !race

package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// TestDrillsOfMongod runs the shipped drills of mongod on a stand-in, whose members elect, replicate, wait for write
// concerns and roll back like mongod, but faster. Secondaries lag by half a second, so a killed primary has
// acknowledged writes that no other member has.
func TestDrillsOfMongod(t *testing.T) {
	inTurn(t, 20)
	t.Run("w1-fast", testMongodLoses)
	t.Run("w1-default", testMongodViolates)
	t.Run("majority-fast", testMongodKeeps)
	t.Run("backup", testMongodBackup)
}

// untilEffective runs a shipped drill with changes until it shows its effect.
func untilEffective(t *testing.T, shipped string, code int, shows func(record.Drill) bool,
	changes ...string) record.DrillRound {
	t.Helper()
	binary := enginetest.StandinMongo(t, "8.0.12", "lags")
	file := shippedDrill(t, "mongod-"+shipped, append(changes, "engine: {name: mongod", "engine: {name: mongod, binary: "+binary)...)
	removeAfter(t, "drill-mongod-"+shipped)
	d, e := untilSeen(t, shows, file, "--quiet")
	r := d.Rounds[0]
	if !shows(d) {
		t.Fatalf("the verdict is %s because of %q, expected was %q; the ledger is %+v", d.Verdict, d.Reasons, r.Promise, r.Ledger)
	}
	e.must(t, code)
	testAllAgree(t, r, "rs0-1", "rs0-2", "rs0-3")
	for _, kind := range []string{record.MomentFault, record.MomentPrimaryOut, record.MomentElected, record.MomentHealed,
		record.MomentRedundant} {
		if !has(r, kind) {
			t.Errorf("the timeline has no %s: %+v", kind, r.Moments)
		}
	}
	if r.SeedsFound != 2 || r.Ledger == nil || r.Ledger.Acknowledged == 0 {
		t.Fatalf("%d seed documents were found, the ledger is %+v", r.SeedsFound, r.Ledger)
	}
	return r
}

const rollbackOf = "the rollback of "

// kept counts the listed lost writes that are in rollback files of the first faulted member.
func kept(r record.DrillRound) (n int) {
	if r.Ledger == nil || len(r.Faults) == 0 {
		return 0
	}
	for _, w := range r.Ledger.Lost {
		if strings.HasPrefix(w.Found, rollbackOf+r.Faults[0].Target+" ") {
			n++
		}
	}
	return n
}

// testMongodLoses kills a primary under w:1. Writes that only the primary had are listed, and those in its journal are
// found in its rollback files.
func testMongodLoses(t *testing.T) {
	t.Parallel()
	loses := func(d record.Drill) bool { return d.Verdict == record.Holds && kept(d.Rounds[0]) > 0 }
	r := untilEffective(t, "w1-fast", 0, loses, "pace: 4000", "pace: 60", "duration: 60s", "duration: 9s", "at: 8s, for: 30s", "at: 2s, for: 3s")
	if l := r.Ledger; l.LostWrites() < int64(kept(r)) || l.Lost[0].ID == "" || l.LossWindow <= 0 {
		t.Errorf("%d writes are lost, %d of those that are named are in rollback files: %+v", l.LostWrites(), kept(r), l)
	}
	// The election timeout counts from the last sign of the primary, which was up to a quarter of it before.
	if o := r.Whole().Outage; o < 0.5e9 {
		t.Errorf("the outage is %v ns with an election timeout of a second", o)
	}
}

// testMongodViolates expects more than w:1 promises, with a longer election timeout.
func testMongodViolates(t *testing.T) {
	t.Parallel()
	violates := func(d record.Drill) bool { return d.Verdict == record.Violated && kept(d.Rounds[0]) > 0 }
	r := untilEffective(t, "w1-default", 5, violates, "pace: 4000", "pace: 60", "duration: 60s", "duration: 11s", "at: 8s, for: 30s", "at: 2s, for: 6s",
		"election: elect-default", `election: elect-default, settings: {electionTimeoutMillis: "3000"}`, "faults:", "expect: {loss: none}\nfaults:")
	if o := r.Whole().Outage; o < 1.5e9 {
		t.Errorf("the outage is %v ns with an election timeout of three seconds", o)
	}
}

// testMongodKeeps kills the primary, steps the next one down and stops the one after that, under majority: no write is
// lost, and each fault affects one member.
func testMongodKeeps(t *testing.T) {
	t.Parallel()
	elected := func(d record.Drill) (n int) {
		for _, m := range d.Rounds[0].Moments {
			if m.Kind == record.MomentElected {
				n++
			}
		}
		return n
	}
	three := func(d record.Drill) bool { return elected(d) >= 3 } // a busy set may elect later than a fault is reverted
	r := untilEffective(t, "majority-fast", 0, three, "workers: 8, pace: 4000", "workers: 32, pace: 15", "duration: 60s", "duration: 12s",
		`faults:
  - {fault: "kill:primary", at: 8s, for: 30s}`, `faults:
  - {fault: "kill:primary", at: 2s, for: 2s}
  - {fault: "step-down:primary", at: 5500ms}
  - {fault: "pause:primary", at: 8s, for: 2500ms}`)
	if r.Expect.Loss != spec.LossNone || r.Ledger.LostWrites() != 0 || r.Ledger.Updates[record.WriteDuplicated] != 0 {
		t.Errorf("expected was %q; the ledger is %+v", r.Promise, r.Ledger)
	}
	if len(r.Faults) != 3 {
		t.Errorf("three faults are %+v", r.Faults)
	}
}

// testMongodBackup backs up a secondary under load, on a real mongod where there is one. The backup is restored, and
// lacks only writes that are later, or that the secondary did not have yet.
func testMongodBackup(t *testing.T) {
	t.Parallel()
	binary, real := enginetest.RealMongo(t)
	if !real {
		binary = enginetest.StandinMongo(t, "8.0.12")
	}
	file := shippedDrill(t, "mongod-majority-fast", "name: mongod-majority-fast", "name: mongod-backup",
		"pace: 4000", "pace: 60",
		"duration: 60s", "duration: 8s", `{fault: "kill:primary", at: 8s, for: 30s}`, `{fault: "backup:secondary", at: 2s}`)
	removeAfter(t, "drill-mongod-backup")
	d, e := untilSeen(t, known, file, "--binary", binary, "--quiet")
	r := d.Rounds[0]
	e.must(t, 0)
	testFigure(t, r, "backup", "copied", 1)
	name := "the backup of " + r.Faults[0].Target
	at := slices.IndexFunc(r.Ledger.Reads, func(x record.LedgerRead) bool { return x.Source == name })
	if at < 0 {
		t.Fatalf("the backup was not read: %+v, %q, %q", r.Ledger.Reads, r.Unread, d.Reasons)
	}
	read := r.Ledger.Reads[at]
	if read.State != record.MemberStale || read.Missing == 0 || read.Extra != 0 || read.Documents == 0 ||
		read.Copy == nil ||
		read.Copy.Torn != 0 || !strings.Contains(read.Behind, "restored") {
		t.Errorf("%+v, %+v", read, read.Copy)
	}
	if f := r.Faults[0]; f.Noticed == nil || f.Noticed.P99During == 0 || f.Event == nil ||
		f.Event.Outcome != record.EventCompleted {
		t.Errorf("%+v", f)
	}
}
