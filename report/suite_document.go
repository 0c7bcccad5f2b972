package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/suite/judge"
)

// suiteDocument describes a suite: what was repeated at which size, the result of each part, whether the statements of
// the document agree, and whether its advice applies here.
func suiteDocument(s *Suite, on *suiteFiles) *Document {
	s.tidy()
	r := s.Record
	d := &Document{Title: suiteTitle(s), Sentence: true, Problem: r.Problem,
		Grade: suiteGrade(r), Checks: s.checks(),
		Findings: append(s.points((*SuiteFigure).headline), s.doubts()...), Facts: s.facts()}
	s.head(d)
	d.Brief = d.Answer + "; " + s.belief()
	if d.Problem == "" && s.Problem != "" {
		d.Problem = "the document cannot be shown: " + s.Problem
	}
	for i := range s.Parts {
		p := &s.Parts[i]
		switch g := partGrade(p); {
		case g == Bad && len(p.Problem)+len(p.Unread) == 0: // its figures must not be used
			d.Grade = Bad
		case (g == Bad || g == Warn) && d.Grade == Good:
			d.Grade = Warn
		}
	}
	if r.Status == record.Running {
		d.Grade = Warn
	}
	d.Drawn, d.Tiles = s.picture(), s.tiles()
	d.Sections = appendFilled(nil, s.partsSection(), leftSection(r.Left, true), leftSection(r.Left, false))
	for i := range s.Figures {
		x := s.figureSection(&s.Figures[i])
		x.ID = nthID("figure", i)
		if on != nil {
			x.draw(suiteFigures(&s.Figures[i], x.ID)...)
		}
		d.Sections = appendFilled(d.Sections, x)
	}
	d.Sections = append(d.Sections, s.settingsSections()...)
	d.Sections = appendFilled(d.Sections, s.lossSection(), s.drillUseSection(), s.practicesSection(), s.adviceSection())
	for i := range s.Parts {
		p := &s.Parts[i]
		part := Part{Name: p.Name, Finding: partFinding(p)}
		if result := p.Result(); result != nil {
			part.Document = Of(result).In("")
			// What was published is with the figures of the suite.
			part.Document.Sections = slices.DeleteFunc(part.Document.Sections, func(s Section) bool {
				return s.Group == GroupPublished
			})
		}
		d.Parts = append(d.Parts, part)
	}
	if on != nil {
		d.Sections = on.sections(d)
	}
	return d
}

// suiteGrade is the grade of a suite by its own record, without those of its parts.
func suiteGrade(r *record.Suite) Grade {
	g := gradeOf(r.Validity, r.Status)
	disagrees := r.SuiteJudgement != nil && r.Counts[record.Disagrees] > 0
	failed := slices.ContainsFunc(r.Parts, func(p record.Part) bool { return p.Status == record.PartFailed })
	if g == Good && (disagrees || failed || r.Budget == record.BudgetSmoke) || r.Status == record.Running {
		return Warn
	}
	return g
}

// points are the statements of the document with the results, and the parts with unusable figures. If nothing can be
// compared with the document, or while the suite is running, they are its parts.
func (s *Suite) points(word func(*SuiteFigure, *record.SuiteStatement) Point) []Point {
	points := s.headlines(word)
	whole := len(points) > 0 && s.Record.Status != record.Running
	if !whole {
		points = nil
	}
	for i := range s.Parts {
		if p := &s.Parts[i]; !whole || partGrade(p) == Bad {
			points = append(points, Point{partGrade(p), p.Name + ":", partFinding(p)})
		}
	}
	return points
}

// agreementText is an agreement as people read it.
func agreementText(a record.Agreement) string {
	switch a {
	case record.Undecided:
		return "inconclusive"
	case record.Compatible:
		return "compatible, not confirmed"
	case record.SameDirection:
		return "same direction, another size"
	}
	return string(a)
}

// statementText is the agreement of a statement with the margin within which it is confirmed.
func statementText(st *record.SuiteStatement) string {
	text := agreementText(st.Agreement)
	if st.Margin != nil && (st.Agreement == record.Agrees || st.Agreement == record.Compatible) {
		text += " within " + figure.Percent(*st.Margin)
	}
	return text
}

// agreementGrade is that of an agreement.
func agreementGrade(a record.Agreement) Grade {
	switch a {
	case record.Agrees:
		return Good
	case record.Disagrees:
		return Warn
	}
	return Note
}

// partGrade returns that of a part. Parts that were left out have none.
func partGrade(p *judge.Part) Grade {
	switch result := p.Result(); {
	case p.Status == record.PartFailed || p.Unread != "":
		return Bad
	case p.Drill != nil && (p.Drill.Verdict == record.Violated || lostAny(p.Drill) != nil),
		p.Probe != nil && p.Probe.Verdict == record.Lying:
		return Warn // it is a finding, and not a doubt
	case result != nil:
		return gradeOf(result.Common().Validity, result.Common().Status)
	}
	return Note
}

func (s *Suite) tiles() []Tile {
	all, done := s.counted(), 0
	for i := range s.Parts {
		if s.Parts[i].Status == record.PartDone {
			done++
		}
	}
	list := []Tile{{"Parts done", fmt.Sprintf("%d of %d", done, len(s.Parts)), s.scaleNote()}}
	if all == 0 {
		return list
	}
	for _, x := range []struct {
		of   record.Agreement
		note string
	}{{record.Agrees, "the measured interval is within the margin of the document's ratio, or its statement in words was confirmed"},
		{record.Compatible, "the measured interval includes the document's ratio, and is too wide to confirm it"},
		{record.SameDirection, "the same direction, and a ratio that the measured interval excludes"},
		{record.Disagrees, "the opposite direction, or a difference on one side only"},
		{record.Undecided, "too uncertain to decide"}, {record.NotMeasured,
			cmp.Or(whyNotMeasured(s), "nothing was left out")}} {
		list = append(list, Tile{Capitalised(agreementText(x.of)), fmt.Sprintf("%d of %d", s.Record.Counts[x.of], all), x.note})
	}
	return list
}

func (s *Suite) scaleNote() string {
	own := slices.ContainsFunc(s.Parts, func(p judge.Part) bool {
		return p.Study != nil && p.Study.Specification.Scale != nil
	})
	if s.Record.Scale == (spec.Scale{}) && own {
		return "parts have their own scales"
	}
	return "scale " + suiteScale(s)
}

func (s *Suite) checks() []Point {
	left, failed, invalid, few := 0, 0, 0, 0
	for i := range s.Parts {
		p := &s.Parts[i]
		switch p.Status {
		case record.PartLeft:
			left++
		case record.PartFailed:
			failed++
		}
		if p.Study != nil {
			if measure.Worst(p.Study.Validity) == measure.Invalid {
				invalid++
			}
			if slices.ContainsFunc(p.Study.Validity, func(f measure.Finding) bool {
				return f.ID == "few-trials" && f.Severity != measure.Note
			}) {
				few++
			}
		}
	}
	looked := func(n int, good, bad string) Point {
		return check(n == 0, Warn, good, figure.Plural(n, "part")+" "+bad)
	}
	return []Point{looked(failed, "no part failed", "failed"), looked(left, "no part was left out", "left out"),
		looked(invalid, "no part is invalid", "invalid"),
		looked(few, "enough trials for verdicts", "with too few trials for a verdict")}
}

func (s *Suite) doubts() []Point {
	list := findingPoints(s.Record.Validity)
	where := map[measure.Finding][]string{} // what several parts say is said once
	var said []measure.Finding
	for i := range s.Parts {
		p := &s.Parts[i]
		for _, f := range p.Findings() {
			key := measure.Finding{ID: f.ID, Severity: f.Severity, Text: f.Text}
			switch {
			case f.Severity == measure.Note:
			case where[key] == nil:
				said = append(said, key)
				fallthrough
			default:
				where[key] = append(where[key], p.Name)
			}
		}
	}
	for _, f := range said {
		list = append(list, Point{severityGrade(f.Severity), string(f.Severity),
			fmt.Sprintf("%s: %s: %s", strings.Join(where[f], ", "), f.ID, f.Text)})
	}
	for i := range s.Parts {
		p := &s.Parts[i]
		if p.Unread != "" {
			list = append(list, Point{Warn, "warning", p.Name + ": its record cannot be read: " + bounded(p.Unread)})
		}
	}
	gravity := []Grade{Bad, Warn, Note}
	slices.SortStableFunc(list, func(a, b Point) int {
		return slices.Index(gravity, a.Grade) - slices.Index(gravity, b.Grade)
	})
	return list
}
