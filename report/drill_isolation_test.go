package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/chart"
)

// violated is what a round shows whose transactions had a read skew.
func violated() *record.DrillRound {
	return &record.DrillRound{Number: 1, Isolation: &record.IsolationResult{Promise: "snapshot isolation",
		Why:          "w:majority on a replica set; each transaction reads one snapshot of the primary with every read concern",
		Transactions: 4000, Committed: 3900, Unknown: 20, Aborted: 80, Reads: 9000, Edges: 20000, Registers: 200,
		Complete: 190, Timed: 3100,
		Anomalies: []record.IsolationAnomaly{
			{Class: "read skew (G-single)", Count: 1, Forbidden: true, Examples: []record.IsolationExample{{
				Text: "read skew (G-single) of 2 transactions",
				Transactions: []record.IsolationTransaction{
					{Name: "A", Session: 3, Server: "db1:27017", Began: 12e8, Ended: 13e8, Outcome: "committed", Snapshot: "1700000000.4",
						Operations: []string{"read key 4 version 17", "read key 5 version 2"}},
					{Name: "B", Session: 7, Server: "<db2>:27017", Began: 121e7, Outcome: "unknown",
						Operations: []string{"wrote key 4", "wrote key 5"}},
				},
				Edges: []record.IsolationEdge{
					{Kind: "rw", Key: 4, Version: 18, Text: "A before B: A read a version of key 4 that B replaced with version 18"},
					{Kind: "wr", Key: 5, Version: 2, Text: "B before A: A read version 2 of key 5, which B wrote"},
				}}}},
			{Class: "lost transaction", Count: 1, Forbidden: true, Examples: []record.IsolationExample{{
				Text: "version 9 of key 3 was present after all of its transactions had ended, and is lost at the end"}}},
		}}}
}

// The section has the shortest cycle in words, and a drawing that says the same to those who cannot see it.
func TestDrillIsolation(t *testing.T) {
	s := drillIsolation(violated())
	var b bytes.Buffer
	if err := (&Document{Title: "drill", Sections: []Section{s}}).Markdown(&b); err != nil {
		t.Fatal(err)
	}
	sameAsGolden(t, "isolation.md", b.Bytes())
	if len(s.Figures) != 1 {
		t.Fatalf("%d figures, want that of the one cycle", len(s.Figures))
	}
	drawn := s.Figures[0].Chart.Draw(chart.Wide)
	described, _, _ := strings.Cut(drawn, "</desc>")
	for _, want := range []string{"session 3 on db1:27017", "read key 4 version 17", "session 7 on &lt;db2&gt;:27017", "no answer to the commit",
		"A before B: A read a version of key 4", "B before A: A read version 2 of key 5"} {
		if !strings.Contains(described, want) {
			t.Errorf("a screen reader does not hear %q in %s", want, described)
		}
	}
	if rows := s.Figures[0].Numbers.Rows; len(rows) != 2 || rows[0][2] != "rw" || rows[1][0] != "B" || rows[1][1] != "A" {
		t.Errorf("the table of the edges: %q", rows)
	}
}

// A cycle that is too long to be drawn, and a record whose edges do not belong to its transactions, are in words only.
func TestCycleNotDrawn(t *testing.T) {
	r := violated()
	e := &r.Isolation.Anomalies[0].Examples[0]
	e.Edges = e.Edges[:1]
	if s := drillIsolation(r); len(s.Figures) != 0 {
		t.Error("a cycle with a missing edge was drawn")
	}
	e.Edges, e.Transactions = make([]record.IsolationEdge, mostDrawn+1), make([]record.IsolationTransaction, mostDrawn+1)
	if s := drillIsolation(r); len(s.Figures) != 0 || len(s.Points) == 0 {
		t.Error("a long cycle was drawn")
	}
}
