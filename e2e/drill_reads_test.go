//go:build !race

package e2e

import (
	"cmp"
	"os"
	"path/filepath"
	"testing"

	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/record"
)

// TestReadsAreJudged runs the shipped drill that reads from secondaries at read concern majority, shortened, on the
// mongod of PLIMSOLL_TEST_MONGOD, or on the stand-in, whose secondaries lag by half a second.
func TestReadsAreJudged(t *testing.T) {
	inTurn(t, 20)
	real := os.Getenv(enginetest.RealMongoVar)
	binary := filepath.Join(real, "mongod")
	changes := []string{"duration: 40s", "duration: 12s", "rate: 1000", "rate: 200", "at: 10s, for: 15s", "at: 3s, for: 3s"}
	if real == "" {
		binary = enginetest.StandinMongo(t, "8.0.12", "lags")
		// Writes do not wait for the secondaries, so reads from those are stale. Without causal sessions that is allowed.
		changes = append(changes, "causal: true", "causal: false", "w: majority", "w: 1")
	}
	file := shippedDrill(t, "reads-majority", append(changes, "engine: {name: mongod", "engine: {name: mongod, binary: "+binary)...)
	removeAfter(t, "drill-reads-majority")
	stale := func(d record.Drill) (n int64) {
		for _, phase := range d.Rounds[0].Ledger.Judged.Staleness {
			n += phase.Stale
		}
		return n
	}
	d, _ := untilSeen(t, func(d record.Drill) bool {
		l := d.Rounds[0].Ledger
		return l != nil && l.Judged != nil && l.Judged.Reads > 0 && l.Judged.Updates > 0 && (real != "" || stale(d) > 0)
	}, file, "--quiet")
	l := d.Rounds[0].Ledger
	if l == nil || l.Judged == nil {
		t.Fatalf("no reads are judged: %s %q", cmp.Or(d.Problem, string(d.Verdict)), d.Reasons)
	}
	j := l.Judged
	if j.Reads == 0 || j.Updates == 0 || j.Concern != "majority" || j.Preference != "secondary" || j.Causal != (real != "") {
		t.Errorf("%+v", j)
	}
	if n := j.BrokenPromises(); n > 0 {
		t.Errorf("%d promises are broken: %+v", n, j.Conflicts)
	}
	for _, g := range j.Guarantees {
		if g.Name == "committed" && (!g.Promised || g.Checked != j.Reads) {
			t.Errorf("%+v of %d reads", g, j.Reads)
		}
	}
	if len(j.Servers) == 0 || j.Servers[0].Server == "" || len(j.Staleness) == 0 {
		t.Errorf("who answered %v, staleness %v", j.Servers, j.Staleness)
	}
	if real == "" && stale(d) == 0 {
		t.Error("secondaries that lag by half a second give no stale read")
	}
}
