package report

import (
	"fmt"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// isolationAnswer is what the transactions of all rounds show, in the words of the first line; "" without transactions.
func isolationAnswer(d *record.Drill) string {
	var committed, forbidden int64
	promise, classes := "", ""
	for i := range d.Rounds {
		r := d.Rounds[i].Isolation
		if r == nil {
			continue
		}
		promise, committed = r.Promise, committed+r.Committed
		if n, words := r.Forbidden(); n > 0 {
			forbidden, classes = forbidden+n, words
		}
	}
	switch {
	case promise == "":
		return ""
	case forbidden > 0:
		return fmt.Sprintf("%s VIOLATED at least %s times (%s) in %s transactions", promise, figure.Count(forbidden), classes,
			figure.Count(committed))
	case promise == record.NoIsolation:
		return fmt.Sprintf("no isolation is promised for %s transactions", figure.Count(committed))
	}
	return fmt.Sprintf("%s for %s transactions", promise, figure.Count(committed))
}

// drillIsolation is what transactions showed, and the shortest cycles.
func drillIsolation(r *record.DrillRound) Section {
	s := Section{Title: "isolation of transactions"}
	i := r.Isolation
	if i == nil {
		return s
	}
	s.Lines = append(s.Lines, fmt.Sprintf("Promised is %s: %s.", i.Promise, i.Why),
		fmt.Sprintf("%s committed, %s were aborted, and %s have no answer, and no read saw them. They made %s and %s between them. "+
			"Judging took %s.", figure.Plural(int(i.Committed), "transaction"), figure.Count(i.Aborted), figure.Count(i.Unknown),
			figure.Plural(int(i.Reads), "read"), figure.Plural(int(i.Edges), "dependency"), seconds(i.Seconds)))
	if i.Complete < i.Registers {
		s.Lines = append(s.Lines, fmt.Sprintf("Every version was seen of %s of %s documents. Only there transactions alone show a missing "+
			"write; the ledger counts all of them.", figure.Count(i.Complete), figure.Count(i.Registers)))
	}
	s.Lines = append(s.Lines, "Not judged: reads of transactions without an answer, and values of an attempt that the client "+
		"repeated after it was aborted.")
	if len(i.Anomalies) == 0 {
		return s
	}
	s.Table = &Table{Header: []string{"anomaly", "promised not to happen", "at least"}, Left: 2}
	for _, a := range i.Anomalies {
		s.Table.row(a.Class, yesNo(a.Forbidden), figure.Count(a.Count))
		grade, word := Note, "note"
		if a.Forbidden {
			grade, word = Bad, "violation"
		}
		for n, example := range a.Examples {
			if n > 0 && !a.Forbidden {
				break // one shows what it is
			}
			for k, line := range example {
				if k == 0 {
					s.Points = append(s.Points, Point{grade, word, Capitalised(a.Class) + ": " + line})
				} else {
					s.Points = append(s.Points, Point{Note, "", line})
				}
			}
		}
	}
	return s
}
