//go:build !race

package e2e

import (
	"os"
	"testing"

	"github.com/plimsoll-bench/plimsoll/drill/isolation"
	"github.com/plimsoll-bench/plimsoll/internal/notrun"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/record"
)

// anomaly returns a class of anomalies of the first round of a drill, nil if there is none.
func anomaly(d record.Drill, class isolation.Class) *record.IsolationAnomaly {
	if i := d.Rounds[0].Isolation; i != nil {
		for n := range i.Anomalies {
			if i.Anomalies[n].Class == class.String() {
				return &i.Anomalies[n]
			}
		}
	}
	return nil
}

// TestMongoAllowedAnomalies runs the shipped drills whose settings allow an anomaly: it appears, is shown with its
// transactions, and is no violation. With the settings that forbid it, the same cluster does not have it.
func TestMongoAllowedAnomalies(t *testing.T) {
	inTurn(t, 150)
	binary, real := enginetest.RealMongo(t)
	if !real {
		notrun.Here(t, "transactions need a real mongod")
		return
	}
	for name, c := range map[string]struct {
		class           isolation.Class
		root            bool
		promise         string
		allows, forbids string
	}{
		"transactions-rollback": {isolation.DirtyRead, true, record.NoIsolation, `w: "1"`, "w: majority"},
		"transactions-skew":     {isolation.ReadSkew, false, isolation.ReadCommitted.String(), "read_concern: local", "read_concern: snapshot"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.root && os.Getuid() != 0 {
				notrun.Here(t, "%s needs root", name)
				return
			}
			removeAfter(t, "drill-"+name)
			seen := func(d record.Drill) bool { return anomaly(d, c.class) != nil }
			d, _ := untilSeen(t, seen, shippedDrill(t, name), "--binary", binary, "--quiet")
			found := anomaly(d, c.class)
			if found == nil {
				t.Fatalf("%s did not appear: %s %q, %+v", c.class, d.Verdict, d.Reasons, d.Rounds[0].Isolation)
			}
			if d.Rounds[0].Isolation.Promise != c.promise || found.Forbidden || d.Verdict != record.Holds {
				t.Errorf("%s at %s: forbidden %t, verdict %s %q", c.class, d.Rounds[0].Isolation.Promise,
					found.Forbidden, d.Verdict, d.Reasons)
			}
			e := found.Examples[0]
			if len(e.Transactions) < 2 || e.Transactions[0].Server == "" ||
				c.class == isolation.ReadSkew && len(e.Edges) != len(e.Transactions) {
				t.Errorf("it is shown as %+v", e)
			}
			d, _ = untilSeen(t, known, shippedDrill(t, name, c.allows, c.forbids), "--binary", binary, "--quiet")
			if d.Verdict != record.Holds || anomaly(d, c.class) != nil {
				t.Errorf("with %s: %s %q, %+v", c.forbids, d.Verdict, d.Reasons, anomaly(d, c.class))
			}
		})
	}
}
