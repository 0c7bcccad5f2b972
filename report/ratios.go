package report

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// Ratios are a picture on one logarithmic axis: for each row what another source states and what was measured.
type Ratios struct {
	Title string
	// Note says what the marks mean.
	Note string
	// Axis says what the ratios are, and Reference what a ratio of one is.
	Axis, Reference string
	Rows            []Ratio
}

// Ratio is a row of [Ratios]. Numbers that are not known are NaN.
type Ratio struct {
	// Group is a heading where it changes.
	Group, Name string
	// Stated is the value of another source; Value was measured, with its interval from Low to High.
	Stated, Value, Low, High float64
	Grade                    Grade
	// Partly marks a row that is not all that its grade says, such as a ratio of the same direction only.
	Partly bool
	// Text is at the end of the row; Note has its numbers in words.
	Text, Note string
}

// textColumns is how wide the axis of a figure is on a terminal.
const textColumns = 40

// Lines draw the figure as text: ◇ is the stated value, ● the measured one, = its interval, and | a ratio of one.
func (f *Ratios) Lines() []string {
	low, high, name := 1.0, 1.0, 0
	for _, r := range f.Rows {
		name = max(name, utf8.RuneCountInString(r.Name))
		for _, x := range []float64{r.Stated, r.Value, r.Low, r.High} {
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
	for i, r := range f.Rows {
		if r.Group != "" && (i == 0 || f.Rows[i-1].Group != r.Group) {
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
		}{{r.Stated, '◇'}, {r.Value, '●'}} {
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
