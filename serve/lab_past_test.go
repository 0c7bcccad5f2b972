package serve

import (
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
)

// A lab that is looked at keeps some minutes; one that nobody looked at begins anew.
func TestLabPast(t *testing.T) {
	t.Parallel()
	var p labPasts
	at, usage := time.Unix(1e9, 0), []record.LabUsage{{Host: "host1"}}
	for range mostMoments + 10 {
		at = at.Add(2 * time.Second)
		p.add("three", usage, at)
	}
	past := p.add("three", usage, at.Add(time.Millisecond))
	if len(past) != mostMoments || !past[mostMoments-1].At.Equal(at) {
		t.Errorf("%d moments are kept, the last at %v", len(past), past[len(past)-1].At)
	}
	past[0].Usage[0].Host = "changed"
	if again := p.add("three", usage, at); again[0].Usage[0].Host != "host1" {
		t.Error("showing the past changes it")
	}
	if past := p.add("three", usage, at.Add(2*pastAtMost)); len(past) != 1 {
		t.Errorf("%d moments are kept over a gap", len(past))
	}
}
