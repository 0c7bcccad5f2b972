package drill

import (
	"context"
	"fmt"
	"slices"

	"github.com/plimsoll-bench/plimsoll/record"
)

// degraded are the volumes that lack a copy although nothing is broken in them any more. A disk that was away has
// missed what was written: it has to be rebuilt before another one may fail.
func degraded(l record.Lab) []string {
	var list []string
	for _, v := range l.Volumes {
		broken := slices.ContainsFunc(l.Faults, func(f record.LabFault) bool {
			return f.Target == v.Name || slices.ContainsFunc(v.Disks, func(d record.LabDisk) bool {
				return f.Target == d.Host || f.Target == v.Name+"/"+d.Name
			})
		})
		if v.Health == "degraded" && !broken {
			list = append(list, v.Name)
		}
	}
	return list
}

// repair has degraded volumes rebuilt, each once, as storage with a policy does by itself when a disk is back. A
// rebuild goes on when the load ends, which is when the drill waits for redundancy anyway.
func (r *round) repair(ctx context.Context, l record.Lab) {
	for _, volume := range degraded(l) {
		if slices.Contains(r.rebuilt, volume) {
			continue
		}
		r.rebuilt = append(r.rebuilt, volume)
		r.drill.o.Progress.Note("rebuilding the volume " + volume)
		after, stop := r.untilAborted(ctx)
		limited, cancel := context.WithTimeout(after, r.drill.spec.Recovery.Std())
		text, err := r.lab.Repair(limited, volume)
		cancel()
		stop()
		if err != nil {
			r.notRebuilt = fmt.Sprintf("; the volume %s could not be rebuilt: %v", volume, err)
			continue
		}
		r.tell("repair", volume+": "+text, nil)
	}
}
