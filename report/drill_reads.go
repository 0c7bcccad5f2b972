package report

import (
	"fmt"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// guaranteeNames are the guarantees of reads in words; see [record.ReadGuarantee].
var guaranteeNames = map[string]string{
	"read-your-writes": "read your writes", "monotonic-reads": "monotonic reads", "monotonic-writes": "monotonic writes",
	"writes-follow-reads": "writes follow reads", "committed": "no dirty reads", "written": "only written values", "linearizable": "linearizable",
}

func drillJudged(r *record.DrillRound) Section {
	s := Section{Title: "reads"}
	if r.Ledger == nil || r.Ledger.Judged == nil {
		return s
	}
	j := r.Ledger.Judged
	s.Lines = append(s.Lines, fmt.Sprintf("%s, judged against %s. %s.", figure.Plural(int(j.Reads), "read"),
		figure.Plural(int(j.Updates), "update"), readSettings(j)))
	if j.Why != "" {
		s.Lines = append(s.Lines, Capitalised(j.Why)+".")
	}
	s.Table = &Table{Header: []string{"guarantee", "promised", "checked", "broken", "by a rollback"}, Left: 2}
	told := map[string]bool{}
	for _, g := range j.Guarantees {
		promised := "no"
		if g.Promised {
			promised = "yes"
		}
		s.Table.row(guaranteeName(g.Name), promised, figure.Count(g.Checked), figure.Count(g.Broken),
			figure.Count(g.RolledBack))
	}
	for _, c := range j.Conflicts {
		if told[c.Guarantee] {
			continue
		}
		told[c.Guarantee] = true
		severity := measure.Note
		if c.Promised {
			severity = measure.Warning
		}
		s.Points = append(s.Points, Point{severityGrade(severity), string(severity),
			guaranteeName(c.Guarantee) + ": " + c.Text()})
	}
	for _, text := range j.Notes {
		s.Points = append(s.Points, Point{Note, "note", text})
	}
	return s
}

func guaranteeName(name string) string {
	if text, ok := guaranteeNames[name]; ok {
		return text
	}
	return name
}

// readSettings is how reads were sent, in words.
func readSettings(j *record.ReadsResult) string {
	parts := []string{"read concern " + orDefault(j.Concern, "of the server (local unless it was changed)")}
	parts = append(parts, "read preference "+orDefault(j.Preference, "primary"))
	if j.Causal {
		parts = append(parts, "causally consistent sessions")
	} else {
		parts = append(parts, "no causal sessions")
	}
	if j.Writes != "" {
		parts = append(parts, "writes acknowledged by "+map[bool]string{true: "a majority", false: j.Writes}[j.Writes == "majority"])
	}
	return Capitalised(strings.Join(parts, ", "))
}

func orDefault(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

func drillStaleness(r *record.DrillRound) Section {
	s := Section{Title: "staleness of reads"}
	if r.Ledger == nil || r.Ledger.Judged == nil {
		return s
	}
	j := r.Ledger.Judged
	s.Lines = append(s.Lines, "The time between the acknowledgement of an update and a later read that does not return it. These are lower bounds. Fresh reads count as 0.")
	s.Table = &Table{Header: []string{"the fault", "reads", "stale", "p50", "p99", "max"}, Left: 1}
	for _, x := range j.Staleness {
		s.Table.row(x.Phase, figure.Count(x.Reads), figure.Count(x.Stale), nanoseconds(float64(x.P50)),
			nanoseconds(float64(x.P99)), nanoseconds(float64(x.Max)))
	}
	for _, x := range j.Servers {
		text := fmt.Sprintf("%s answered %s", orDefault(x.Server, "An unknown server"), figure.Plural(int(x.Reads), "read"))
		if x.Stale > 0 {
			text += fmt.Sprintf(", %s of them stale by up to %s", figure.Count(x.Stale), nanoseconds(float64(x.Max)))
		}
		s.Lines = append(s.Lines, text+".")
	}
	return s
}
