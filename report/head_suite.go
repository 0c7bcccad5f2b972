package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// head writes the head of a suite: how far the document was found again or, where nothing is compared with it, how many
// parts are done.
func (s *Suite) head(d *Document) {
	r := s.Record
	done, left := 0, 0
	t := &Table{Header: []string{"part", "status", "result"}, Left: 3}
	for i := range s.Parts {
		p := &s.Parts[i]
		switch p.Status {
		case record.PartDone:
			done++
		case record.PartFailed, record.PartPlanned, record.PartRunning:
			left++
		}
		t.row(p.Name, string(p.Status), partFinding(p))
	}
	d.Answer = fmt.Sprintf("%d of %s done", done, figure.Plural(len(s.Parts), "part"))
	if words := s.agreement(); words != "" {
		d.Answer = fmt.Sprintf("of %s of the document %s", figure.Plural(s.counted(), "statement"), words)
	}
	d.Sure = s.belief() + "; " + s.scaleNote()
	d.Short = append(s.points(), s.doubts()...)
	d.shorten()
	d.Summary, d.Next = t, reportNext()
	if left > 0 && r.Status != record.Running {
		d.Next = Next{"plimsoll suite resume DIR --retry-failed", "the parts without a result"}
	}
}

// belief says whether the figures of a suite can be believed.
func (s *Suite) belief() string {
	text := map[measure.Severity]string{measure.Invalid: "INVALID in parts", measure.Warning: "valid, with warnings"}[s.Worst()]
	text = cmp.Or(text, "valid")
	if s.Record.Budget == record.BudgetSmoke {
		text = "a smoke test, whose figures prove nothing"
	}
	if s.Record.Status != record.Complete {
		text += " (" + string(s.Record.Status) + ")"
	}
	return text
}

// agreement counts the statements of the document by how they agree, "" if none counts.
func (s *Suite) agreement() string {
	if s.counted() == 0 {
		return ""
	}
	var words []string
	for _, x := range []struct {
		of   record.Agreement
		text string
	}{{record.Agrees, "agree"}, {record.Disagrees, "disagree"}, {record.SameDirection, "differ in size"},
		{record.Compatible, "not confirmed"}, {record.NotTold, "inconclusive"}, {record.NotMeasured, "not measured"}} {
		if n := s.Record.Counts[x.of]; n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, x.text))
		}
	}
	return strings.Join(words, ", ")
}
