package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// All text of the terminal follows these rules: numbers have three significant digits and their unit in
// the same cell or in the header; words come from the glossary; nothing is shown in colour that is not
// also said in words; tables are aligned with spaces so that they can be pasted anywhere.

// formatDuration prints a time with three significant digits in the unit that fits: ns, µs, ms or s.
func formatDuration(d time.Duration) string {
	switch abs := d.Abs(); {
	case d == 0:
		return "0"
	case abs < time.Microsecond:
		return fmt.Sprintf("%d ns", d.Nanoseconds())
	case abs < time.Millisecond-500*time.Nanosecond:
		return significant(float64(d)/1e3) + " µs"
	case abs < time.Second-500*time.Microsecond:
		return significant(float64(d)/1e6) + " ms"
	case abs < 10*time.Minute:
		return significant(float64(d)/1e9) + " s"
	}
	return d.Round(time.Second).String()
}

// significant prints x with three significant digits and without exponent.
func significant(x float64) string {
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	// Rounding first: 99.95 has one digit more before the point than its logarithm says.
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'e', 2, 64), 64)
	digits := 2 - int(math.Floor(math.Log10(math.Abs(x))))
	if digits <= 0 {
		return groupDigits(strconv.FormatFloat(math.Round(x), 'f', 0, 64))
	}
	return strconv.FormatFloat(x, 'f', digits, 64)
}

// formatCount prints a whole number with separators between groups of three digits.
func formatCount(n int64) string { return groupDigits(strconv.FormatInt(n, 10)) }

// formatRate prints a rate per second: whole numbers from 100 on, three digits below.
func formatRate(x float64) string {
	if math.Abs(x) >= 100 {
		return groupDigits(strconv.FormatFloat(math.Round(x), 'f', 0, 64))
	}
	return significant(x)
}

// formatPercent prints a share of one as a percentage.
func formatPercent(share float64) string {
	switch {
	case share > 0.9995 && share < 1:
		return "99.9+ %"
	case share != 0 && math.Abs(share) < 0.0001:
		return "<0.01 %"
	}
	return significant(share*100) + " %"
}

// formatBytes prints a size in binary units.
func formatBytes(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	x, u := float64(n), 0
	for math.Abs(x) >= 1024 && u < len(units)-1 {
		x, u = x/1024, u+1
	}
	return significant(x) + " " + units[u]
}

// plural prints a number of things.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return formatCount(int64(n)) + " " + thing + "s"
}

func groupDigits(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// table collects rows and prints them with aligned columns: the first one left, the others right.
type table struct {
	rows [][]string
	left int // how many columns are aligned left; the first one always is
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
			if i < max(1, t.left) {
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
