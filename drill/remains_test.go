package drill

import (
	"slices"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Only what stored other bytes leaves damage behind: not what read them, and not what never was.
func TestDamagedTargets(t *testing.T) {
	specs := []spec.Fault{{Action: spec.ParseAction("disk-torn:primary")}, {Action: spec.ParseAction("disk-corrupt:rs0-2/d1"), Ops: []string{"read", "write"}},
		{Action: spec.ParseAction("disk-corrupt:rs0-3/d1")}, {Action: spec.ParseAction("disk-lie:rs0-1/d1")}, {Action: spec.ParseAction("disk-torn:rs0-4/d1")}}
	var faults []record.DrillFault
	for i, s := range specs {
		faults = append(faults, record.DrillFault{Fault: s.Action, Target: s.Action.Target, Injected: int64(1 + i)})
	}
	faults[4].Injected = 0 // could not be broken
	if got := damagedTargets(faults, specs); !slices.Equal(got, []string{"primary", "rs0-2/d1"}) {
		t.Errorf("damage stays on %q", got)
	}
}
