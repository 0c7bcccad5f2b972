package chart

import "math"

// Spark is a small line without axes, for a row of a list. Its scale begins at zero.
type Spark struct {
	// Label describes the picture for screen readers.
	Label  string
	Values []float64 // evenly spaced; NaN leaves a gap
	// Measured is the index of the first value that counts; those before it are paler.
	Measured int
	// Marks are moments as indexes of Values, such as an injected fault.
	Marks []float64
	// Dots draws one dot for each value and no line, for values that are no course in time.
	Dots bool
}

// The size of a [Spark] in pixels.
const (
	sparkWidth  = 132.0
	sparkHeight = 30.0
	sparkEdge   = 2.0
)

// Draw returns the line as an <svg> element, "" if there is nothing to draw.
func (s Spark) Draw() string {
	highest := 0.0
	for _, v := range s.Values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			highest = max(highest, v)
		}
	}
	if highest == 0 || len(s.Values) < 2 {
		return ""
	}
	step := (sparkWidth - 2*sparkEdge) / float64(len(s.Values)-1)
	at := func(i float64) float64 { return sparkEdge + i*step }
	height := func(v float64) float64 { return sparkHeight - sparkEdge - v/highest*(sparkHeight-2*sparkEdge) }
	var b builder
	b.raw(`<svg class="spark" viewBox="0 0 `, number(sparkWidth), " ", number(sparkHeight), `" preserveAspectRatio="none" role="img" aria-label="`)
	b.text(s.Label)
	b.raw(`">`)
	b.line(0, sparkHeight-sparkEdge, sparkWidth, sparkHeight-sparkEdge, "gr")
	for _, m := range s.Marks {
		x := max(0, min(at(m), sparkWidth))
		b.line(x, 0, x, sparkHeight-sparkEdge, "hit")
	}
	var before, counted pathBuilder
	drawable := func(i int) bool { return i >= 0 && !math.IsNaN(s.Values[i]) && !math.IsInf(s.Values[i], 0) }
	for i, v := range s.Values {
		if !drawable(i) {
			continue
		}
		x, y := at(float64(i)), height(v)
		if s.Dots {
			b.shape(0, x, y, 1.8, "dot-c0")
			continue
		}
		d := &counted
		if i < s.Measured {
			d = &before
		}
		if !drawable(i - 1) {
			d.move(x, y)
			continue
		}
		if i == s.Measured { // where both meet
			d.move(at(float64(i-1)), height(s.Values[i-1]))
		}
		d.to(x, y)
	}
	b.path(before.String(), "pre")
	b.path(counted.String(), "ln")
	b.raw("</svg>")
	return b.String()
}
