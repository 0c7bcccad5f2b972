package html

import (
	"fmt"
	"math"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/html/chart"
)

func comparisonSections(src *Source, d *report.Document, prefix string) []Section {
	c := src.Comparison
	margin := 0.0
	if len(c.Comparisons) > 0 {
		margin = c.Comparisons[0].Margin
	}
	ratios := Section{ID: prefix + "ratios", Title: "Ratios"}
	ratios.Blocks = figureBlocks(append(forestFigures(c.Comparisons, margin, "time", prefix+"ratios"), sideFigure(c, prefix)))
	return append([]Section{ratios, src.kept.section(c, prefix)}, arranged(d.Sections, prefix, nil)...)
}

// comparisonDisclosure describes where a comparison is stored.
func comparisonDisclosure(src *Source, prefix string) Section {
	end := Section{ID: prefix + "disclosure", Title: "Disclosure", Blocks: []Block{{Facts: report.Facts(
		"File", visible(src.Dir), "Written by", report.Version(src.Comparison.Tool), "Schema", src.Comparison.SchemaVersion,
	)}}}
	if len(src.Problems) > 0 {
		end.Blocks = append(end.Blocks, Block{Heading: "What could not be read", Lines: src.Problems})
	}
	return end
}

// sideFigure shows every trial of each side: n is small, so all of them are shown.
func sideFigure(c *record.ComparisonReport, prefix string) *Figure {
	x := &chart.Rows{
		Frame: chart.Frame{ID: prefix + "sides-trials", Title: "Throughput of each trial"}, Dots: true,
		X: chart.Axis{Label: "successful operations per second", Unit: chart.PerSecond, Zero: true},
	}
	t := &Table{Columns: columns(1, "side", "trial", "ok/s")}
	for i := range c.Sides {
		side := &c.Sides[i]
		for k, v := range side.Values["throughput"] {
			t.Rows = append(t.Rows, []string{side.Name, fmt.Sprint(k + 1), figure.Rate(v)})
			if len(x.Rows) < 60 {
				x.Rows = append(x.Rows, chart.Row{Name: fmt.Sprintf("trial %d", k+1), Group: side.Name, Value: v, Low: math.NaN(),
					High: math.NaN(),
					Text: figure.Rate(v), Colour: i})
			}
		}
	}
	if len(x.Rows) == 0 {
		return nil
	}
	x.Description = rowsWords(x.Rows)
	note := ""
	if len(t.Rows) > len(x.Rows) {
		note = fmt.Sprintf("The first %d of %d are drawn; the table has all.", len(x.Rows), len(t.Rows))
	}
	return newFigure(x, note, t)
}
