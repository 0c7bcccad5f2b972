//go:build !race

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/record"
)

// TestDrillsOfMongod makes the shipped drills of mongod from the first word to the last with a stand-in, as no real one can
// be had here: its members elect, replicate, wait for write concerns and roll back as the manual says. They do it in less
// time: the outages are those of the times that are asked for here. Secondaries are 300 ms behind, so that a primary that
// is killed takes acknowledged writes with it.
func TestDrillsOfMongod(t *testing.T) {
	t.Parallel()
	t.Run("w1-fast", testMongodLoses)
	t.Run("w1-default", testMongodViolates)
	t.Run("majority-fast", testMongodKeeps)
}

// mongodDrill makes a shipped drill with changes, until its verdict is known: on a machine that has much else to do a primary
// may be replaced before it is broken.
func mongodDrill(t *testing.T, shipped string, code int, changes ...string) (record.Drill, ended) {
	t.Helper()
	text, err := os.ReadFile("../examples/drill/mongod-" + shipped + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	binary := enginetest.StandinMongo(t, "8.0.12", "lags")
	own := string(text)
	for i, changes := 0, append(changes, "engine: {name: mongod", "engine: {name: mongod, binary: "+binary); i < len(changes); i += 2 {
		if !strings.Contains(own, changes[i]) {
			t.Fatalf("the drill has no %q:\n%s", changes[i], own)
		}
		own = strings.Replace(own, changes[i], changes[i+1], 1)
	}
	file := filepath.Join(t.TempDir(), "drill.yaml")
	if err := os.WriteFile(file, []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	removeAfter(t, "drill-mongod-"+shipped)
	const attempts = 4
	for n := 1; ; n++ {
		e := plimsoll(t, "drill", file, "--format", "json", "--quiet")
		if e.code == 6 && n < attempts {
			t.Logf("attempt %d is unknown: %q", n, drillOf(t, e).Reasons)
			continue
		}
		d := drillOf(t, e.must(t, code))
		r := d.Rounds[0]
		testAllAgree(t, withoutRollbacks(r), "rs0-1", "rs0-2", "rs0-3")
		for _, kind := range []string{record.MomentFault, record.MomentPrimaryOut, record.MomentElected, record.MomentHealed, record.MomentRedundant} {
			if !has(r, kind) {
				t.Errorf("the timeline has no %s: %+v", kind, r.Moments)
			}
		}
		if r.SeedsFound != 2 || r.Ledger == nil || r.Ledger.Acknowledged < 100 {
			t.Fatalf("%d seed records were found, the ledger is %+v", r.SeedsFound, r.Ledger)
		}
		return d, e
	}
}

const rollbackOf = "the rollback of "

// withoutRollbacks is a round as if the files of rollbacks had not been read, which are no members.
func withoutRollbacks(r record.DrillRound) record.DrillRound {
	if r.Ledger == nil {
		return r
	}
	l := *r.Ledger
	l.Reads = nil
	for _, read := range r.Ledger.Reads {
		if !strings.HasPrefix(read.Source, rollbackOf) {
			l.Reads = append(l.Reads, read)
		}
	}
	r.Ledger = &l
	return r
}

// kept is how many of the lost writes that are named are in the rollback files of a member.
func kept(l *record.LedgerResult, member string) (n int) {
	for _, w := range l.Lost {
		if strings.HasPrefix(w.Found, rollbackOf+member) {
			n++
		}
	}
	return n
}

// testMongodLoses kills a primary whose clients asked for w:1: what only it had is named, and what it had written to its
// journal is found in its rollback files.
func testMongodLoses(t *testing.T) {
	t.Parallel()
	d, _ := mongodDrill(t, "w1-fast", 0, "pace: 4000", "pace: 60", "duration: 60s", "duration: 9s", "at: 8s, for: 30s", "at: 2s, for: 3s")
	r := d.Rounds[0]
	l, old := r.Ledger, r.Faults[0].Target
	if d.Verdict != record.Holds || l.LostWrites() == 0 || len(l.Lost) == 0 || l.LossWindow <= 0 || kept(l, old) == 0 {
		t.Errorf("the verdict is %s because of %q; %d writes are lost, %d of those that are named are in the rollback of %s: %+v", d.Verdict, d.Reasons,
			l.LostWrites(), kept(l, old), old, l.Lost)
	}
	// Nothing acknowledges before the election timeout is over, and something does as soon as there is a primary.
	if o := r.Whole().Outage; o < 0.9e9 {
		t.Errorf("the outage is %v ns with an election timeout of a second", o)
	}
}

// testMongodViolates asks for more than w:1 gives, of a set whose election timeout is longer.
func testMongodViolates(t *testing.T) {
	t.Parallel()
	d, _ := mongodDrill(t, "w1-default", 5, "pace: 4000", "pace: 60", "duration: 60s", "duration: 11s", "at: 8s, for: 30s", "at: 2s, for: 6s",
		"election: elect-default", `election: elect-default, settings: {electionTimeoutMillis: "3000"}`, "faults:", "expect: {loss: none}\nfaults:")
	r := d.Rounds[0]
	if d.Verdict != record.Violated || r.Ledger.LostWrites() == 0 || kept(r.Ledger, r.Faults[0].Target) == 0 {
		t.Errorf("the verdict is %s because of %q; the ledger is %+v", d.Verdict, d.Reasons, r.Ledger)
	}
	if o := r.Whole().Outage; o < 2.7e9 {
		t.Errorf("the outage is %v ns with an election timeout of three seconds", o)
	}
}

// testMongodKeeps kills the primary, lets the next one hand over and stops the one after that, under a write concern of
// majority: nothing is lost, and no single one of these takes more than one member.
func testMongodKeeps(t *testing.T) {
	t.Parallel()
	d, _ := mongodDrill(t, "majority-fast", 0, "workers: 8, pace: 4000", "workers: 32, pace: 15", "duration: 60s", "duration: 12s",
		`faults:
  - {fault: "kill:primary", at: 8s, for: 30s}`, `faults:
  - {fault: "kill:primary", at: 2s, for: 2s}
  - {fault: "step-down:primary", at: 5500ms}
  - {fault: "pause:primary", at: 8s, for: 2500ms}`)
	r := d.Rounds[0]
	if d.Verdict != record.Holds || r.Expect.Loss != record.LossNone || r.Ledger.LostWrites() != 0 || r.Ledger.Updates[record.WriteDuplicated] != 0 {
		t.Errorf("the verdict is %s because of %q, expected was %q; the ledger is %+v", d.Verdict, d.Reasons, r.Promise, r.Ledger)
	}
	elected := 0
	for _, m := range r.Moments {
		if m.Kind == record.MomentElected {
			elected++
		}
	}
	if len(r.Faults) != 3 || elected < 3 {
		t.Errorf("three faults at a primary brought %d elections: %+v, %+v", elected, r.Faults, r.Moments)
	}
}
