package html

import (
	"math"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/html/chart"
)

// fewestPublished is how many ratios a document has to state for a picture of them.
const fewestPublished = 2

// suiteFigure draws what the document states (hollow diamonds) beside what was measured (dots with their intervals), all as
// ratios to their own baselines on one axis; nil where too little is stated, or nothing was measured. The table below has the numbers.
func suiteFigure(f *report.SuiteFigure, id string) *Figure {
	if f.Sweep == nil {
		return nil
	}
	c := &chart.Rows{
		Frame: chart.Frame{ID: id + "-chart", Title: "Published (hollow diamonds) and measured (dots) ratios: " + f.Title()}, Dots: true,
		Reference: 1, ReferenceText: "own baseline", X: chart.Axis{Label: "value / value of the own baseline (logarithmic)", Log: true},
	}
	stated, measured := 0, 0
	several := false
	for i := range f.Statements {
		several = several || f.Statements[i].Part != f.Statements[0].Part && f.Statements[i].Part != "" && f.Statements[0].Part != ""
	}
	for i := range f.Statements {
		st := &f.Statements[i]
		if st.Kind != record.StatementRatio || st.Published == nil && st.Ratio == nil {
			continue
		}
		row := chart.Row{Name: st.Level, Group: report.SuiteMetric(st), Value: math.NaN(), Low: math.NaN(), High: math.NaN(), Text: string(st.Agreement)}
		if several && st.Part != "" {
			row.Name = st.Part + ": " + st.Level
		}
		if st.Ratio != nil {
			row.Value, row.Low, row.High = *st.Ratio, or(st.Low), or(st.High)
			measured++
		}
		if st.Published != nil && *st.Published > 0 {
			row.Published = *st.Published
			stated++
		}
		c.Rows = append(c.Rows, row)
	}
	if stated < fewestPublished || measured == 0 {
		return nil
	}
	c.Description = rowsWords(c.Rows)
	return newFigure(c, "At the right: whether they agree. The machines differ, so only ratios are set beside each other, each against its own baseline; the table has the numbers.", nil)
}
