package report

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/measure"
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
	end := on.disclosure(Section{Facts: Facts("File", bounded(on.Dir), "Written by", Version(c.Tool), "Schema", c.SchemaVersion)})
	end.Lead = ""
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
	note := ""
	if len(t.Rows) > len(x.Rows) {
		note = fmt.Sprintf("The first %d of %d are drawn; the table has all.", len(x.Rows), len(t.Rows))
	}
	return rowsFigure(x, note, t)
}

// keptSpectra are the distributions of a comparison that was kept, by class, so that its page has the pictures although
// the records may be gone.
type keptSpectra struct {
	classes []string
	of      map[string][]distribution
	// records returns the number of records of each side's spectra.
	records map[int]int
	// scheduled is true if every side that has spectra had a schedule.
	scheduled bool
}

func (s *comparisonFiles) openSpectra(c *record.ComparisonReport) {
	kept := keptSpectra{of: map[string][]distribution{}, records: map[int]int{}}
	texts := make([][]string, len(c.Sides)) // long ones, which Tidy would cut
	responses := 0
	for i := range c.Sides[:min(len(c.Sides), record.MaxSpectra)] {
		list := c.Sides[i].Spectra[:min(len(c.Sides[i].Spectra), maxKeys)]
		had := false
		for k := range list {
			x := &list[k]
			texts[i] = append(texts[i], x.Histogram)
			n, err := measure.Decode(x.Histogram)
			x.Histogram = ""
			if err != nil {
				s.Problems = append(s.Problems, bounded(fmt.Sprintf("the %s times of %s of side %d: %v", x.Time, x.Class, i+1, err)))
				continue
			}
			had = had || x.Time == "response"
			kept.records[i] = max(kept.records[i], x.Records)
			kept.add(bounded(x.Class), distribution{i, x.Time, n, x.Max})
		}
		c.Sides[i].Spectra = list
		if had {
			responses++
		}
	}
	kept.scheduled = responses > 0 && responses == len(kept.records)
	s.kept = kept
	Tidy(c)
	for i := range texts {
		for k, text := range texts[i] {
			c.Sides[i].Spectra[k].Histogram = text
		}
	}
}

func (k *keptSpectra) add(class string, d distribution) {
	if !slices.Contains(k.classes, class) {
		k.classes = append(k.classes, class)
	}
	k.of[class] = append(k.of[class], d)
}

func (k *keptSpectra) section(c *record.ComparisonReport) Section {
	if len(k.classes) == 0 {
		return Section{}
	}
	names := make([]string, len(c.Sides))
	var of []string
	for i := range c.Sides {
		names[i] = c.Sides[i].Name
		if n := k.records[i]; n > 0 {
			of = append(of, fmt.Sprintf("%s of %s", figure.Plural(n, "record"), c.Sides[i].Name))
		}
	}
	sec := overlaidSection(k.classes, k.of, names[:min(len(names), record.MaxSpectra)], k.scheduled)
	sec.Lead = "Over all records of a side together: " + strings.Join(of, ", ") + "."
	if left := len(k.classes) - maxClasses; left > 0 {
		sec.Lead += fmt.Sprintf(" Of %s the first %d are drawn.", figure.Plural(len(k.classes), "operation"), maxClasses)
	}
	if left := len(c.Sides) - record.MaxSpectra; left > 0 {
		sec.Lead += fmt.Sprintf(" Only the first %d of %s are kept with their spectra.", record.MaxSpectra, figure.Plural(len(c.Sides), "side"))
	}
	return sec
}
