package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/plimsoll-bench/plimsoll/report/chart"
)

// Figure is a chart with its numbers, as data. A page draws it.
type Figure struct {
	Chart   chart.Chart
	Note    string
	Numbers *Table
	// Zoom is set if the script can draw the chart again to zoom in.
	Zoom *Zoom
}

// Zoom names the data of a chart over time: Data is the ID of a [Track], Names are lines of it.
type Zoom struct {
	Data  string
	Names []string
	Log   bool
	Unit  string
}

// Track is the data of charts over a common time, for the script of a page.
type Track struct {
	ID    string     `json:"-"`
	T     Numbers    `json:"t"` // seconds since the start
	Lines []TrackRow `json:"lines"`
	Marks []TrackTip `json:"marks"`
	Spans []TrackTip `json:"spans"`
}

// TrackRow is one line over time.
type TrackRow struct {
	Name   string  `json:"name"`
	Label  string  `json:"label"`
	Unit   string  `json:"unit"`
	Colour int     `json:"colour"`
	Dash   bool    `json:"dash,omitempty"`
	Values Numbers `json:"values"`
}

// TrackTip is a moment, or a stretch where To is set.
type TrackTip struct {
	At   float64 `json:"at"`
	To   float64 `json:"to,omitempty"`
	Text string  `json:"text"`
}

// mark draws the spans and the marks of a track into a chart, with their texts or without.
func (t *Track) mark(c *chart.XY, named bool) {
	for _, x := range t.Spans {
		c.Spans = append(c.Spans, chart.Span{From: x.At, To: x.To, Text: x.Text})
	}
	for _, m := range t.Marks {
		mark := chart.Mark{X: m.At, Kind: "event"}
		if named {
			mark.Text = m.Text
		}
		c.Marks = append(c.Marks, mark)
	}
}

func newFigure(c chart.Chart, note string, numbers *Table) *Figure {
	if numbers != nil {
		numbers.Caption = "The numbers behind “" + c.About().Title + "”"
		numbers.Folded, numbers.Charted = true, true
	}
	return &Figure{Chart: c, Note: note, Numbers: numbers}
}

// figures are those of which there is anything to draw.
func figures(list ...*Figure) []*Figure {
	return slices.DeleteFunc(list, func(f *Figure) bool { return f == nil })
}

// ratioRows are rows on one logarithmic axis: for each a dot with its interval for what was measured, and a diamond for
// what another source states. reference is what a ratio of one is.
func ratioRows(id, title, axis, reference string) *chart.Rows {
	return &chart.Rows{Frame: chart.Frame{ID: id, Title: title}, Dots: true, Reference: 1, ReferenceText: reference,
		X: chart.Axis{Label: axis, Log: true}}
}

// manyRows is from how many rows on they are drawn close together.
const manyRows = 24

// rowsFigure is the figure of rows, nil without any.
func rowsFigure(c *chart.Rows, note string, numbers *Table) *Figure {
	if len(c.Rows) == 0 {
		return nil
	}
	c.Description = rowsWords(c.Rows)
	return newFigure(c, note, numbers)
}

// textColumns is how wide the axis of a figure is on a terminal.
const textColumns = 40

// Lines draw ratios as text: ◇ is the stated value, ● the measured one, = its interval, and | a ratio of one. Other
// figures have no lines.
func (f *Figure) Lines() []string {
	c, ok := f.Chart.(*chart.Rows)
	if !ok {
		return nil
	}
	low, high, name := 1.0, 1.0, 0
	for _, r := range c.Rows {
		name = max(name, utf8.RuneCountInString(r.Name))
		for _, x := range []float64{r.Published, r.Value, r.Low, r.High} {
			if x > 0 && !math.IsInf(x, 0) {
				low, high = min(low, x), max(high, x)
			}
		}
	}
	low, high = min(low, 0.9), max(high, 1.1)
	at := func(x float64) int {
		return int(math.Round(math.Log(x/low) / math.Log(high/low) * (textColumns - 1)))
	}
	name = min(name, 34)
	var lines []string
	for i, r := range c.Rows {
		if r.Group != "" && (i == 0 || c.Rows[i-1].Group != r.Group) {
			lines = append(lines, r.Group)
		}
		axis := []rune(strings.Repeat(" ", textColumns))
		axis[at(1)] = '|'
		if r.Low > 0 && r.High >= r.Low && !math.IsInf(r.High, 0) {
			for k := at(r.Low); k <= at(r.High); k++ {
				axis[k] = '='
			}
		}
		for _, m := range []struct {
			x    float64
			mark rune
		}{{r.Published, '◇'}, {r.Value, '●'}} {
			if m.x > 0 && !math.IsInf(m.x, 0) {
				axis[at(m.x)] = m.mark
			}
		}
		label := []rune(r.Name)
		if len(label) > name {
			label = append(label[:name-1], '…')
		}
		lines = append(lines, fmt.Sprintf("  %-*s %s %s", name, string(label), string(axis), r.Text))
	}
	ends := fmt.Sprintf("×%.2g", low)
	top := fmt.Sprintf("×%.2g", high)
	return append(lines, strings.Repeat(" ", name+3)+ends+
		strings.Repeat(" ", max(1, textColumns-utf8.RuneCountInString(ends+top)))+top)
}
