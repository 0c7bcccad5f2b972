package drill

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/lab/action"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// stored are the targets on whose disks a fault stored other bytes than were written. Healing ends the fault and does
// not bring the bytes back.
func stored(faults []record.DrillFault, specs []spec.Fault) []string {
	var targets []string
	for _, f := range faults {
		a := action.Find(f.Fault.Action)
		damages := a != nil && a.Damages != nil && slices.ContainsFunc(specs, func(s spec.Fault) bool {
			return s.Strike == f.Fault && a.Damages(s)
		})
		if damages && f.Injected > 0 && !slices.Contains(targets, f.Target) {
			targets = append(targets, f.Target)
		}
	}
	return targets
}

// remains says what stays damaged in a lab that goes on after the drill.
func (r *round) remains() {
	if r.lab == nil || r.drill.spec.Lab != nil {
		return
	}
	for _, target := range stored(r.result.Faults, r.drill.spec.Faults) {
		volume, _, _ := strings.Cut(target, "/")
		r.drill.find("damage-stays-"+target, measure.Warning, "%s", fmt.Sprintf("what %s stored wrongly while it was broken is wrong still, as healing does not write it again: "+
			"plimsoll lab repair %s %s mends it from the copies, where the volume has some and checksums to tell which is good; otherwise make the lab anew",
			target, r.before.Specification.Name, volume))
	}
}
