package drill

import (
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
)

// Only what stored other bytes leaves damage behind: not what read them, and not what never was.
func TestStored(t *testing.T) {
	specs := []record.DrillFaultSpec{{Fault: "disk-torn:primary"}, {Fault: "disk-corrupt:pg-2/d1", Ops: []string{"read", "write"}},
		{Fault: "disk-corrupt:pg-3/d1"}, {Fault: "disk-lie:pg-1/d1"}, {Fault: "disk-torn:pg-4/d1"}}
	var faults []record.DrillFault
	for i, s := range specs {
		_, target, _ := strings.Cut(s.Fault, ":")
		faults = append(faults, record.DrillFault{Fault: s.Fault, Target: target, Injected: int64(1 + i)})
	}
	faults[4].Injected = 0 // could not be broken
	if got := stored(faults, specs); !slices.Equal(got, []string{"primary", "pg-2/d1"}) {
		t.Errorf("damage stays on %q", got)
	}
}
