// Package judge says what a suite is worth: how the statements of the document that it repeats stand to what was
// measured, which of them say most, what the document's advice and multipliers come to here, what the measurements
// themselves advise, and what failures took. It sees records only, so that a suite that was interrupted, resumed or
// read on another machine gives the same verdicts.
//
// What it finds is stored in suite.json ([record.SuiteJudgement]), and printed by package report. A suite that goes
// on, and one of before judgements were stored, is judged by the same code when it is read. Nothing is measured or
// printed here, and no exit code is known.
package judge

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

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
	// Source is the document; nil if the suite names none. Problem says why it cannot be shown.
	Source  *published.Source
	Problem string
}

// Part is a part with its record: one of Study, Drill and Probe is set where there is one that can be read.
type Part struct {
	*record.Part
	Study *record.Study
	Drill *record.Drill
	Probe *record.Probe
	// Unread is why its record cannot be read.
	Unread string
}

// PartIn returns what reads the record of a part of the suite in dir, for [Read].
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
		switch r := r.(type) {
		case *record.Study:
			x.Study = r
		case *record.Drill:
			x.Drill = r
		case *record.Probe:
			x.Probe = r
		}
		if have := r.Common().Kind; have != p.Kind || x == (Part{}) {
			return Part{}, fmt.Errorf("%s is the record of a %s, and the part is a %s", p.Record, have, p.Kind)
		}
		return x, nil
	}
}

// Read reads the records of the parts of a suite with open, and judges it unless its record has a judgement of all
// that it did. A part that cannot be read says so; the others count.
func Read(r *record.Suite, open func(*record.Part) (Part, error)) *Suite {
	s := read(r, open)
	if !r.Judged() {
		r.SuiteJudgement = s.judgement()
	}
	return s
}

// Of judges the suite in a directory by what its parts are now, whatever was found before.
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

// judgement is everything that can be said of the suite.
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

// Findings are the doubts about a part.
func (p *Part) Findings() []measure.Finding {
	switch {
	case p.Study != nil:
		return p.Study.Validity
	case p.Drill != nil:
		return p.Drill.Validity
	case p.Probe != nil:
		return p.Probe.Validity
	}
	return nil
}

// Standing is what became of a part that found nothing; "" if there is something to be told of it.
func (p *Part) Standing() string {
	switch {
	case p.Status == record.PartLeft || p.Status == record.PartFailed:
		return string(p.Status) + ": " + cmp.Or(p.Problem, "no reason is known")
	case p.Unread != "":
		return "cannot be read: " + p.Unread
	case p.Status == record.PartPlanned:
		return "not begun"
	case p.Study == nil && p.Drill == nil && p.Probe == nil:
		return string(p.Status)
	}
	return ""
}

// Worst is the gravest doubt about the suite and its parts, also one that came up after it was judged.
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

// lack is why something was not measured, in a sentence and in a word.
type lack struct {
	why string
	gap record.Gap
}

// lack is why a part measured nothing of what it was to measure.
func (s *Suite) lack(p *Part) lack {
	l := lack{p.Name + " " + cmp.Or(p.Standing(), "does not measure this"), record.GapOther}
	if p.Status != record.PartLeft {
		return l
	}
	l.gap = record.GapHere
	// What does not fit into the time has, in the list of the suite, the time before its own reason.
	if slices.ContainsFunc(s.Record.Left, func(x spec.Left) bool {
		return x.Part == p.Name && x.What == spec.LeftPart && (x.Late || p.Problem != "" && x.Why != p.Problem)
	}) {
		l.gap = record.GapTime
	}
	return l
}

// leftOf are the steps by which a part was made smaller or left out; those of all parts are not among them.
func (s *Suite) leftOf(part string) []spec.Left {
	return slices.DeleteFunc(slices.Clone(s.Record.Left), func(l spec.Left) bool { return l.Part != part })
}
