package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
)

const (
	suiteAxis      = "value / value of the own baseline (logarithmic)"
	suiteReference = "own baseline"
	// mostPictured is the largest number of rows in the figure of a suite; more do not fit on a screen.
	mostPictured = 60
)

// ratios draws a figure of the document: each of its statements that is a ratio, by metric.
func (f *SuiteFigure) ratios() *Ratios {
	x := &Ratios{Title: "Measured (dots) and published (hollow diamonds) ratios: " + f.Title(), Axis: suiteAxis,
		Reference: suiteReference}
	several := f.several()
	for i := range f.Statements {
		st := &f.Statements[i]
		if st.Kind != record.StatementRatio || st.Published == nil && st.Ratio == nil {
			continue
		}
		r := ratioRow(st)
		r.Group, r.Name = SuiteMetric(st), st.Level
		if several && st.Part != "" {
			r.Name = st.Part + ": " + st.Level
		}
		x.Rows = append(x.Rows, r)
	}
	if !slices.ContainsFunc(x.Rows, func(r Ratio) bool { return !math.IsNaN(r.Value) }) {
		return nil
	}
	return x
}

// picture draws all statements of the document that were measured, figure by figure; nil if there are none.
func (s *Suite) picture() *Ratios {
	x := &Ratios{Title: "The document and what was measured here", Axis: suiteAxis, Reference: suiteReference}
	rows, pictured := 0, 0
	for i := range s.Figures {
		f := &s.Figures[i]
		metrics := map[string]bool{}
		for k := range f.Statements {
			metrics[f.Statements[k].Metric] = true
		}
		several := f.several()
		for k := range f.Statements {
			st := &f.Statements[k]
			if !st.Counted() || st.Kind != record.StatementRatio || st.Published == nil || st.Ratio == nil {
				continue
			}
			if rows++; rows > mostPictured {
				continue
			}
			pictured++
			r := ratioRow(st)
			r.Group, r.Name = f.Title(), st.Level
			if len(metrics) > 1 {
				r.Name += ", " + unitWords(st.Metric)
			}
			if several && st.Part != "" {
				r.Name = st.Part + ": " + r.Name
			}
			x.Rows = append(x.Rows, r)
		}
	}
	if rows == 0 {
		return nil
	}
	all := s.counted()
	x.Note = fmt.Sprintf("Hollow diamonds: stated by the document. Dots with intervals: measured here. "+
		"Each is a ratio to its own baseline, because the machines differ. %d of %s are drawn", pictured,
		figure.Plural(all, "statement"))
	switch {
	case rows > pictured:
		x.Note += fmt.Sprintf(", the first of %d that were measured", rows)
	case pictured < all:
		x.Note += "; the others are in words or were not measured"
	}
	x.Note += ". The tables below have all."
	return x
}

// ratioRow is a statement without its names.
func ratioRow(st *record.SuiteStatement) Ratio {
	value := func(x *float64) float64 {
		if x == nil || !(*x > 0) {
			return math.NaN()
		}
		return *x
	}
	here, interval, _ := changeCells(st)
	return Ratio{Stated: value(st.Published), Value: value(st.Ratio), Low: value(st.Low), High: value(st.High),
		Grade: agreementGrade(st.Agreement), Partly: st.Agreement != record.Agrees && st.Agreement != record.Disagrees,
		Text: StatementText(st),
		Note: fmt.Sprintf("%s %s: there %s, here %s", st.Level, SuiteMetric(st), SuiteStated(st),
			strings.TrimSpace(here+" "+strings.TrimPrefix(interval, "-")))}
}
