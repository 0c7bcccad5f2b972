package volume

import (
	"context"
	"fmt"

	"github.com/plimsoll-bench/plimsoll/record"
)

// capacity fills in how much the volume holds and what of it is used.
func (v *blocks) capacity(out *record.LabVolume, s space) {
	out.Capacity, out.Used = s.capacity, s.used
	if sch := v.m.scheme; sch.backend == Btrfs && sch.parity > 0 { // btrfs tells what its disks hold, parity and all
		width := int64(sch.data + sch.parity)
		out.Capacity, out.Used = s.capacity/width*int64(sch.data), s.used/width*int64(sch.data)
	}
}

// compact gives back the chunks of a btrfs that are filled by less than usage percent: what a rebuild leaves behind, and what was
// written and deleted. Nothing is lost if it fails.
func (v *blocks) compact(ctx context.Context, usage int) {
	if v.m.scheme.backend == Btrfs {
		_, _ = tools{v.m.o.Tools}.run(ctx, "btrfs", "balance", "start", fmt.Sprintf("-dusage=%d", usage), fmt.Sprintf("-musage=%d", usage), v.path)
	}
}
