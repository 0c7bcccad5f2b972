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
	inTurn(t, 100)
	if _, ok := enginetest.DocumentDB(t); !ok {
		return
	}
	cut := "at: 8s, for: 45s"
	etcd := "at: 8s, for: 25s"
	for _, c := range []struct {
		name, duration, fault, shorter string // the shorter fault is longer than the lease of 20 s
		promoted, losing               bool
	}{
		{"patroni-cut", "80s", cut, "at: 4s, for: 30s", true, true},
		{"patroni-no-quorum", "60s", etcd, "at: 4s, for: 25s", false, false},
		{"patroni-failsafe", "60s", etcd, "at: 4s, for: 25s", false, false},
		{"patroni-killed", "75s", cut, "at: 4s, for: 30s", true, true},
		{"patroni-paused", "80s", cut, "at: 4s, for: 30s", true, false}, // it may lose, and may not
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			changes := []string{"rate: 300, duration: " + c.duration, "rate: 60, workers: 8, duration: 45s", c.fault, c.shorter}
			if c.fault == etcd || c.name == "patroni-cut" {
				changes = append(changes, c.fault, c.shorter) // of the second fault
			}
			file := shippedDrill(t, c.name, changes...)
			shows := func(d record.Drill) bool {
				r := d.Rounds[0]
				return has(r, record.MomentElected) == c.promoted && (!c.losing || loses(d))
			}
			d, _ := untilSeen(t, shows, file, "--quiet")
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
