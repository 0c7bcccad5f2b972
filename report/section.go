package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/visible"
)

// Section is a part of what is told to people about a study, a comparison or a history. The terminal and Markdown
// print the same sections, so that both say the same. Texts are as recorded; who prints them makes them harmless.
type Section struct {
	Title string
	// Named sections have a title that begins with a name, whose letters stay as they are.
	Named bool
	// Lines are sentences, Points the items of a list.
	Lines  []string
	Points []string
	Table  *Table
	// Notes belong to the table: the first one is [1] there.
	Notes []string
	// Long sections are folded where that is possible.
	Long bool
}

// Table has columns of text. The first Left and the last Last of them are aligned to the left, the others, which are
// figures, to the right.
type Table struct {
	Header     []string
	Rows       [][]string
	Left, Last int
}

// LeftAligned says whether a column is one of words.
func (t *Table) LeftAligned(column int) bool {
	return column < max(1, t.Left) || column >= len(t.Header)-t.Last
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

// Clean makes a text from a record harmless for a terminal: one line of visible text. Names of levels, messages of servers
// and paths can hold anything.
func Clean(s string) string { return visible.Line(s) }

// escape makes a text stand in Markdown as it is: no markup, no cell border, no mention of a person, no link.
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

// markdown writes sections in the dialect of pull requests.
func markdown(w io.Writer, title string, sections []Section) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "## %s\n", escape(title))
	for i := range sections {
		sections[i].markdown(&b)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (s *Section) markdown(b *bytes.Buffer) {
	if s.Long {
		fmt.Fprintf(b, "\n<details>\n<summary>%s</summary>\n", escape(s.Title))
	} else if s.Title != "" {
		fmt.Fprintf(b, "\n### %s\n", escape(s.Title))
	}
	for _, line := range s.Lines {
		fmt.Fprintf(b, "\n%s\n", lineStart(escape(line)))
	}
	if len(s.Points) > 0 {
		b.WriteByte('\n')
	}
	for _, p := range s.Points {
		fmt.Fprintf(b, "- %s\n", lineStart(escape(p)))
	}
	if s.Table != nil && len(s.Table.Rows) > 0 {
		s.Table.markdown(b)
	}
	if len(s.Notes) > 0 {
		b.WriteByte('\n')
	}
	for i, n := range s.Notes {
		fmt.Fprintf(b, "\\[%d\\] %s  \n", i+1, escape(n))
	}
	if s.Long {
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
