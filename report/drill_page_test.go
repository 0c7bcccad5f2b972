package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
)

// What clients notice of a broken connection and of one that hangs is told apart: in the tiles, and in the charts.
func TestDrillPartsByMode(t *testing.T) {
	d := &record.Drill{Head: record.Head{Status: record.Complete}, Verdict: record.Holds}
	for n := range 12 {
		r := record.DrillRound{Number: n + 1, Status: record.Complete, Verdict: record.Holds,
			Faults:  []record.DrillFault{{Mode: []string{"crash", "black-hole"}[n%2], Injected: 1}},
			Effects: []record.DrillEffect{{Client: -1, Outage: int64(1+n%2*9) * 1e9}},
			Ledger: &record.LedgerResult{Acknowledged: 100, Inserts: map[string]int64{},
				Reads: []record.LedgerRead{{Source: record.FinalSource}}}}
		d.Rounds = append(d.Rounds, r)
	}
	d.Modes = d.ByMode()
	var said []string
	for _, tile := range Of(d).Tiles {
		said = append(said, fmt.Sprint(tile))
	}
	for _, f := range drillCharts(d) {
		said = append(said, f.Chart.About().Title, svg(f))
	}
	text := strings.Join(said, "\n")
	for _, want := range []string{"{outage, crash 1.00 s median of 6 rounds}", "{outage, black-hole 10.0 s median of 6 rounds}", "{acknowledged writes lost, crash 0 most of 6 rounds}",
		"Length of outages: crash (connections break)", "Length of outages: black hole (connections hang)"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(text, "median of 12") || strings.Contains(text, "over all rounds") {
		t.Errorf("different modes are put together:\n%s", text)
	}
}
