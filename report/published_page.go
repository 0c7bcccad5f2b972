package report

import (
	"cmp"
	"math"

	"github.com/plimsoll-bench/plimsoll/report/chart"
)

// publishedFigure has a row for each level and metric: a dot with its interval for what was measured, a diamond for
// what was published, both as ratios to their own baseline.
func publishedFigure(b *Beside, kind, id string) *Figure {
	c := &chart.Rows{
		Frame: chart.Frame{ID: id + "-published", Title: "Measured (dots) and published (diamonds) change by " + b.Factor}, Dots: true,
		Reference: 1, ReferenceText: "own baseline",
		X: chart.Axis{Label: "value / value of the own baseline (logarithmic)", Log: true},
	}
	for i := range b.Rows {
		r := &b.Rows[i]
		row := chart.Row{Name: r.Level, Group: metricWords(r.Metric, kind), Value: math.NaN(), Low: math.NaN(),
			High: math.NaN()}
		measured := "-"
		if x := r.Comparison; x != nil && x.Ratio != nil {
			row.Value, row.Low, row.High = *x.Ratio, or(x.Low), or(x.High)
			measured = ChangeText(x)
		}
		if r.Published != nil {
			row.Published = *r.Published
		}
		if math.IsNaN(row.Value) && row.Published == 0 {
			continue
		}
		row.Text = cmp.Or(measured, "-") + " | " + PublishedText(r)
		c.Rows = append(c.Rows, row)
	}
	if len(c.Rows) == 0 {
		return nil
	}
	c.Description = rowsWords(c.Rows)
	return newFigure(c, "At the right: measured | published. Each is a change against its own baseline, because the machines differ.", nil)
}
