//go:build !race

package e2e

import (
	"testing"

	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/record"
)

// TestDrillPatroni runs the drills in which Patroni and etcd decide, side by side, because most of the time they wait
// for a lease to run out.
func TestDrillPatroni(t *testing.T) {
	inTurn(t, 150)
	if _, ok := enginetest.DocumentDB(t); !ok {
		return
	}
	for _, c := range []struct {
		name             string
		promoted, losing bool
	}{
		{"patroni-cut", true, true},
		{"patroni-no-quorum", false, false},
		{"patroni-failsafe", false, false},
		{"patroni-killed", true, true},
		{"patroni-paused", true, false}, // it may lose, and may not
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			file := shippedDrill(t, c.name, "rate: 300", "rate: 40") // each operation of an outage costs several connections
			d, _ := untilKnown(t, file, "--quiet")
			r := d.Rounds[0]
			if d.Verdict != record.Holds || has(r, record.MomentElected) != c.promoted || r.Failover == "" {
				t.Errorf("the verdict is %s because of %q; the failover %q; the timeline is %+v", d.Verdict, d.Reasons, r.Failover,
					r.Moments)
			}
			if lost := r.Ledger.LostWrites(); c.losing != (lost > 0) && c.name != "patroni-paused" {
				t.Errorf("%d acknowledged writes are lost: %+v", lost, r.Ledger)
			}
		})
	}
}
