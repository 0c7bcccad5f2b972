package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
)

// All text of the terminal follows these rules: numbers have three significant digits and their unit in
// the same cell or in the header; words come from the glossary; nothing is shown in colour that is not
// also said in words; tables are aligned with spaces so that they can be pasted anywhere.

// How numbers are written is decided in one place for the terminal and the pages.
var (
	formatDuration = figure.Duration
	formatCount    = figure.Count
	formatRate     = figure.Rate
	formatPercent  = figure.Percent
	formatBytes    = figure.Bytes
	significant    = figure.Significant
	plural         = figure.Plural
)

// table collects rows and prints them with aligned columns: the first one left, the others right.
type table struct {
	rows [][]string
	left int // how many columns are aligned left; the first one always is
	last int // how many columns at the end are
}

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

// write prints the table with every line indented.
func (t *table) write(w io.Writer, indent string) {
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range t.rows {
		var line strings.Builder
		line.WriteString(indent)
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i > 0 {
				line.WriteString("  ")
			}
			if i < max(1, t.left) || i >= len(widths)-t.last {
				line.WriteString(cell + pad)
			} else {
				line.WriteString(pad + cell)
			}
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}

// wrap breaks text into lines of at most width columns; the later ones are indented by more than that.
func wrap(text string, width int, indent string) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		if i > 0 && column+1+n > width {
			b.WriteString("\n" + indent)
			column = 0
		} else if i > 0 {
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}
