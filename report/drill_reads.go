package report

import (
	"cmp"
	"fmt"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// guarantees are the guarantees of reads with the name of each and what breaks it; see [record.ReadGuarantee].
var guarantees = []struct{ id, name, broken string }{
	{"read-your-writes", "read your writes", "a read lacks an acknowledged update of the same session"},
	{"monotonic-reads", "monotonic reads", "a read lacks an update that its session had read before"},
	{"monotonic-writes", "monotonic writes", "a read has an update, but not an earlier one of its writer"},
	{"writes-follow-reads", "writes follow reads", "a session read an update that was rolled back, and its next write survived"},
	{"committed", "no dirty reads", "a read has an update that was rolled back later"},
	{"written", "only written values", "a read has an update that was never sent, or was not applied"},
	{"linearizable", "linearizable", "a read lacks an update that was acknowledged or read earlier"},
	{"one-order", "one order", "two reads of a document each lack an update that the other returned"},
}

func drillJudged(r *record.DrillRound) Section {
	s := Section{Title: "guarantees of reads"}
	if r.Ledger == nil || r.Ledger.Judged == nil {
		return s
	}
	j := r.Ledger.Judged
	s.Lines = append(s.Lines, fmt.Sprintf("%s of counters were compared with %s. Reads of inserted documents "+
		"are part of the ledger of writes. %s.", figure.Plural(int(j.Reads), "read"), figure.Plural(int(j.Updates), "update"),
		readSettings(j)))
	rule := guaranteeMeaning
	if j.Why != "" {
		rule = Capitalised(j.Why) + "."
	}
	s.Lines = append(s.Lines, rule)
	s.Table = &Table{Header: []string{"guarantee", "promised", "checked", "violated", "due to lost updates", "violated if"}, Left: 2, Last: 1}
	for _, g := range j.Guarantees {
		name, broken := guarantee(g.Name)
		s.Table.row(name, yesNo(g.Promised), figure.Count(g.Checked), figure.Count(g.Broken),
			figure.Count(g.RolledBack), broken)
	}
	shown := map[string]bool{}
	for _, c := range j.Conflicts {
		if shown[c.Guarantee] {
			continue
		}
		shown[c.Guarantee] = true
		severity := measure.Note
		if c.Promised {
			severity = measure.Warning
		}
		name, _ := guarantee(c.Guarantee)
		s.Points = append(s.Points, Point{severityGrade(severity), string(severity), "the guarantee \"" + name + "\" is violated. For example, " + c.Text()})
	}
	for _, text := range j.Notes {
		s.Points = append(s.Points, Point{Note, "note", text})
	}
	return s
}

func guarantee(id string) (name, broken string) {
	for _, g := range guarantees {
		if g.id == id {
			return g.name, g.broken
		}
	}
	return id, ""
}

// readSettings is how reads were sent, in words.
func readSettings(j *record.ReadsResult) string {
	concern := "the default read concern of the server (local, unless it was changed)"
	if j.Concern != "" {
		concern = "read concern " + j.Concern
	}
	sessions := "without"
	if j.Causal {
		sessions = "with"
	}
	text := fmt.Sprintf("The reads used %s and read preference %s, %s causally consistent sessions", concern,
		cmp.Or(j.Preference, "primary"), sessions)
	if j.Writes != "" {
		text += ". Writes were acknowledged by " + map[bool]string{true: "a majority", false: j.Writes}[j.Writes == "majority"]
	}
	return text
}

func drillStaleness(r *record.DrillRound) Section {
	s := Section{Title: "staleness of reads"}
	if r.Ledger == nil || r.Ledger.Judged == nil {
		return s
	}
	j := r.Ledger.Judged
	s.Lines = append(s.Lines, staleMeaning)
	s.Table = &Table{Header: []string{"reads", "number", "stale", "p50 staleness", "p99", "max"}, Left: 1}
	for _, x := range j.Staleness {
		s.Table.row(x.Phase+" the fault", figure.Count(x.Reads), figure.Count(x.Stale), duration(x.P50), duration(x.P99),
			duration(x.Max))
	}
	for _, x := range j.Servers {
		text := fmt.Sprintf("%s answered %s", cmp.Or(x.Server, "An unknown server"), figure.Plural(int(x.Reads), "read"))
		if x.Stale > 0 {
			text += fmt.Sprintf(", %s of them stale by up to %s", figure.Count(x.Stale), duration(x.Max))
		}
		s.Lines = append(s.Lines, text+".")
	}
	return s
}
