package report

import (
	"slices"

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
