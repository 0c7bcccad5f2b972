package html

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/html/recordtest"
)

func drill(t *testing.T, o recordtest.Drill) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "my-record")
	if _, err := o.Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The page of a drill begins with the verdict, and has each of its charts with its numbers.
func TestDrillPage(t *testing.T) {
	page := pageOf(t, openAll(t, drill(t, recordtest.Drill{Rounds: 7, Lossy: 3, Clients: 2, Name: "<script>harm()</script>"}))...)
	for _, want := range []string{
		"kill-primary: violated; outage", "up to 3 acknowledged writes lost in a round", "Outage of each round", "median of 7 rounds", "most of 7 rounds",
		"Length of outages over all rounds", "Round 3: from the fault to redundancy", "Shaded: the outage of", "Round 3 over time", "Hosts of the lab over time",
		"CPU used (processor cores) of lab three", "Outage by client", "writes succeed again", "allowed 5.00 s", "The numbers behind “Outage of each round”",
	} {
		if !strings.Contains(strings.ToLower(page), strings.ToLower(want)) {
			t.Errorf("the page does not have %q", want)
		}
	}
	if strings.Contains(page, "<script>harm") {
		t.Error("a name became a script")
	}
	one := pageOf(t, openAll(t, drill(t, recordtest.Drill{Rounds: 1}))...)
	for _, no := range []string{"Outage of each round", "over all rounds", "outage by client", "Round 1: from"} {
		if strings.Contains(one, no) {
			t.Errorf("the page of one round with one client has %q", no)
		}
	}
}

// A drill that goes on says what it is at, what happened and what the rounds before found.
func TestPageOfADrillThatGoesOn(t *testing.T) {
	dir := drill(t, recordtest.Drill{Rounds: 2, Running: true, Lossy: 2})
	release, err := record.Hold(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	page := pageOf(t, openAll(t, dir)...)
	for _, want := range []string{
		"kill-primary: running, round 3 of 4, 1 violated, 1 holds", "Round 3 of 4, now", "the fault is in place, since", "to come", "audit: reading all writes",
		"kill:primary: rs0-1 is broken", "1,234", "indeterminate", "Rounds so far", "Round 3 over time", "fault: power-off of host1",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	if s := openAll(t, dir)[0]; s.RoundNumber != 3 {
		t.Errorf("round %d is shown over time", s.RoundNumber)
	}
}

// What clients notice of a broken connection and of one that hangs is told apart: in the tiles, and in the charts.
func TestDrillPartsByManner(t *testing.T) {
	d := &record.Drill{Head: record.Head{Status: record.Complete}, Verdict: record.Holds}
	for n := range 12 {
		r := record.DrillRound{Number: n + 1, Status: record.Complete, Verdict: record.Holds,
			Faults:  []record.DrillFault{{Manner: []string{"crash", "black-hole"}[n%2], Injected: 1}},
			Effects: []record.DrillEffect{{Client: -1, Outage: int64(1+n%2*9) * 1e9}},
			Ledger: &record.LedgerResult{Acknowledged: 100, Inserts: map[string]int64{},
				Reads: []record.LedgerRead{{Source: record.FinalSource}}}}
		d.Rounds = append(d.Rounds, r)
	}
	d.Manners = d.ByManner()
	var said []string
	for _, tile := range report.Of(d).Tiles {
		said = append(said, fmt.Sprint(tile))
	}
	for _, b := range drillCharts(d, "") {
		said = append(said, b.Figure.Title, string(b.Figure.SVG))
	}
	text := strings.Join(said, "\n")
	for _, want := range []string{"{outage, crash 1.00 s median of 6 rounds}", "{outage, black-hole 10.0 s median of 6 rounds}", "{acknowledged writes lost, crash 0 most of 6 rounds}",
		"Length of outages: crash (connections break)", "Length of outages: black hole (connections hang)"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(text, "median of 12") || strings.Contains(text, "over all rounds") {
		t.Errorf("different manners are put together:\n%s", text)
	}
}
