package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
)

// Outages of rounds in which connections broke are not put together with those in which they hung, and what a slow disk
// left is said.
func TestDrillTellsMannersApart(t *testing.T) {
	round := func(n int, manner string, outage, during float64) record.DrillRound {
		return record.DrillRound{Number: n, Status: record.Complete, Verdict: record.Holds,
			Faults:  []record.DrillFault{{Fault: "random:primary", Manner: manner, Injected: 1e9, Hit: true}},
			Effects: []record.DrillEffect{{Client: -1, Outage: int64(outage), Before: 1000, During: during}}}
	}
	d := &record.Drill{Status: record.Complete, Verdict: record.Holds, Rounds: []record.DrillRound{
		round(1, "crash", 1e9, 0), round(2, "black-hole", 12e9, 0), round(3, "crash", 3e9, 0), round(4, "black-hole", -1, 0), round(5, "slow", 0, 250)}}
	var b bytes.Buffer
	if err := DrillMarkdown(&b, d); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| crash (connections break) | 2 | 2.00 s | 3.00 s | 0 | 0 |", "| black hole (connections hang) | 2 | 12.0 s | 12.0 s | 1 | 0 |",
		"of the throughput was left while it was slow: 250 ok/s, 1,000 before", "round 5: 25",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}
