package html

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
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
		"kill-primary", "violated: up to 3 acknowledged writes lost", "up to 3 acknowledged writes lost in a round", "Outage of each round", "median of 7 rounds", "most of 7 rounds",
		"Length of outages over all rounds", "Round 3: from the fault to redundancy", "Shaded: the outage of", "Round 3 over time", "Hosts of the lab over time",
		"CPU used (processor cores) of lab three", "Outage by client", "writes succeed again", "allowed 5.00 s",
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
	sources := openAll(t, dir)
	sources[0].GoesOn()
	page := pageOf(t, sources...)
	for _, not := range []string{"The files end early", "too-short", "was killed"} {
		if strings.Contains(page, not) {
			t.Errorf("the page of a drill that goes on has %q", not)
		}
	}
	for _, want := range []string{
		"running, round 3 of 4, 1 violated, 1 holds", "Round 3 of 4, now", "the fault is in place, since", "to come", "audit: reading all writes",
		"kill:primary: rs0-1 is broken", "1,234", "indeterminate", "Rounds so far", "Round 3 over time", "fault: power-off of host1",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
}
