package drill

import (
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Only what stored other bytes leaves damage behind: not what read them, and not what never was.
func TestStored(t *testing.T) {
	specs := []spec.DrillFault{{Fault: "disk-torn:primary"}, {Fault: "disk-corrupt:rs0-2/d1", Ops: []string{"read", "write"}},
		{Fault: "disk-corrupt:rs0-3/d1"}, {Fault: "disk-lie:rs0-1/d1"}, {Fault: "disk-torn:rs0-4/d1"}}
	var faults []record.DrillFault
	for i, s := range specs {
		_, target, _ := strings.Cut(s.Fault, ":")
		faults = append(faults, record.DrillFault{Fault: s.Fault, Target: target, Injected: int64(1 + i)})
	}
	faults[4].Injected = 0 // could not be broken
	if got := stored(faults, specs); !slices.Equal(got, []string{"primary", "rs0-2/d1"}) {
		t.Errorf("damage stays on %q", got)
	}
}
