package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/chart"
)

// fewestOnCurve is the smallest number of measured levels besides the baseline for a curve; fewer are rows.
const fewestOnCurve = 2

// suiteFigures draws a figure of the document as it was measured here: as curves if its levels are numbers, otherwise
// as rows, with operations and times apart as in the documents. Values that the document states are drawn, too. There
// is no chart if nothing was measured, or if the document has words only. The table below has the numbers.
func suiteFigures(f *SuiteFigure, id string) []*Figure {
	if f.Sweep == nil {
		return nil
	}
	if list := suiteCurves(f, id); len(list) > 0 {
		return list
	}
	return figures(f.ratios(id + "-chart"))
}

const suiteRatioNote = "Each ratio is to its own baseline, because the machines differ; the table has the numbers."

func severalParts(f *SuiteFigure) bool {
	parts := map[string]bool{}
	for i := range f.Statements {
		parts[f.Statements[i].Part] = true
	}
	delete(parts, "")
	return len(parts) > 1
}

// suiteCurves draw ratios over levels that are numbers. nil where levels are none, where several parts measured it, or
// where too few levels were measured for a curve.
func suiteCurves(f *SuiteFigure, id string) []*Figure {
	at := levelNumbers(f)
	if at == nil || severalParts(f) {
		return nil
	}
	var list []*Figure
	for i, group := range [][]string{sweepMetrics(f, false), sweepMetrics(f, true)} {
		if x := suiteCurve(f, group, at, fmt.Sprintf("%s-curve-%d", id, i+1)); x != nil {
			list = append(list, x)
		}
	}
	return list
}

// sweepMetrics are the times of a figure, or what is no time.
func sweepMetrics(f *SuiteFigure, times bool) (list []string) {
	for _, m := range f.Sweep.Metrics {
		if isTime := strings.Contains(m, "."); isTime == times {
			list = append(list, m)
		}
	}
	return list
}

// levelNumbers are the levels of a figure as numbers, such as 25 for "25M"; nil unless all are numbers above 0.
func levelNumbers(f *SuiteFigure) map[string]float64 {
	at := map[string]float64{}
	for i := range f.Sweep.Levels {
		name := f.Sweep.Levels[i].Name
		x, err := strconv.ParseFloat(strings.TrimSuffix(name, "M"), 64)
		if err != nil || !(x > 0) {
			return nil
		}
		at[name] = x
	}
	return at
}

// suiteCurve draws some metrics of a figure: filled marks joined by a line for what was measured, hollow ones of the
// same shape for what the document states.
func suiteCurve(f *SuiteFigure, metrics []string, at map[string]float64, id string) *Figure {
	names := make([]string, len(metrics))
	for i, m := range metrics {
		names[i] = suiteMetric(&record.SuiteStatement{Metric: m})
	}
	c := &chart.XY{
		Frame:  chart.Frame{ID: id, Title: "Measured (filled) and published (hollow) ratios: " + f.Title() + ", " + strings.Join(names, " and ")},
		X:      chart.Axis{Label: f.Sweep.Factor + ", by the document's names (logarithmic)", Log: true},
		Y:      chart.Axis{Label: "value / value at " + f.Sweep.Baseline + " (logarithmic)", Log: true},
		Limits: []chart.Limit{{Y: 1, Text: "own baseline", Left: true}}, Height: 260,
	}
	var words []string
	shown := map[float64]bool{at[f.Sweep.Baseline]: true}
	most := 0
	for i, metric := range metrics {
		line, stated := suiteSeries(f, metric, at, i)
		words = append(append(words, line.Notes...), stated.Notes...)
		for _, x := range append(slices.Clone(line.X), stated.X...) {
			shown[x] = true
		}
		most = max(most, len(line.X)-1)
		c.Series = append(c.Series, line)
		if len(stated.X) > 0 {
			c.Series = append(c.Series, stated)
		}
	}
	if most < fewestOnCurve {
		return nil
	}
	for i := range f.Sweep.Levels {
		if name := f.Sweep.Levels[i].Name; shown[at[name]] {
			c.X.Ticks = append(c.X.Ticks, chart.Tick{At: at[name], Text: name})
		}
	}
	c.Description = strings.Join(words, "; ") + "."
	return newFigure(c, "Bars are intervals. "+suiteRatioNote+boundWords(f, metrics...)+trendWords(f, metrics...), nil)
}

// suiteSeries are a metric's measured ratios and those of the document, in the order of the levels, the baseline among
// what was measured.
func suiteSeries(f *SuiteFigure, metric string, at map[string]float64, colour int) (line, stated chart.Series) {
	line = chart.Series{Name: suiteMetric(&record.SuiteStatement{Metric: metric}), Dots: true, Colour: colour}
	stated = chart.Series{Style: chart.Points, Dots: true, Hollow: true, Colour: colour, Unnamed: true}
	add := func(s *chart.Series, level string, y, low, high float64, note string) {
		s.X, s.Y, s.Low, s.High = append(s.X, at[level]), append(s.Y, y), append(s.Low, low), append(s.High, high)
		s.Notes = append(s.Notes, line.Name+" at "+level+": "+note)
	}
	for i := range f.Sweep.Levels {
		level := f.Sweep.Levels[i].Name
		if level == f.Sweep.Baseline {
			add(&line, level, 1, math.NaN(), math.NaN(), "the baseline")
			continue
		}
		k := slices.IndexFunc(f.Statements, func(st record.SuiteStatement) bool {
			return st.Kind == record.StatementRatio && st.Level == level && st.Metric == metric
		})
		if k < 0 {
			continue
		}
		st := &f.Statements[k]
		if st.Ratio != nil {
			change, interval, _ := changeCells(st)
			add(&line, level, *st.Ratio, or(st.Low), or(st.High),
				strings.TrimSpace(change+" "+strings.TrimPrefix(interval, "-"))+" here")
		}
		if st.Published != nil && *st.Published > 0 {
			add(&stated, level, *st.Published, math.NaN(), math.NaN(), suiteStated(st)+" in the document")
		}
	}
	return line, stated
}

// boundWords tell which published marks are no values, but bounds, as the end of a note.
func boundWords(f *SuiteFigure, metrics ...string) string {
	var words []string
	for i := range f.Statements {
		st := &f.Statements[i]
		if st.Kind == record.StatementRatio && st.Published != nil && st.Bound != "" && st.Bound != "about" &&
			(len(metrics) == 0 || slices.Contains(metrics, st.Metric)) {
			words = append(words, suiteMetric(st)+" at "+st.Level+" "+suiteStated(st))
		}
	}
	if len(words) == 0 {
		return ""
	}
	return " Of these the document states a bound and no value: " + strings.Join(words, "; ") + "."
}

// trendWords are the statements of the document without values, with the results, as the end of a note.
func trendWords(f *SuiteFigure, metrics ...string) string {
	var words []string
	for i := range f.Statements {
		st := &f.Statements[i]
		if st.Kind != record.StatementTrend || len(metrics) > 0 && !slices.Contains(metrics, st.Metric) {
			continue
		}
		words = append(words, fmt.Sprintf("%s %s, %s (%s)", suiteMetric(st), st.Goes, st.Level, agreementText(st.Agreement)))
	}
	if len(words) == 0 {
		return ""
	}
	return " In words the document has: " + strings.Join(words, "; ") + "."
}

// mostPictured is the largest number of rows in the figure of a suite; more do not fit on a screen.
const mostPictured = 60

func suiteRows(id, title string) *chart.Rows {
	return ratioRows(id, title, "value / value of the own baseline (logarithmic)", "own baseline")
}

// ratios draws a figure of the document: each of its statements that is a ratio, by metric. nil if none was measured.
func (f *SuiteFigure) ratios(id string) *Figure {
	x := suiteRows(id, "Measured (dots) and published (hollow diamonds) ratios: "+f.Title())
	several := f.several()
	for i := range f.Statements {
		st := &f.Statements[i]
		if st.Kind != record.StatementRatio || st.Published == nil && st.Ratio == nil {
			continue
		}
		r := ratioRow(st)
		r.Group, r.Name = suiteMetric(st), st.Level
		if several && st.Part != "" {
			r.Name = st.Part + ": " + st.Level
		}
		x.Rows = append(x.Rows, r)
	}
	if !slices.ContainsFunc(x.Rows, func(r chart.Row) bool { return !math.IsNaN(r.Value) }) {
		return nil
	}
	note := "At the right: whether they agree. "
	if slices.ContainsFunc(x.Rows, func(r chart.Row) bool { return r.Text == string(record.OnlyDrawn) }) {
		note = "At the right: whether they agree; “only drawn”: the document shows the value in a picture and does not state it. "
	}
	x.Dense = len(x.Rows) >= manyRows
	return rowsFigure(x, note+suiteRatioNote+boundWords(f)+trendWords(f), nil)
}

// picture draws all statements of the document that were measured, figure by figure; nil if there are none.
func (s *Suite) picture() *Figure {
	x, rows := suiteRows("picture", "The document and what was measured here"), 0
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
	all, pictured := s.counted(), len(x.Rows)
	note := fmt.Sprintf("Hollow diamonds: stated by the document. Dots with intervals: measured here. "+
		"Each is a ratio to its own baseline, because the machines differ. %d of %s are drawn", pictured,
		figure.Plural(all, "statement"))
	switch {
	case rows > pictured:
		note += fmt.Sprintf(", the first of %d that were measured", rows)
	case pictured < all:
		note += "; the others are in words or were not measured"
	}
	note += ". The tables below have all."
	x.Dense = pictured >= manyRows
	return rowsFigure(x, note, nil)
}

// ratioRow is a statement without its names.
func ratioRow(st *record.SuiteStatement) chart.Row {
	value := func(x *float64) float64 {
		if x == nil || !(*x > 0) {
			return math.NaN()
		}
		return *x
	}
	here, interval, _ := changeCells(st)
	return chart.Row{Published: value(st.Published), Value: value(st.Ratio), Low: value(st.Low), High: value(st.High),
		Class:  string(agreementGrade(st.Agreement)),
		Hollow: st.Agreement != record.Agrees && st.Agreement != record.Disagrees, Text: statementText(st),
		Note: fmt.Sprintf("%s %s: there %s, here %s", st.Level, suiteMetric(st), suiteStated(st),
			strings.TrimSpace(here+" "+strings.TrimPrefix(interval, "-")))}
}
