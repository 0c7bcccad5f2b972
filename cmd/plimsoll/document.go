package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/shellword"
	"github.com/plimsoll-bench/plimsoll/report"
)

const (
	textWidth   = 100 // columns of running text where there is no terminal
	screenWidth = 80  // columns of a first screen where there is no terminal
	widest      = 140 // columns of running text of documents, at most
	screenLines = 24  // lines of a first screen
	mostDoubts  = 3   // findings on a first screen
)

// screen is what documents are printed on.
type screen struct {
	columns int
	colour  bool
	command string // the command that prints on it, with --verbose; "" if it is not known
}

// screenOf is the screen of a writer: that of an outlet, or one without a terminal, which has so many columns.
func screenOf(w io.Writer, columns int) (s screen) {
	if o, ok := w.(*outlet); ok {
		s = o.screen
	}
	if s.columns <= 0 {
		s.columns = columns
	}
	return s
}

// styles are the colours of grades, as parameters of the escape sequence SGR.
var styles = map[report.Grade]string{report.Good: "32", report.Warn: "33", report.Bad: "31"}

const (
	bold  = "1"
	faint = "2"
)

// printer prints a document. It removes control characters from texts of records.
type printer struct {
	screen
	command string // that prints this, "" if there is none
	lines   [][]span
}

// span is a part of a line in one style.
type span struct{ style, text string }

// writeDocument prints a document: its first screen, or everything. A document without an answer is printed completely.
func writeDocument(w io.Writer, d *report.Document, everything bool) error {
	p := &printer{screen: screenOf(w, screenWidth)}
	if o, ok := w.(*outlet); ok {
		p.command = o.command
	}
	if everything || d.Answer == "" {
		p.screen = screenOf(w, textWidth)
		p.everything(d)
	} else {
		p.first(d)
	}
	for _, line := range p.lines {
		for _, s := range append(line, span{text: "\n"}) {
			if err := p.write(w, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// write writes a span. Escape sequences go past the outlet, texts through it.
func (p *printer) write(w io.Writer, s span) error {
	begin, end := "", ""
	if p.colour && s.style != "" {
		begin, end = "\x1b["+s.style+"m", "\x1b[0m"
	}
	for _, part := range []struct {
		to   io.Writer
		text string
	}{{direct(w), begin}, {w, s.text}, {direct(w), end}} {
		if part.text == "" {
			continue
		}
		if _, err := io.WriteString(part.to, part.text); err != nil {
			return err
		}
	}
	return nil
}

func (p *printer) line(spans ...span) { p.lines = append(p.lines, spans) }

// blank adds an empty line, unless there is one already.
func (p *printer) blank() {
	if n := len(p.lines); n > 0 && len(p.lines[n-1]) > 0 {
		p.line()
	}
}

// text adds running text of a record behind a prefix, in as many lines as it takes, or at most so many. Later lines are
// indented by the width of the prefix and by hang.
func (p *printer) text(style, prefix, text string, hang, most int) {
	indent := utf8.RuneCountInString(prefix) + hang
	width := min(p.columns, widest) - indent
	lines := strings.Split(wrap(report.Clean(text), width, strings.Repeat(" ", indent)), "\n")
	if most > 0 && len(lines) > most {
		last := clipped(strings.TrimSpace(lines[most-1])+" "+strings.Repeat("x", width), width)
		lines = append(lines[:most-1], strings.Repeat(" ", indent)+last)
		if most == 1 {
			lines[0] = last
		}
	}
	for i, line := range lines {
		if i == 0 && prefix != "" {
			p.line(span{style, prefix}, span{style, line})
			continue
		}
		p.line(span{style, line})
	}
}

// clipped is the beginning of a text that has room in a width, without breaking a word.
func clipped(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	short := ""
	for _, word := range withUnits(text) {
		next := strings.TrimSpace(short + " " + word)
		if utf8.RuneCountInString(next)+2 > width && short != "" {
			break
		}
		short = next
	}
	if short == text { // one word
		return text
	}
	if at := strings.LastIndex(short, " ("); at > 0 && !strings.Contains(short[at:], ")") {
		short = short[:at]
	}
	return short + " …"
}

// first prints the first screen: the answer, how sure it is, the worst findings, a small table and the next command.
func (p *printer) first(d *report.Document) {
	p.head(d, 3)
	if d.Problem != "" {
		p.text(styles[report.Bad], "  ", d.Problem, 0, 2)
	}
	if d.Title != d.Answer {
		p.blank()
		p.text(faint, "", d.Title, 2, 2)
	}
	p.blank()
	for _, doubt := range d.Short[:min(mostDoubts, len(d.Short))] {
		p.point(doubt, 1)
	}
	if n := len(d.Short) - mostDoubts; n > 0 {
		p.text("", "  ", "and "+figure.Plural(n, "more finding")+": add --verbose", 0, 1)
	}
	next := &printer{screen: p.screen, command: p.command}
	next.next(d)
	if d.Summary != nil && len(d.Summary.Rows) > 0 {
		p.blank()
		p.summary(d.Summary, screenLines-len(p.lines)-len(next.lines)-1)
	}
	p.blank()
	p.lines = append(p.lines, next.lines...)
}

// head prints the answer in at most so many lines, if any, and how sure it is.
func (p *printer) head(d *report.Document, most int) {
	if d.Answer == "" {
		return
	}
	style, sign := bold, report.Point{Grade: d.Grade}.Sign()
	if colour := styles[d.Grade]; colour != "" {
		style += ";" + colour
	}
	if sign == "" {
		sign = "·"
	}
	p.text(style, sign+" ", d.Answer, 0, most)
	if d.Sure != "" {
		p.text("", "  ", d.Sure, 0, min(most, 2))
	}
	if d.Where != "" {
		p.text("", "  ", d.Where, 0, min(most, 2))
	}
}

// point prints a point in at most so many lines, if any.
func (p *printer) point(x report.Point, most int) {
	text := x.Text
	if x.Mark != "" {
		text = x.Mark + " " + text
	}
	n := len(p.lines)
	p.text("", x.Sign()+" ", text, 0, most)
	p.lines[n][0].style = styles[x.Grade]
}

// next prints the next command and what it is for: that of the document, or else the one that prints all of it.
func (p *printer) next(d *report.Document) {
	next := d.Next
	switch all := "all findings, settings and tables"; {
	case next.Command != "":
	case d.Record != "":
		next = report.Next{Command: "plimsoll show " + shellword.Quote(d.Record) + " --verbose", Why: all}
	case p.command != "":
		next = report.Next{Command: p.command + " --verbose", Why: all}
	default:
		return
	}
	p.line(span{text: nextLine(report.Clean(next.Command), report.Clean(next.Why), p.columns)})
}

// nextLine is a command to run next, and what it is for if the line has room. A command is not wrapped, because it is
// copied.
func nextLine(command, why string, columns int) string {
	line := "next  " + command
	if why = "  # " + why; why != "  # " && utf8.RuneCountInString(line+why) <= columns {
		line += why
	}
	return line
}

// nextStep prints a command to run next behind a result that is no document.
func nextStep(w io.Writer, command, why string) {
	fmt.Fprintf(w, "\n%s\n", nextLine(command, why, screenOf(w, textWidth).columns))
}

// summary prints a table in at most so many lines: without the columns that have no room, which are the last ones.
func (p *printer) summary(t *report.Table, most int) {
	if n := len(t.Rows); n > most-1 {
		rest := *t
		rest.Rows = t.Rows[:max(1, most-2)]
		p.summary(&rest, most)
		p.text("", "  ", fmt.Sprintf("and %s: add --verbose", figure.Plural(n-len(rest.Rows), "more row")), 0, 1)
		return
	}
	for columns := len(t.Header); columns > 0; columns-- {
		part := cells(t, columns)
		// The last column of words may be clipped, if a few words have room.
		if words := columns == len(t.Header) && t.LeftAligned(columns-1) && columns > 1; words {
			room := p.columns - part.width() + part.widths()[columns-1]
			for _, row := range part.rows {
				if room >= 16 {
					row[columns-1] = clipped(row[columns-1], room)
				}
			}
		}
		if part.width() <= p.columns || columns == 1 {
			p.table(part)
			return
		}
	}
}

// cells are the first columns of a table with its header.
func cells(t *report.Table, columns int) *table {
	of := &table{left: t.Left, last: max(0, t.Last-(len(t.Header)-columns))}
	for _, row := range append([][]string{t.Header}, t.Rows...) {
		list := make([]string, columns)
		for i := range list {
			if i < len(row) {
				list[i] = report.Clean(row[i])
			}
		}
		of.row(list...)
	}
	return of
}

func (p *printer) table(t *table) {
	var b strings.Builder
	t.write(&b, "")
	for line := range strings.Lines(b.String()) {
		p.line(span{text: strings.TrimSuffix(line, "\n")})
	}
}

// everything prints a document: its head, findings with their texts, facts, then sections.
func (p *printer) everything(d *report.Document) {
	p.head(d, 0)
	if d.Title != d.Answer {
		p.blank()
		p.text("", "", d.Title, 2, 0)
	}
	width := 10
	for _, f := range d.Facts {
		width = max(width, utf8.RuneCountInString(f.Name))
	}
	if d.Problem != "" || len(d.Objectives)+len(d.Findings) > 0 {
		p.blank()
	}
	p.facts(report.Facts("problem", d.Problem), width)
	for _, x := range slices.Concat(d.Objectives, d.Findings) {
		p.point(x, 0)
	}
	if facts := d.AllFacts(); len(facts) > 0 {
		p.blank()
		p.facts(facts, width)
	}
	if f := d.Drawn; f != nil && f.Lines() != nil {
		p.heading(f.Chart.About().Title)
		for _, line := range f.Lines() {
			p.line(span{text: report.Clean(line)})
		}
		p.text("", "", f.Note, 2, 0)
	}
	for i := range d.Sections {
		if s := &d.Sections[i]; !s.Appendix {
			p.section(s, width)
		}
	}
	if end := report.Facts("record", d.Record, "next", d.Next.Command); len(end) > 0 {
		p.blank()
		p.facts(end, width)
	}
}

func (p *printer) heading(title string) {
	p.blank()
	if title = report.Clean(title); title != "" {
		p.line(span{bold, title})
		p.line(span{faint, strings.Repeat("-", utf8.RuneCountInString(title))})
	}
}

// facts prints names and values in two columns.
func (p *printer) facts(list []report.Fact, width int) {
	for _, f := range list {
		p.text("", fmt.Sprintf("%-*s  ", width, f.Name), f.Value, 0, 0)
	}
}

func (p *printer) section(s *report.Section, width int) {
	p.heading(s.Heading())
	for _, line := range s.Lines {
		p.text("", "", line, 2, 0)
	}
	for _, x := range s.Points {
		p.point(x, 0)
	}
	p.facts(s.Facts, width)
	if s.Table != nil && len(s.Table.Rows) > 0 {
		narrow := s.Table.Narrow()
		p.table(cells(narrow, len(narrow.Header)))
	}
	if s.Code != nil { // it is copied, so its lines stay whole
		p.text("", "", s.Code.Label+":", 2, 0)
		for _, line := range s.Code.Lines() {
			p.line(span{text: "  " + line})
		}
	}
	for i, n := range s.Notes {
		p.text("", fmt.Sprintf("[%d] ", i+1), n, 0, 0)
	}
}
