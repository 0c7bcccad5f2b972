package main

import (
	"fmt"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/suite"
)

// suiteProgress shows the progress of a suite on standard error: a line before and after each part, and the progress of
// the part.
type suiteProgress struct{ *studyProgress }

var _ suite.Progress = (*suiteProgress)(nil)

func (p *suiteProgress) Begin(s suite.Status) {
	text := fmt.Sprintf("part %d of %d: %s, a %s", s.Number, s.Total, s.Part.Name, s.Part.Kind)
	if shows := report.ShowsText(&s.Part); shows != "" {
		text += " for " + shows
	}
	if s.Left >= time.Second {
		text += "; about " + clock(s.Left) + " left in all"
	}
	if s.HasBudget {
		text += ", and " + clock(s.Budget) + " of the budget"
	}
	p.Note(text)
	p.endsIn(s.Left, true)
}

func (p *suiteProgress) End(x record.Part) {
	text := fmt.Sprintf("part %s: %s after %s", x.Name, x.Status, figure.Duration(time.Duration(x.Seconds*float64(time.Second))))
	if x.Problem != "" {
		text += ": " + report.Clean(x.Problem)
	}
	p.Note(text)
}
