package html

import (
	"fmt"
	"math"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/html/chart"
)

func comparisonTitle(c *record.ComparisonReport) string { return capital(report.CompareTitle(c)) }

// comparisonAnswer is the first screen of a comparison.
func comparisonAnswer(c *record.ComparisonReport, prefix string) Answer {
	a := Answer{ID: prefix + "answer", Headline: comparisonTitle(c), Kind: kindOf(c.Validity, record.Complete)}
	switch a.Kind {
	case "good":
		a.Verdict = "valid"
	case "warn":
		a.Verdict = "valid with care; see below"
	default:
		a.Verdict = "INVALID: do not use these figures; the reasons are below"
	}
	count := map[record.Verdict]int{}
	for i := range c.Comparisons {
		count[c.Comparisons[i].Verdict]++
	}
	if len(c.Sides) == 2 {
		a.Tiles = ratioTiles(c.Comparisons)
	}
	for _, v := range []record.Verdict{record.Better, record.Worse, record.Equivalent, record.Inconclusive} {
		a.Tiles = append(a.Tiles, Tile{capital(string(v)), figure.Count(int64(count[v])), "of " + figure.Plural(len(c.Comparisons), "comparison")})
	}
	a.Findings = append(comparisonPoints(c.Comparisons), findingPoints(c.Validity)...)
	invalid, doubtful := 0, 0
	for _, d := range c.Differences {
		switch d.Severity {
		case measure.Invalid:
			invalid++
		case measure.Warning:
			doubtful++
		}
	}
	same := Point{"good", "✓", "same load, data and machine as far as it matters"}
	if invalid > 0 {
		same = Point{"bad", "✗", figure.Plural(invalid, "difference") + " that must not be"}
	} else if doubtful > 0 {
		same = Point{"warn", "!", figure.Plural(doubtful, "difference") + " that should not be"}
	}
	a.Badges = []Point{same}
	for i := range c.Sides {
		name := "Side " + fmt.Sprint(i+1)
		if i == 0 {
			name = "Baseline"
		}
		a.Facts = append(a.Facts, Fact{name, c.Sides[i].Name + ", n = " + fmt.Sprint(c.Sides[i].N)})
	}
	a.Facts = append(a.Facts, facts("Comparisons", report.ComparisonsText(c.Comparisons), "Compared with", Version(c.Tool))...)
	return a
}

// ratioTiles are the changes that a person asks for first: throughput, and the 99th percentiles of some operations.
func ratioTiles(list []record.Comparison) (tiles []Tile) {
	const most = 4
	for i := range list {
		x := &list[i]
		if m := x.Metric; len(tiles) == most || m != "throughput" && !strings.HasSuffix(m, "p99") || x.Ratio == nil {
			continue
		}
		note := report.VerdictText(x.Verdict) + fmt.Sprintf(", n = %d + %d", x.N, x.NBase)
		if x.Low != nil && x.High != nil {
			note = report.IntervalText(x) + " " + note
		}
		tiles = append(tiles, Tile{capital(metricWords(x.Metric, "time")), report.ChangeText(x), note})
	}
	return tiles
}

// comparisonSections are the tables of the comparison, with the ratios and every trial as charts before them.
func comparisonSections(src *Source, prefix string) []Section {
	c := src.Comparison
	margin := 0.0
	if len(c.Comparisons) > 0 {
		margin = c.Comparisons[0].Margin
	}
	ratios := Section{ID: prefix + "ratios", Title: "Ratios"}
	for _, f := range forestFigures(c.Comparisons, margin, "time", prefix+"ratios") {
		ratios.Blocks = append(ratios.Blocks, Block{Figure: f})
	}
	if f := sideFigure(c, prefix); f != nil {
		ratios.Blocks = append(ratios.Blocks, Block{Figure: f})
	}
	list := []Section{ratios, src.kept.section(c, prefix)}
	all := report.CompareSections(c)
	for i := 1; i < len(all); i++ { // the first one is the answer, which has the findings too
		if all[i].Title == "validity" {
			continue
		}
		sec := shared(all[i])
		sec.ID = fmt.Sprintf("%s%s-%d", prefix, sec.ID, i)
		list = append(list, sec)
	}
	end := Section{ID: prefix + "disclosure", Title: "Disclosure", Blocks: []Block{{Facts: facts(
		"File", visible(src.Dir), "Written by", Version(c.Tool), "Schema", c.SchemaVersion,
	)}}}
	if len(src.Problems) > 0 {
		end.Blocks = append(end.Blocks, Block{Heading: "What could not be read", Lines: src.Problems})
	}
	return append(list, end)
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
				x.Rows = append(x.Rows, chart.Row{Name: fmt.Sprintf("trial %d", k+1), Group: side.Name, Value: v, Low: math.NaN(), High: math.NaN(),
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
