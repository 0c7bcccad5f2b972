package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/plimsoll-bench/plimsoll/internal/expression"
	"github.com/plimsoll-bench/plimsoll/internal/visible"
)

// All text of the terminal follows these rules: numbers have three significant digits and a unit in the same cell or in
// the header; words come from the glossary; colour never carries information alone; tables are aligned with spaces so
// that they can be pasted.

// table prints rows with aligned columns: the first one left, the others right.
type table struct {
	rows [][]string
	left int // number of left-aligned columns at the beginning; at least 1
	last int // number of left-aligned columns at the end
}

// row adds a row. What comes from outside stays in its line.
func (t *table) row(cells ...string) {
	for i, c := range cells {
		cells[i] = visible.Line(c)
	}
	t.rows = append(t.rows, cells)
}

// widths are those of the columns.
func (t *table) widths() (widths []int) {
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// width is that of the longest line.
func (t *table) width() int {
	sum := -2
	for _, w := range t.widths() {
		sum += w + 2
	}
	return sum
}

func (t *table) write(w io.Writer, indent string) {
	widths := t.widths()
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

// withUnits returns the pieces of a text between which a line may end: a figure stays with its unit.
func withUnits(text string) []string {
	var list []string
	for _, word := range strings.Fields(text) {
		if n := len(list); n > 0 && isUnit().MatchString(word) && endsInFigure().MatchString(list[n-1]) {
			list[n-1] += " " + word
			continue
		}
		list = append(list, word)
	}
	return list
}

var (
	isUnit       = expression.New(`^(%|pp|[nµm]?s|min|h|d|days?|hours?|minutes?|seconds?|[KMGT]i?B|B|ops/s|ok/s|ops/s/node|x|times|EUR|USD)[.,;:)]*$`)
	endsInFigure = expression.New(`(^|[^\pL\d])[0-9]([0-9.,]*[0-9])?$`)
)

// wrap breaks text into lines of at most width columns, plus indent for all but the first.
func wrap(text string, width int, indent string) string {
	var b strings.Builder
	column := 0
	for i, word := range withUnits(text) {
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
