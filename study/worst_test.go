package study

import (
	"strings"
	"testing"
)

// A search for a capacity that scatters takes many times as long as one that does not: the plan says how long.
func TestWorstCaseOfACapacitySearch(t *testing.T) {
	p := plan(t, `run: {target: 'null:', load: {duration: 1m}}
objectives: ["p99<1s"]
procedures: {capacity: {from: 1000, to: 2250, precision: 25%, confirm: 1, duration: 500ms}}
`)
	// At most 1 probe, 12 steps down, and three times: 3 steps up twice, 1 bisection, 8 rounds of 1 + 2.
	if said := strings.Join(p.Estimate.Assumptions, "\n"); !strings.Contains(said, "about 7 trials") || !strings.Contains(said, "up to 106, ") {
		t.Errorf("the worst case is missing: %s", said)
	}
}
