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
	if all := s.counted(); all > 0 {
		d.Answer = fmt.Sprintf("%d of %s agree%s", r.Counts[record.Agrees], figure.Plural(all, "statement"), s.others())
	}
	d.Sure = join("; ", s.belief(), prefixed("scaled to ", strings.Join(scaleWords(r.Scale), ", ")))
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

// others counts the statements that do not agree, and those that are open.
func (s *Suite) others() string {
	c, text := s.Record.Counts, ""
	for _, x := range []struct {
		n    int
		word string
	}{{c[record.Disagrees], "disagree"}, {c[record.SameDirection], "differ in size"},
		{c[record.Compatible] + c[record.NotTold] + c[record.NotMeasured], "open"}} {
		if x.n > 0 {
			text += fmt.Sprintf(", %d %s", x.n, x.word)
		}
	}
	return text
}
