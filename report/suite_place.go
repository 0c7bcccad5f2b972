package report

import (
	"cmp"
	"strings"

	"github.com/plimsoll-bench/plimsoll/published"
	"github.com/plimsoll-bench/plimsoll/record"
)

// inPlaceOf says which probes of a figure were measured in the place of others that were left out, and why: a stripe of btrfs where
// the kernel has neither md nor LVM. In a ramp of threads any probe that shows it stands in, and else one that is the same level.
func (s *Suite) inPlaceOf(sweep *published.Sweep) (lines []string) {
	parts := s.showing(sweep)
	for _, p := range parts {
		if p.Kind != record.KindProbe || p.Status != record.PartLeft {
			continue
		}
		var in []string
		for _, q := range parts {
			if q.Probe != nil && (sweep.Path == "load.workers" || sweep.Level(s.levelIn(q, sweep)) == sweep.Level(s.levelIn(p, sweep))) {
				in = append(in, q.Name)
			}
		}
		if len(in) > 0 {
			lines = append(lines, strings.Join(in, ", ")+" was measured in the place of "+p.Name+", which was left out: "+cmp.Or(p.Problem, "no reason is known"))
		}
	}
	return lines
}
