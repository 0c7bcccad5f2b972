// Package judge compares the statements of a document with the measurements of the suite that repeats it. It also
// judges the document's advice and multipliers, gives advice from the measurements themselves, and sums up what
// failures lost. It uses records only, so a suite that was interrupted, resumed or read on another machine gets the
// same verdicts.
//
// The result is stored in suite.json ([record.SuiteJudgement]) and printed by package report. A running suite is
// judged by the same code when it is read. Nothing is measured or printed here,
// and exit codes are not known.
package judge

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/plimsoll-bench/plimsoll/internal/wording"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/published"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Suite is a suite with the records of its parts. Its judgement is in the record.
type Suite struct {
	Record *record.Suite
	// Parts are those of the record, in its order.
	Parts []Part
	// Source is the document, nil if the suite names none. Problem says why it cannot be read.
	Source  *published.Source
	Problem string
}

// Part is a part with its record. At most one of Study, Drill and Probe is set.
type Part struct {
	*record.Part
	Study *record.Study
	Drill *record.Drill
	Probe *record.Probe
	// Unread is the reason why its record cannot be read.
	Unread string
}

// PartIn returns a function for [Read] that opens the record of a part of the suite in dir.
func PartIn(dir string) func(*record.Part) (Part, error) {
	return func(p *record.Part) (x Part, err error) {
		at, err := record.Below(dir, p.Record)
		if err != nil {
			return x, err
		}
		r, err := record.Open(at)
		if err != nil {
			return x, err
		}
		return PartOf(p, r)
	}
}

// PartOf is a part with its record.
func PartOf(p *record.Part, r any) (x Part, err error) {
	switch r := r.(type) {
	case *record.Study:
		x.Study = r
	case *record.Drill:
		x.Drill = r
	case *record.Probe:
		x.Probe = r
	}
	if have, ok := r.(record.Result); !ok || have.Common().Kind != p.Kind || x == (Part{}) {
		return Part{}, fmt.Errorf("%s is not the record of a %s", p.Record, p.Kind)
	}
	return x, nil
}

// Read opens the records of the parts of a suite, and judges the suite unless its record has a current judgement. Parts
// that cannot be read have Unread set; the others count.
func Read(r *record.Suite, open func(*record.Part) (Part, error)) *Suite {
	s := read(r, open)
	if !r.Judged() {
		r.SuiteJudgement = s.judgement()
	}
	return s
}

// Of judges the suite in a directory by its parts as they are now.
func Of(dir string, r *record.Suite) *record.SuiteJudgement { return read(r, PartIn(dir)).judgement() }

func read(r *record.Suite, open func(*record.Part) (Part, error)) *Suite {
	s := &Suite{Record: r}
	for i := range r.Parts {
		p := Part{}
		if at := &r.Parts[i]; at.Record != "" && filepath.IsLocal(filepath.FromSlash(at.Record)) {
			var err error
			if p, err = open(at); err != nil {
				p.Unread = err.Error()
			}
		}
		p.Part = &r.Parts[i]
		s.Parts = append(s.Parts, p)
	}
	if name := r.Specification.Published; name != "" {
		source, err := published.Document(name)
		if err != nil {
			s.Problem = err.Error()
			return s
		}
		s.Source = source
	}
	return s
}

func (s *Suite) judgement() *record.SuiteJudgement {
	j := &record.SuiteJudgement{Counts: map[record.Agreement]int{}, Statements: []record.SuiteStatement{}}
	if s.Source != nil {
		figures := s.exhibits()
		for i := range figures {
			f := &figures[i]
			stored := record.SuiteFigure{Name: f.name, Notes: f.notes}
			if f.sweep != nil {
				stored.Sweep = f.sweep.ID
			}
			f.first = len(j.Statements)
			j.Figures = append(j.Figures, stored)
			j.Statements = append(j.Statements, f.statements...)
		}
		j.Headlines = headlines(figures)
		j.Advice = s.advice(figures)
	}
	for i := range j.Statements {
		if st := &j.Statements[i]; st.Counted() {
			j.Counts[st.Agreement]++
		}
	}
	j.Practices, j.Losses, j.Used = s.practices(), s.losses(), s.used()
	return j
}

// Result returns the record of the part, nil if there is none.
func (p *Part) Result() record.Result {
	switch {
	case p.Study != nil:
		return p.Study
	case p.Drill != nil:
		return p.Drill
	case p.Probe != nil:
		return p.Probe
	}
	return nil
}

// Findings returns the findings of the part's record.
func (p *Part) Findings() []measure.Finding {
	if r := p.Result(); r != nil {
		return r.Common().Validity
	}
	return nil
}

// invalid returns the finding that makes the part's record invalid, "" if none does.
func (p *Part) invalid() string {
	for _, f := range p.Findings() {
		if f.Severity == measure.Invalid {
			return f.ID
		}
	}
	return ""
}

// Missing says why a part has no result; "" if it has one.
func (p *Part) Missing() string {
	switch {
	case p.Status == record.PartLeft || p.Status == record.PartFailed:
		return string(p.Status) + ": " + cmp.Or(p.Problem, "reason not known")
	case p.Unread != "":
		return "cannot be read: " + wording.Of(p.Unread)
	case p.Status == record.PartPlanned:
		return "not begun"
	case p.Result() == nil:
		return string(p.Status)
	}
	return ""
}

// Worst returns the worst severity among the findings of the suite and its parts, also after the judgement.
func (s *Suite) Worst() measure.Severity {
	worst := measure.Worst(s.Record.Validity)
	for i := range s.Parts {
		switch w := measure.Worst(s.Parts[i].Findings()); {
		case w == measure.Invalid || worst == measure.Invalid:
			worst = measure.Invalid
		case w == measure.Warning:
			worst = w
		}
		if st := s.Parts[i].Status; worst != measure.Invalid && (st == record.PartFailed || s.Parts[i].Unread != "") {
			worst = measure.Warning
		}
	}
	return worst
}

// reason says why something was not measured, as a sentence and as a word.
type reason struct {
	why string
	gap record.Gap
}

// reason says why a part did not measure what it should.
func (s *Suite) reason(p *Part) reason {
	l := reason{p.Name + " " + cmp.Or(p.Missing(), "does not measure this"), record.GapOther}
	if p.Status != record.PartLeft {
		return l
	}
	l.gap = record.GapHere
	// A part that does not fit into the time is in the suite's list with the time as the first reason.
	if slices.ContainsFunc(s.Record.Left, func(x spec.Left) bool {
		return x.Part == p.Name && x.What == spec.LeftPart && (x.Late || p.Problem != "" && x.Why != p.Problem)
	}) {
		l.gap = record.GapTime
	}
	return l
}

// leftOf returns the steps that made this part smaller or skipped it, without those that apply to all parts.
func (s *Suite) leftOf(part string) []spec.Left {
	return slices.DeleteFunc(slices.Clone(s.Record.Left), func(l spec.Left) bool { return l.Part != part })
}
