package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/visible"
)

// Section is a part of a document: lines, points, facts and a table under a heading. Texts are as recorded; who prints
// them makes them harmless.
type Section struct {
	// ID identifies it in its document; if empty, its title does.
	ID string
	// Group puts sections together: a page has them under one heading.
	Group string
	Title string
	// Named sections have a title that begins with a name, whose letters stay as they are.
	Named bool
	// Lead is a sentence below the heading.
	Lead string
	// Lines are sentences, Points the items of a list.
	Lines  []string
	Points []Point
	Facts  []Fact
	Tiles  []Tile
	// Figures are drawn before the rest of the section.
	Figures []*Figure
	Table   *Table
	// Notes belong to the table: the first one is [1] there.
	Notes []string
	Code  *Code
	// Question is a form that predicts.
	Question *Question
	// Track is the data of the figures over time, nil if they cannot be zoomed.
	Track *Track
	// Parts are sections below the heading. Those of a Folded section are closed at first, and opened by these words.
	Parts  []Section
	Folded string
	// Long sections are folded where that is possible.
	Long bool
	// Appendix sections have the settings and the specification. They are folded. The terminal, where they were given,
	// does not print them.
	Appendix bool
}

// Heading is the title behind that of its group.
func (s *Section) Heading() string {
	if s.Group == "" || s.Title == "" {
		return s.Group + s.Title
	}
	return s.Group + ": " + s.Title
}

// nthID is the ID of one of several sections of the same sort.
func nthID(sort string, i int) string { return sort + "-" + strconv.Itoa(i+1) }

func (s *Section) filled() bool {
	return len(s.Lines)+len(s.Points)+len(s.Facts)+len(s.Tiles)+len(s.Figures)+len(s.Parts) > 0 ||
		s.Table != nil && len(s.Table.Rows) > 0 || s.Code != nil || s.Question != nil
}

// draw adds figures of which there is anything to draw, unless the section has nothing.
func (s *Section) draw(list ...*Figure) {
	if s.filled() {
		s.Figures = figures(list...)
	}
}

func appendFilled(list []Section, more ...Section) []Section {
	for _, s := range more {
		if s.filled() {
			list = append(list, s)
		}
	}
	return list
}

// Table has columns of text. The first Left and the last Last of them are aligned to the left, the others, which are
// figures, to the right. The first one is aligned to the left unless Left is -1.
type Table struct {
	// Caption is that of a table with a name of its own; the others have that of their section.
	Caption    string
	Header     []string
	Rows       [][]string
	Left, Last int
	// Wide are columns that only a page has room for.
	Wide []int
	// Notes are below the table.
	Notes []string
	// Folded tables are closed at first; the caption of Quiet ones repeats a heading and is not shown.
	Folded, Quiet bool
	// Charted tables have the numbers of the figures before them.
	Charted bool
}

// Code is text to copy.
type Code struct{ Label, Text string }

// Lines are the lines of the text, harmless for a terminal.
func (c *Code) Lines() []string { return strings.Split(visible.Lines(c.Text), "\n") }

// Narrow is the table without its wide columns.
func (t *Table) Narrow() *Table {
	if len(t.Wide) == 0 {
		return t
	}
	narrow := func(cells []string) (kept []string) {
		for i, cell := range cells {
			if !slices.Contains(t.Wide, i) {
				kept = append(kept, cell)
			}
		}
		return kept
	}
	n := &Table{Header: narrow(t.Header), Left: t.Left, Last: t.Last}
	for _, c := range t.Wide {
		if c < t.Left {
			n.Left--
		} else if c >= len(t.Header)-t.Last {
			n.Last--
		}
	}
	for _, row := range t.Rows {
		n.Rows = append(n.Rows, narrow(row))
	}
	return n
}

// LeftAligned says whether a column is one of words.
func (t *Table) LeftAligned(column int) bool {
	left := t.Left
	if left == 0 {
		left = 1
	}
	return column < left || column >= len(t.Header)-t.Last
}

// dropEmpty removes the columns, the first one excepted, that have no value in any row.
func (t *Table) dropEmpty() {
	for c := len(t.Header) - 1; c > 0; c-- {
		if slices.ContainsFunc(t.Rows, func(row []string) bool { return strings.Trim(row[c], "-–") != "" }) {
			continue
		}
		switch {
		case c < t.Left:
			t.Left--
		case c >= len(t.Header)-t.Last:
			t.Last--
		}
		t.Header = slices.Delete(t.Header, c, c+1)
		for i := range t.Rows {
			t.Rows[i] = slices.Delete(t.Rows[i], c, c+1)
		}
		t.Wide = slices.DeleteFunc(t.Wide, func(w int) bool { return w == c })
		for i := range t.Wide {
			if t.Wide[i] > c {
				t.Wide[i]--
			}
		}
	}
}

func (t *Table) row(cells ...string) { t.Rows = append(t.Rows, cells) }

// note returns the mark of a note, which is added unless it is there already.
func (s *Section) note(text string) string {
	if text == "" {
		return ""
	}
	for i, have := range s.Notes {
		if have == text {
			return fmt.Sprintf("[%d]", i+1)
		}
	}
	s.Notes = append(s.Notes, text)
	return fmt.Sprintf("[%d]", len(s.Notes))
}

// Clean makes a text from a record harmless for a terminal: one line of visible text. Names of levels, messages of
// servers and paths can hold anything.
func Clean(s string) string { return visible.Line(s) }

// escape quotes a text for Markdown: no markup, no cell border, no mention of a person, no link.
func escape(s string) string {
	var b strings.Builder
	for _, r := range Clean(s) {
		switch {
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '&':
			b.WriteString("&amp;")
		case r == '@' || r == '#':
			b.WriteRune(r)
			b.WriteString("<!-- -->") // keeps it from being read as the name of a person or of an issue
		case strings.ContainsRune("\\`*_{}[]|~", r):
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return strings.ReplaceAll(b.String(), "://", ":<!-- -->//")
}

// Markdown writes a document in the dialect of pull requests.
func (d *Document) Markdown(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "## %s\n", escape(d.Title))
	for _, s := range append(d.head(), d.Sections...) {
		s.markdown(&b)
	}
	for _, p := range d.Parts {
		if p.Document == nil {
			continue
		}
		for _, s := range append(p.Document.head(), p.Document.Sections...) {
			s.Group, s.Title, s.Long = p.Name, cmp.Or(s.Heading(), "result"), true
			s.markdown(&b)
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// head are the sections that say in Markdown what a page says first.
func (d *Document) head() []Section {
	first := Section{}
	if d.Answer != d.Title {
		first.Lines = append(first.Lines, d.Answer)
	}
	for _, f := range Facts("sure", d.Sure, "where", d.Where, "problem", d.Problem, "next", d.Next.Command) {
		first.Lines = append(first.Lines, f.Name+": "+f.Value)
	}
	first.Lines = slices.DeleteFunc(first.Lines, func(s string) bool { return s == "" })
	return appendFilled([]Section{first}, Section{Title: "objectives", Points: d.Objectives}, Section{Title: "findings", Points: d.Findings},
		Section{Title: "details", Facts: d.AllFacts()})
}

func (s *Section) markdown(b *bytes.Buffer) {
	heading := s.Heading()
	folded := s.Long || s.Appendix
	if folded {
		fmt.Fprintf(b, "\n<details>\n<summary>%s</summary>\n", escape(heading))
	} else if heading != "" {
		fmt.Fprintf(b, "\n### %s\n", escape(heading))
	}
	for _, line := range s.Lines {
		fmt.Fprintf(b, "\n%s\n", lineStart(escape(line)))
	}
	if len(s.Points)+len(s.Facts) > 0 {
		b.WriteByte('\n')
	}
	for _, p := range s.Points {
		fmt.Fprintf(b, "- %s\n", lineStart(escape(p.String())))
	}
	for _, f := range s.Facts {
		fmt.Fprintf(b, "- %s\n", lineStart(escape(f.Name+": "+f.Value)))
	}
	if s.Table != nil && len(s.Table.Rows) > 0 {
		s.Table.Narrow().markdown(b)
	}
	if s.Code != nil {
		fmt.Fprintf(b, "\n%s:\n\n", lineStart(escape(s.Code.Label)))
		for _, line := range s.Code.Lines() {
			fmt.Fprintf(b, "    %s\n", line)
		}
	}
	if len(s.Notes) > 0 {
		b.WriteByte('\n')
	}
	for i, n := range s.Notes {
		fmt.Fprintf(b, "\\[%d\\] %s  \n", i+1, escape(n))
	}
	if folded {
		b.WriteString("\n</details>\n")
	}
}

// lineStart keeps a line from being read as a list, a heading or a rule by its first character.
func lineStart(s string) string {
	if s != "" && strings.ContainsRune("+-=", rune(s[0])) {
		return `\` + s
	}
	if digits := strings.TrimLeft(s, "0123456789"); digits != s && strings.HasPrefix(digits, ".") {
		return s[:len(s)-len(digits)] + `\` + digits
	}
	return s
}

func (t *Table) markdown(b *bytes.Buffer) {
	line := func(cells []string) {
		b.WriteByte('|')
		for i := range t.Header {
			cell := ""
			if i < len(cells) {
				cell = escape(cells[i])
			}
			fmt.Fprintf(b, " %s |", cell)
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	line(t.Header)
	b.WriteByte('|')
	for i := range t.Header {
		if t.LeftAligned(i) {
			b.WriteString(" --- |")
		} else {
			b.WriteString(" ---: |")
		}
	}
	b.WriteByte('\n')
	for _, row := range t.Rows {
		line(row)
	}
}
