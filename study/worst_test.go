package study

import (
	"strings"
	"testing"
)

// A search for a capacity that scatters takes longer than one that does not: the plan says how long.
func TestWorstCaseOfACapacitySearch(t *testing.T) {
	p := plan(t, `run: {target: 'null:', load: {duration: 1m}}
objectives: ["p99<1s"]
procedures: {capacity: {from: 1000, to: 2250, precision: 25%, confirm: 1, duration: 500ms}}
`)
	if said := strings.Join(p.Estimate.Assumptions, "\n"); !strings.Contains(said, "about 13 trials") || !strings.Contains(said, "up to 25, ") {
		t.Errorf("the worst case is missing: %s", said)
	}
}
