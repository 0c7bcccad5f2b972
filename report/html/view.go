package html

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/html/chart"
)

// Section is a part of a page under a heading of its own. Whoever adds a kind of record makes sections of it; one
// without blocks is left out.
type Section struct {
	ID    string
	Title string
	Lead  string // one sentence under the heading
	// Folded sections are opened by these words; empty for those that are shown.
	Folded string
	Blocks []Block
}

// Block is a part of a section. Each of its fields that is set is shown, in this order.
type Block struct {
	// ID links to the heading, where it has one.
	ID      string
	Heading string
	Lines   []string
	Points  []report.Point
	Facts   []report.Fact
	Tiles   []report.Tile
	Figure  *Figure
	Table   *Table
	Code    *Code
	// Question is a form that predicts.
	Question *Question
}

// Code is text to copy.
type Code struct{ Label, Text string }

// Table has columns of text. Number columns are aligned to the right.
type Table struct {
	Caption string
	Columns []Column
	Rows    [][]string
	Notes   []string
	// Folded tables are closed at first; the caption of Quiet ones repeats a heading and is not shown.
	Folded bool
	Quiet  bool
	// Charted tables have the numbers of the charts before them.
	Charted bool
}

// mostPrinted is the largest number of rows of a folded table that is printed.
const mostPrinted = 150

// Class is how a folded table is printed: the numbers of charts are not, of a long one only its name, with its place.
func (t *Table) Class() string {
	switch {
	case t.Charted:
		return "numbers"
	case len(t.Rows) > mostPrinted:
		return "long"
	}
	return ""
}

// Column is the head of a column.
type Column struct {
	Name   string
	Number bool
}

// Figure is a chart with its numbers.
type Figure struct {
	ID      string
	Title   string
	Note    string
	SVG     template.HTML
	Numbers *Table
	// Zoom is set if the script can draw the chart again to zoom in.
	Zoom *Zoom
}

// Zoom names the data of a chart over time: Data is the id of an element with a [Track], Names are columns of it.
type Zoom struct {
	Data  string
	Names []string
	Log   bool
	Unit  string
}

// Track is the data of charts over a common time, for the script of the page.
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
	about := c.About()
	if numbers != nil {
		numbers.Caption = "The numbers behind “" + about.Title + "”"
		numbers.Folded, numbers.Charted = true, true
	}
	//nolint:gosec // package chart escapes every text it draws
	return &Figure{ID: about.ID, Title: about.Title, Note: note, SVG: template.HTML(chart.Both(c)), Numbers: numbers}
}

// columns makes the heads of a table: the first so many are texts, the others numbers.
func columns(texts int, names ...string) []Column {
	list := make([]Column, len(names))
	for i, n := range names {
		list[i] = Column{Name: n, Number: i >= texts}
	}
	return list
}

// arranged puts the sections of a document under the headings of a page, those of one group under one of them. Before
// each are the figures that are drawn of it, by its ID.
func arranged(list []report.Section, prefix string, figures map[string][]*Figure) []Section {
	var page []Section
	for i := range list {
		s := &list[i]
		title := report.Capitalised(s.Title)
		if s.Named {
			title = s.Title
		}
		blocks := figureBlocks(figures[s.ID])
		b := blockOf(s, title)
		switch n := len(page); {
		case s.Group == "":
			page = append(page, Section{ID: prefix + cmp.Or(s.ID, slug(s.Title)), Title: title,
				Blocks: append(blocks, b)})
		case n > 0 && page[n-1].ID == prefix+slug(s.Group):
			b.Heading = title
			page[n-1].Blocks = append(append(page[n-1].Blocks, blocks...), b)
		default:
			b.Heading = title
			page = append(page, Section{ID: prefix + slug(s.Group), Title: report.Capitalised(s.Group),
				Blocks: append(blocks, b)})
		}
	}
	return page
}

// figureBlocks are the figures of which there is anything to draw.
func figureBlocks(list []*Figure) (blocks []Block) {
	for _, f := range list {
		if f != nil {
			blocks = append(blocks, Block{Figure: f})
		}
	}
	return blocks
}

// blockOf returns a section as a part of a page.
func blockOf(s *report.Section, title string) Block {
	b := Block{Lines: s.Lines, Points: s.Points, Facts: s.Facts}
	if s.Table == nil || len(s.Table.Rows) == 0 {
		return b
	}
	b.Table = &Table{Caption: cmp.Or(title, report.Capitalised(s.Group)), Rows: s.Table.Rows, Folded: s.Long || s.Appendix,
		Quiet: true}
	for i, name := range s.Table.Header {
		b.Table.Columns = append(b.Table.Columns, Column{Name: name, Number: !s.Table.LeftAligned(i)})
	}
	for i, n := range s.Notes {
		b.Table.Notes = append(b.Table.Notes, fmt.Sprintf("[%d] %s", i+1, n))
	}
	return b
}

func filled(list []Section) []Section {
	return slices.DeleteFunc(list, func(s Section) bool { return len(s.Blocks) == 0 })
}

func slug(s string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() > 40 {
			break
		}
	}
	return strings.Trim(b.String(), "-")
}
