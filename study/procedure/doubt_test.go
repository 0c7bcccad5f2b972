package procedure_test

import (
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/simulatedtest"
)

// A target that changes during the search, or scatters, leaves a rate that was confirmed and is doubted: which rates
// were missed below it and when, or what held above it.
func TestCapacityOfATargetThatChanges(t *testing.T) {
	bad, good := simulatedtest.Trouble{Slow: 100}, simulatedtest.Trouble{}
	for name, c := range map[string]struct {
		trouble func(n int, rate float64) simulatedtest.Trouble
		spec    spec.CapacitySearch
		want    []string
	}{
		"faster": {func(n int, rate float64) simulatedtest.Trouble {
			if n <= 5 && rate > 300 || rate > 3000 {
				return bad
			}
			return good
		}, spec.CapacitySearch{From: 1000}, []string{"trials at lower rates", "became faster"}},
		"slower": {func(n int, rate float64) simulatedtest.Trouble {
			if rate > 3000 || n > 8 && rate > 2000 {
				return bad
			}
			return good
		}, spec.CapacitySearch{From: 1000}, []string{"2,900/s held, too", "became slower"}},
		"below and beside": {func(n int, rate float64) simulatedtest.Trouble {
			if rate > 3000 || rate > 1000 && rate < 2900 && n > 6 {
				return bad
			}
			return good
		}, spec.CapacitySearch{From: 2000, To: 2950, Growth: 1.3, Confirm: 7}, []string{"trials at lower rates (2,660/s)", "spread over the whole search", "Search again"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := queueing
			g.Trouble = func(n int, r study.Request) simulatedtest.Trouble { return c.trouble(n, float64(r.Spec.Load.Rate)) }
			got := capacityOf(t, newTries(t, g, 1), 256, tenMillis, c.spec)
			for _, s := range got.Steps {
				t.Log(s.Phase, s.Offered, s.Holds)
			}
			if got.Rate == 0 || !got.Confirmed || len(got.Doubts) == 0 {
				t.Fatalf("confirmed %v, doubts %q: %s", got.Confirmed, got.Doubts, got.Reason)
			}
			say(t, strings.Join(got.Doubts, "\n"), c.want...)
			say(t, got.Reason, got.Doubts...)
		})
	}
}

// A search without any trouble is not doubted, whatever the arrivals do.
func TestCapacityIsNotDoubtedWithoutReason(t *testing.T) {
	for seed := range uint64(5) {
		if got := capacityOf(t, newTries(t, queueing, seed), 256, tenMillis, spec.CapacitySearch{}); len(got.Doubts) > 0 {
			t.Errorf("seed %d: %q", seed, got.Doubts)
		}
	}
}
