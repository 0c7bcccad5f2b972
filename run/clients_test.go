package run

import (
	"testing"

	"github.com/plimsoll-bench/plimsoll/spec"
)

func seeded(seed uint64) spec.Run {
	return spec.Run{Workload: spec.Workload{Seed: seed}}
}

// The arrivals of each client are their own, and those of a client that is alone are those of the workload.
func TestScheduleSeeds(t *testing.T) {
	if got := scheduleSeed(seeded(7), 0); got != 7 {
		t.Errorf("the seed of a client that is alone is %d", got)
	}
	own := seeded(7)
	if own.Load.Seed = 9; scheduleSeed(own, 0) != 9 {
		t.Errorf("the seed of a load that has its own is %d", scheduleSeed(own, 0))
	}
	seen := map[uint64]bool{}
	for seed := range uint64(20) {
		for client := range 256 {
			seen[scheduleSeed(seeded(seed), client)] = true
		}
	}
	if len(seen) != 20*256 {
		t.Errorf("%d different seeds of %d", len(seen), 20*256)
	}
}
