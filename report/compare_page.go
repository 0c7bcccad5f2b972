package report

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/chart"
)

// comparisonFiles are what the page of a comparison shows besides its text: the distributions that it was kept with.
type comparisonFiles struct {
	*Source
	kept keptSpectra
}

func comparisonKind() *kind {
	k := kindOf("a comparison", compareDocument)
	k.name, k.open, k.csv, k.bench = record.KindComparison, openComparison, table(compareCSV), table(compareBench)
	k.loaded = typed(func(c *record.ComparisonReport) []string {
		var kinds []string
		for _, s := range c.Sides {
			kinds = append(kinds, s.TargetKind)
		}
		if kinds = slices.Compact(kinds); len(kinds) != 1 { // of sides that differ, each says it
			return nil
		}
		return kinds
	})
	k.list = listed(func(c *record.ComparisonReport, e *Entry) {
		var names []string
		for _, s := range c.Sides {
			names = append(names, s.Name)
		}
		*e = Entry{Kind: e.Kind, Title: strings.Join(names, " against "), Status: record.Complete}
	})
	return k
}

// openComparison reads a comparison: a record, or a file by itself, which has no checksums.
func openComparison(s *Source, path string) error {
	c, err := comparisonAt(path)
	if err != nil {
		return err
	}
	on := &comparisonFiles{Source: s}
	s.Result, s.files = c, on
	on.openSpectra(c)
	return nil
}

func comparisonAt(path string) (*record.ComparisonReport, error) {
	switch {
	case safeopen.Exists(path, record.ComparisonFile):
		return record.OpenComparison(path)
	case filepath.Base(path) == record.ComparisonFile:
		return record.OpenComparison(filepath.Dir(path))
	}
	return record.OpenComparisonFile(path)
}

// sections are those of the document behind the ratios and the distributions, and where a comparison is stored.
func (on *comparisonFiles) sections(c *record.ComparisonReport, document []Section) []Section {
	margin := 0.0
	if len(c.Comparisons) > 0 {
		margin = c.Comparisons[0].Margin
	}
	ratios := Section{ID: "ratios", Title: "Ratios"}
	ratios.Figures = figures(append(forestFigures(c.Comparisons, margin, "time", "ratios"), sideFigure(c))...)
	list := append(appendFilled(nil, ratios, on.kept.section(c)), document...)
	if on.Dir == "" {
		return list // it is not stored
	}
	end := Section{ID: "disclosure", Title: "Disclosure", Parts: []Section{{Facts: Facts(
		"File", bounded(on.Dir), "Written by", Version(c.Tool), "Schema", c.SchemaVersion,
	)}}}
	if len(on.Problems) > 0 {
		end.Parts = append(end.Parts, Section{Title: "What could not be read", Lines: on.Problems})
	}
	return append(list, end)
}

// sideFigure shows every trial of each side: n is small, so all of them are shown.
func sideFigure(c *record.ComparisonReport) *Figure {
	x := &chart.Rows{
		Frame: chart.Frame{ID: "sides-trials", Title: "Throughput of each trial"}, Dots: true,
		X: chart.Axis{Label: "successful operations per second", Unit: chart.PerSecond, Zero: true},
	}
	t := &Table{Left: 1, Header: []string{"side", "trial", "ok/s"}}
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
