package run

import (
	"testing"

	"github.com/plimsoll-bench/plimsoll/spec"
)

func seeded(seed uint64) spec.Run {
	return spec.Run{Workload: spec.Workload{Seed: seed}}
}

// Each client has its own arrivals. Those of a single client have the seed of the workload.
func TestScheduleSeeds(t *testing.T) {
	of := func(asked spec.Run, client int) uint64 {
		c, _ := loadConfig(asked, Options{Share: &Share{Client: client}}, nil) // the rest of the load is not complete
		return c.Seed
	}
	if got := of(seeded(7), 0); got != 7 {
		t.Errorf("the seed of a single client is %d, want 7", got)
	}
	own := seeded(7)
	if own.Load.Seed = 9; of(own, 0) != 9 {
		t.Errorf("the seed of a load with seed 9 is %d", of(own, 0))
	}
	seen := map[uint64]bool{}
	for seed := range uint64(20) {
		for client := range 256 {
			seen[of(seeded(seed), client)] = true
		}
	}
	if len(seen) != 20*256 {
		t.Errorf("%d different seeds of %d", len(seen), 20*256)
	}
}
