// Package chart draws charts as inline SVG: lines and points, rows with intervals, heatmaps. Everything that a
// reader needs is in the picture: units and the number of values on the axes, names beside the lines instead of a
// legend, line styles and shapes besides colours, a title and a description for those who cannot see it.
//
// It knows numbers and their units, not what was measured; it reads no record. Colours come from the style sheet of
// the page, by the classes that docs of [Style] and [Series] name, so that light, dark and print differ there only.
package chart

import (
	"fmt"
	"html"
	"strings"
)

// Size is the size of a chart in CSS pixels. A phone gets its own drawing, because text that is scaled down cannot be
// read.
type Size struct {
	Name  string // a class of the style sheet: "wide" or "narrow"
	Width float64
}

// Wide and Narrow are the sizes of a screen and of a phone.
var (
	Wide   = Size{Name: "wide", Width: 760}
	Narrow = Size{Name: "narrow", Width: 350}
)

func (s Size) narrow() bool { return s.Width < 500 }

// Frame is common to all charts.
type Frame struct {
	// ID is unique in a page; the ids of title and description are made of it.
	ID string
	// Title says what is shown, Description what a person who sees the chart would take from it.
	Title       string
	Description string
}

// Chart is anything that can be drawn.
type Chart interface {
	// Draw returns an <svg> element. It is safe to put into a page: all text in it is escaped.
	Draw(s Size) string
	// About returns the frame.
	About() *Frame
}

func (f *Frame) About() *Frame { return f }

// Style is how a line is drawn; what matters must never hang on colour alone.
type Style int

const (
	// Solid is for what counts (class "ln").
	Solid Style = iota
	// Dashed is for secondary lines, such as service time with response time (class "ln dash").
	Dashed
	// Dotted is for what was not measured, such as an extrapolation (class "ln dot").
	Dotted
	// Points has no line.
	Points
)

func (s Style) class() string {
	return [...]string{"ln", "ln dash", "ln dot", ""}[max(0, min(int(s), 3))]
}

// Both draws a chart in both sizes; the style sheet shows one of them.
func Both(c Chart) string { return c.Draw(Wide) + c.Draw(Narrow) }

func (f Frame) start(b *builder, s Size, height float64) {
	id := html.EscapeString(Plain(f.ID + "-" + s.Name))
	fmt.Fprintf(b, `<svg class="chart %[1]s" viewBox="0 0 %[2]s %[3]s" role="img" aria-labelledby="%[4]s-t" aria-describedby="%[4]s-d"><title id="%[4]s-t">`,
		s.Name, number(s.Width), number(height), id)
	b.text(f.Title)
	fmt.Fprintf(b, `</title><desc id="%s-d">`, id)
	b.text(f.Description)
	b.raw("</desc>\n")
}

// Shorten cuts a text to so many characters, with an ellipsis for the rest.
func Shorten(text string, most int) string {
	r := []rune(text)
	if len(r) <= most {
		return text
	}
	return strings.TrimRight(string(r[:max(1, most-1)]), " ") + "…"
}
