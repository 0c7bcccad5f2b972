package report

import (
	"math"

	"github.com/plimsoll-bench/plimsoll/capacity/predict"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/finite"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/chart"
)

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
		s.draw(backtestFigure(&b.Factors[i], NthID(id, i)))
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
	c.Description = rowsWords(c.Rows)
	return newFigure(c, "At the right: predicted, or the upper limit of a level beyond the others | measured. Whiskers are the 95 % interval of the prediction.", nil)
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
