package report

import (
	"fmt"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/chart"
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
		fmt.Sprintf("%s committed, %s were aborted, and %s have no answer, and no read saw them. They made %s "+
			"and %s dependencies between them. Judging took %s.", figure.Plural(int(i.Committed), "transaction"), figure.Count(i.Aborted), figure.Count(i.Unknown),
			figure.Plural(int(i.Reads), "read"), figure.Count(i.Edges), seconds(i.Seconds)))
	if i.Timed > 0 {
		s.Lines = append(s.Lines, fmt.Sprintf("The times that the server gave to %s (commits and snapshot reads) were "+
			"compared with the data.", figure.Plural(int(i.Timed), "transaction")))
	}
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
		for n, e := range a.Examples {
			if n > 0 && !a.Forbidden {
				break // one shows what it is
			}
			s.Points = append(s.Points, Point{grade, word, Capitalised(a.Class) + ": " + e.Text})
			for i := range e.Transactions {
				s.Points = append(s.Points, Point{Note, "", transactionText(&e.Transactions[i])})
			}
			for _, edge := range e.Edges {
				s.Points = append(s.Points, Point{Note, "", edge.Text})
			}
			if n == 0 {
				s.Figures = append(s.Figures, figures(cycleFigure(r.Number, &a, &e))...)
			}
		}
	}
	return s
}

// transactionText describes a transaction: who, where, when, what.
func transactionText(t *record.IsolationTransaction) string {
	return transactionTitle(t) + ": " + strings.Join(t.Operations, "; ")
}

func transactionTitle(t *record.IsolationTransaction) string {
	text := fmt.Sprintf("%s: session %d", t.Name, t.Session)
	if t.Server != "" {
		text += " on " + t.Server
	}
	text += fmt.Sprintf(", began %.6f s", float64(t.Began)/1e9)
	if t.Ended != 0 {
		text += fmt.Sprintf(", ended %.6f s", float64(t.Ended)/1e9)
	}
	switch t.Outcome {
	case "aborted":
		text += ", aborted"
	case "unknown":
		text += ", no answer to the commit"
	}
	if t.Commit != "" {
		text += ", committed at the server's time " + t.Commit
	}
	if t.Snapshot != "" {
		text += ", snapshot at the server's time " + t.Snapshot
	}
	return text
}

// mostDrawn is how many transactions a drawn cycle has at most.
const mostDrawn = 8

// cycleFigure draws a cycle, nil without one.
func cycleFigure(round int, a *record.IsolationAnomaly, e *record.IsolationExample) *Figure {
	if len(e.Edges) != len(e.Transactions) || len(e.Edges) < 2 || len(e.Edges) > mostDrawn {
		return nil
	}
	id := fmt.Sprintf("cycle-%d-%s", round, strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(a.Class)))
	c := &chart.Cycle{Frame: chart.Frame{ID: id, Title: Capitalised(a.Class) + ": the shortest cycle"}}
	numbers := &Table{Header: []string{"from", "to", "kind", "key", "version", "reason"}, Left: 3, Last: 1}
	var words []string
	for i := range e.Transactions {
		t := &e.Transactions[i]
		c.Nodes = append(c.Nodes, chart.CycleNode{Title: transactionTitle(t), Lines: t.Operations})
		words = append(words, transactionText(t)+".")
	}
	for i, edge := range e.Edges {
		drawn := chart.CycleEdge{Text: edge.Kind + ": " + edge.Text}
		switch edge.Kind {
		case "rw":
			drawn.Style, drawn.Colour = chart.Dashed, 1
		case "session", "real time":
			drawn.Style, drawn.Colour = chart.Dotted, 2
		}
		c.Edges = append(c.Edges, drawn)
		words = append(words, edge.Text+".")
		key, version := "", ""
		if edge.Kind != "session" && edge.Kind != "real time" {
			key, version = figure.Count(edge.Key), figure.Count(edge.Version)
		}
		next := e.Transactions[(i+1)%len(e.Transactions)].Name
		numbers.row(e.Transactions[i].Name, next, edge.Kind, key, version, edge.Text)
	}
	c.Description = strings.Join(words, " ")
	return newFigure(c, "Arrows lead to the transaction that comes later. Solid: ww and wr. Dashed: rw, a read that missed a write. "+
		"Dotted: order in a session or in real time.", numbers)
}
