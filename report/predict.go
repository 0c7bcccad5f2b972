package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/capacity/predict"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/finite"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/chart"
)

// backtestDocument compares the predictions of left-out levels with their measurements, factor by factor.
func backtestDocument(b *record.Backtest) *Document {
	d := answered(backtestTitle(b), "", b.Validity)
	for i := range b.Factors {
		s := BacktestSection(&b.Factors[i])
		s.ID, s.Group = nthID("backtest", i), "" // several factors may have the same name
		d.Sections = append(d.Sections, s)
	}
	return d
}

func backtestTitle(b *record.Backtest) string {
	in, out := b.Inner, b.Outer
	text := fmt.Sprintf("none of %s between others can be predicted", figure.Plural(in.Levels, "level"))
	if n := in.Predicted(); n > 0 {
		text = fmt.Sprintf("%d of %s between others predicted: median error %s, %d inside of the 95 %% interval", n, figure.Plural(in.Levels, "level"),
			figure.Percent(*in.Median), in.Held)
	}
	if n := out.Predicted(); n > 0 {
		return text + fmt.Sprintf("; upper limits of %d of %d beyond the others: %d hold, median %s above the measurement", n, out.Levels, out.Held, figure.Percent(*out.Median))
	}
	return text + fmt.Sprintf("; no upper limit of %d beyond the others", out.Levels)
}

// BacktestSection has the left-out levels of a factor and the model that was chosen.
func BacktestSection(f *record.BacktestFactor) Section {
	s := Section{Group: "backtest", Title: f.Factor + " (" + f.Source + ")", Named: true, Table: &Table{
		Header: []string{f.Factor, "measured ok/s", "predicted", "interval", "error", "held", "model"}, Left: 1, Last: 2}}
	if f.Model == "" {
		s.Lines = append(s.Lines, "Refused: "+f.Why+".")
	} else {
		s.Lines = append(s.Lines, f.Why+". "+parametersText(f))
	}
	for i := range f.Points {
		p := &f.Points[i]
		name := p.Level
		if p.Beyond {
			name += " *"
		}
		held := yesNo(p.Held)
		switch {
		case p.Refused != "":
			s.Table.row(name, figure.Rate(p.Measured), "-", "-", "-", "refused", p.Refused)
		case p.Predicted == nil:
			s.Table.row(name, figure.Rate(p.Measured), "-", "at most "+figure.Rate(*p.High), "-", held, p.Model)
		default:
			s.Table.row(name, figure.Rate(p.Measured), figure.Rate(*p.Predicted), span(p.Low, p.High, measure.UnitRate),
				signed(*p.Error), held, p.Model)
		}
	}
	for _, m := range f.Models {
		if m.Name == f.Model {
			s.Lines = append(s.Lines, "Model: "+m.Formula+" ("+m.Basis+"). Levels with * are beyond the others, so they have an upper limit only.")
		}
	}
	return s
}

func parametersText(f *record.BacktestFactor) string {
	var list []string
	for _, p := range f.Parameters {
		list = append(list, p.Name+" "+figure.Significant(p.Value))
	}
	return "Parameters: " + strings.Join(list, ", ") + "."
}

func signed(share float64) string {
	text := figure.Percent(share)
	if share > 0 {
		text = "+" + text
	}
	return text
}

// whatIfDocument is the answer for a deployment that was not measured.
func whatIfDocument(w *record.WhatIf) *Document {
	d := answered(whatIfTitle(w), "", w.Validity)
	d.refuse(w.Refused)
	n := w.Nearest
	lines := []string{fmt.Sprintf("Nearest measured configuration: %s of %s, %s/s (n = %d).", n.Configuration, n.Study, figure.Rate(n.Throughput), n.N)}
	if len(w.Same) > 0 {
		lines = append(lines, "As measured there: "+strings.Join(w.Same, ", ")+".")
	}
	changes := Section{Title: "changes", Table: &Table{Header: []string{"key", "measured", "asked", "change", "interval", "by", "why"}, Left: 3, Last: 2}}
	for _, c := range w.Changes {
		ratio, iv := "-", "-"
		switch {
		case c.Ratio != nil:
			ratio, iv = "×"+figure.Significant(*c.Ratio), span(c.Low, c.High, "")
		case c.High != nil:
			iv = "at most ×" + figure.Significant(*c.High)
		}
		changes.Table.row(c.Key, c.From, c.To, ratio, iv, cmp.Or(c.Basis, "-"), c.Why)
	}
	d.Sections = appendFilled(nil, Section{Title: "refused", Lines: w.Refused}, Section{Title: "nearest", Lines: lines}, changes)
	return d
}

func whatIfTitle(w *record.WhatIf) string {
	changed := " (" + strconv.Itoa(len(w.Changes)) + " changed)"
	switch {
	case len(w.Refused) > 0 || w.High == nil:
		return w.Asked + ": these records do not show it"
	case w.Throughput == nil:
		return w.Asked + ": at most " + figure.Rate(*w.High) + " ok/s, because it is beyond the measured levels" + changed
	}
	interval := ", 95 % interval "
	if slices.ContainsFunc(w.Changes, func(c record.WhatIfChange) bool { return c.Basis == predict.ByElasticity }) {
		interval = ", between no and proportional growth: "
	}
	return w.Asked + ": " + figure.Rate(*w.Throughput) + " ok/s" + interval + figure.Rate(*w.Low) + " to " +
		figure.Rate(*w.High) + changed
}

func backtestKind() *kind { return kindOf("a backtest", figureless(backtestDocument)) }

func whatIfKind() *kind { return kindOf("a what-if", figureless(whatIfDocument)) }

// minBacktest is the number of levels from which a factor is backtested on a page.
const minBacktest = 5

// backtestSection shows the left-out levels of factors: each measured value beside its prediction from the others.
// ok is false if no factor has enough levels.
func backtestSection(factors []predict.Factor, id string) (section Section, ok bool) {
	var enough []predict.Factor
	for _, f := range factors {
		if len(f.Levels) >= minBacktest {
			enough = append(enough, f)
		}
	}
	if len(enough) == 0 {
		return section, false
	}
	b := predict.Backtest(enough, record.Tool{})
	section = Section{ID: id, Title: "Backtest", Lead: "Each level was left out and predicted from the others: " + Of(b).Title + "."}
	for i := range b.Factors {
		s := BacktestSection(&b.Factors[i])
		s.Title = bounded(s.Title)
		s.draw(backtestFigure(&b.Factors[i], nthID(id, i)))
		section.Parts = append(section.Parts, s.captioned(s.Title, ""))
	}
	return section, true
}

// backtestFigure draws the predictions with their intervals, and the measured values as diamonds.
func backtestFigure(f *record.BacktestFactor, id string) *Figure {
	c := &chart.Rows{
		Frame: chart.Frame{ID: id, Title: "Predicted (dots) and measured (diamonds) throughput by " + bounded(f.Factor)}, Dots: true,
		X: chart.Axis{Label: "ok/s (logarithmic)", Unit: chart.PerSecond, Log: true}, Reference: math.NaN(),
	}
	for i := range f.Points {
		p := &f.Points[i]
		row := chart.Row{Name: bounded(p.Level), Value: math.NaN(), Low: math.NaN(), High: math.NaN(),
			Published: p.Measured, Text: "refused", Class: "note"}
		if p.Refused == "" {
			row.Class = map[bool]string{true: "good", false: "bad"}[p.Held]
		}
		switch {
		case p.Predicted != nil:
			row.Value, row.Low, row.High = *p.Predicted, *p.Low, *p.High
			row.Text = figure.Rate(*p.Predicted) + " | " + figure.Rate(p.Measured)
		case p.High != nil:
			row.Text = "≤ " + figure.Rate(*p.High) + " | " + figure.Rate(p.Measured)
		}
		c.Rows = append(c.Rows, row)
	}
	return rowsFigure(c, "At the right: predicted, or the upper limit of a level beyond the others | measured. Whiskers are the 95 % interval of the prediction.", nil)
}

// Question is the form of a page that predicts other levels. The browser interpolates its curves on logarithmic scales,
// so the page needs no server.
type Question struct {
	Base   float64 // ok/s of the baseline
	Curves []predict.Curve
}

// JSON is the question for the script.
func (q *Question) JSON() (string, error) {
	b, err := finite.Marshal(q)
	return string(b), err
}

// questionOf is the form of a study, nil if no factor can be predicted.
func questionOf(s *record.Study) *Question {
	study := predict.Study{Study: s}
	q := &Question{}
	for i := range s.Specification.Factors {
		if c, ok := study.Curve(&s.Specification.Factors[i]); ok {
			c.Factor = bounded(c.Factor)
			q.Curves = append(q.Curves, c)
		}
	}
	if len(q.Curves) == 0 {
		return nil
	}
	q.Base = study.Baseline()
	return q
}

// predictedSections are the backtest of a study and its form.
func predictedSections(s *record.Study) (list []Section) {
	factors, err := predict.Factors("this study", s)
	if err != nil {
		return nil
	}
	if section, ok := backtestSection(factors, "backtest"); ok {
		list = append(list, section)
		if q := questionOf(s); q != nil {
			list = append(list, Section{ID: "what-if", Title: "What if", Lead: "The throughput of levels between the measured ones, by the models above.",
				Parts: []Section{{Question: q}}})
		}
	}
	return list
}
