package run

import "testing"

// The arrivals of each client are their own, and those of a client that is alone are those of the workload.
func TestScheduleSeeds(t *testing.T) {
	if got := scheduleSeed(7, 0); got != 7 {
		t.Errorf("the seed of a client that is alone is %d", got)
	}
	seen := map[uint64]bool{}
	for seed := range uint64(20) {
		for client := range 256 {
			seen[scheduleSeed(seed, client)] = true
		}
	}
	if len(seen) != 20*256 {
		t.Errorf("%d different seeds of %d", len(seen), 20*256)
	}
}
