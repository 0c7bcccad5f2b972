package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// A percentile with fewer answers than it needs is shown as that: in tables, tiles and objectives.
func TestPercentilesWithoutAnswer(t *testing.T) {
	r := sample()
	p := r.Phase("measure")
	l := p.Classes[0].Response
	l.Lost, l.P99, l.P999, l.FewMoments = 600, nil, nil, []float64{0.95}
	p.All.Response, p.Counts.Failed, p.Dropped = l, 600, 3
	r.Objectives = []measure.ObjectiveResult{{Objective: "p99<20ms", NoAnswer: true, Why: "2 % did not succeed"}}
	d := runDocument(r, nil)
	at := slices.IndexFunc(d.Sections, func(s Section) bool { return s.ID == "operations" })
	s := d.Sections[at]
	if got := s.Table.Rows[0][6:10]; !slices.Equal(got, []string{"3.00 ms*", "no answer", "no answer", "no answer"}) {
		t.Errorf("p95, p99, p99.9 and p99.99 are %q", got)
	}
	for _, want := range []string{"percentiles are of all operations that were due", "no answer: more operations did not succeed",
		"the class of 3 operations that were dropped or never sent is unknown", "*: the slowest operations come from too few moments"} {
		if !slices.ContainsFunc(s.Lines, func(line string) bool { return strings.HasPrefix(line, want) }) {
			t.Errorf("no line begins with %q: %q", want, s.Lines)
		}
	}
	if d.Tiles[2].Value != "no answer" || d.Tiles[2].Note != "600 of 30,330 did not succeed" {
		t.Errorf("the tile of p99 is %+v", d.Tiles[2])
	}
	if o := d.Objectives[0]; o.Grade != Bad || o.Text != "p99<20ms: no answer, because 2 % did not succeed" {
		t.Errorf("the objective is %+v", o)
	}
	if got := percentileText(&record.Latency{Count: 5}, 0.99); got != "-" {
		t.Errorf("the p99 of five values is %q", got)
	}
}
