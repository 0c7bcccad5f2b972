package html

import (
	"fmt"
	"html/template"
	"strings"
	"unicode"

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
	Points  []Point
	Facts   []Fact
	Tiles   []Tile
	Figure  *Figure
	Table   *Table
	Code    *Code
}

// Point is an item of a list with a mark before it: "good", "bad", "warn" or "note", and the mark's own words.
type Point struct {
	Kind, Mark, Text string
}

// Fact is a name and a value.
type Fact struct{ Name, Value string }

// Tile is a figure that a reader looks for first, with what it means below.
type Tile struct{ Name, Value, Note string }

// Code is text to copy.
type Code struct{ Label, Text string }

// Table has columns of text. Number columns are aligned to the right.
type Table struct {
	Caption string
	Columns []Column
	Rows    [][]string
	Notes   []string
	// Folded tables are shown when they are asked for; the caption of Quiet ones repeats a heading and is not shown.
	Folded bool
	Quiet  bool
	// Charted tables have the numbers of charts that stand before them.
	Charted bool
}

// mostPrinted is how many rows a folded table may have to be printed; more than some sheets help nobody.
const mostPrinted = 150

// Class says what becomes of a folded table on paper: the numbers of charts are left out, and of a long one its name
// is printed, with where it is.
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
	// Zoom is set where a script may draw the chart anew to look closer.
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

// newFigure draws a chart.
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

// shared turns a section that the terminal and Markdown print into one of a page.
func shared(s report.Section) Section {
	b := Block{Lines: s.Lines}
	title := capital(s.Title)
	if s.Named {
		title = s.Title
	}
	for _, p := range s.Points {
		b.Points = append(b.Points, pointOf(p))
	}
	if s.Table != nil && len(s.Table.Rows) > 0 {
		b.Table = &Table{Caption: title, Columns: columns(max(1, s.Table.Left), s.Table.Header...), Rows: s.Table.Rows, Folded: s.Long, Quiet: true}
		for i := max(0, len(b.Table.Columns)-s.Table.Last); i < len(b.Table.Columns); i++ {
			b.Table.Columns[i].Number = false
		}
		for i, n := range s.Notes {
			b.Table.Notes = append(b.Table.Notes, fmt.Sprintf("[%d] %s", i+1, n))
		}
	}
	return Section{ID: slug(s.Title), Title: title, Blocks: []Block{b}}
}

// pointOf takes the severity of a finding from the front of its sentence.
func pointOf(text string) Point {
	for word, kind := range map[string]string{"invalid ": "bad", "warning ": "warn", "note ": "note"} {
		if rest, ok := strings.CutPrefix(text, word); ok {
			return Point{Kind: kind, Mark: strings.TrimSpace(word), Text: rest}
		}
	}
	return Point{Kind: "note", Text: text}
}

// filled leaves out sections that have nothing to show.
func filled(list []Section) []Section {
	var kept []Section
	for _, s := range list {
		if len(s.Blocks) > 0 {
			kept = append(kept, s)
		}
	}
	return kept
}

func capital(s string) string {
	for i, r := range s {
		return string(unicode.ToUpper(r)) + s[i+len(string(r)):]
	}
	return s
}

// slug makes an id out of a title.
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
	return "s-" + strings.Trim(b.String(), "-")
}
