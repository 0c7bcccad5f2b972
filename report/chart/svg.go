package chart

import (
	"html"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/plimsoll-bench/plimsoll/internal/visible"
)

// builder writes SVG. What comes from outside goes through text.
type builder struct{ strings.Builder }

func (b *builder) raw(parts ...string) {
	for _, p := range parts {
		b.WriteString(p)
	}
}

// text writes escaped text; characters that control the terminal or the direction of writing are left out.
func (b *builder) text(s string) { b.WriteString(html.EscapeString(Plain(s))) }

// Plain replaces what is no visible text: control characters, and those that change the direction of writing.
func Plain(s string) string { return visible.Line(s) }

// number writes a coordinate with one decimal.
func number(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return "0"
	}
	x = math.Round(x*10) / 10
	if x == 0 {
		return "0" // never -0
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// Anchors of text.
const (
	left   = "start"
	middle = "middle"
	right  = "end"
)

func (b *builder) label(x, y float64, anchor, class, text string) {
	b.raw(`<text x="`, number(x), `" y="`, number(y), `"`)
	if anchor != left {
		b.raw(` text-anchor="`, anchor, `"`)
	}
	if class != "" {
		b.raw(` class="`, class, `"`)
	}
	b.raw(">")
	b.text(text)
	b.raw("</text>\n")
}

func (b *builder) line(x1, y1, x2, y2 float64, class string) {
	b.raw(`<line x1="`, number(x1), `" y1="`, number(y1), `" x2="`, number(x2), `" y2="`, number(y2), `" class="`, class, "\"/>\n")
}

func (b *builder) rect(x, y, w, h float64, class string) {
	b.raw(`<rect x="`, number(x), `" y="`, number(y), `" width="`, number(max(0, w)), `" height="`, number(max(0, h)), `" class="`, class, "\"/>\n")
}

func (b *builder) path(d, class string) {
	if d != "" {
		b.raw(`<path d="`, d, `" class="`, class, "\"/>\n")
	}
}

// shape draws a mark of a series; each colour has a shape of its own.
func (b *builder) shape(kind int, x, y, r float64, class string) {
	m := func(dx, dy float64) string { return number(x+dx) + " " + number(y+dy) }
	switch kind % 4 {
	case 0:
		b.raw(`<circle cx="`, number(x), `" cy="`, number(y), `" r="`, number(r), `" class="`, class, "\"/>\n")
	case 1:
		b.rect(x-r, y-r, 2*r, 2*r, class)
	case 2:
		b.path("M"+m(0, -r*1.3)+"L"+m(r*1.2, r)+"L"+m(-r*1.2, r)+"Z", class)
	default:
		b.path("M"+m(0, -r*1.4)+"L"+m(r*1.4, 0)+"L"+m(0, r*1.4)+"L"+m(-r*1.4, 0)+"Z", class)
	}
}

// Estimates of how wide a character is at the size of labels, 11 pixels, in the widest of the usual system fonts.
const (
	perChar     = 6.6
	perBoldChar = 7.6
)

// width estimates how wide a text is.
func width(text string) float64 {
	capitals := 0
	for _, r := range text {
		if unicode.IsUpper(r) {
			capitals++
		}
	}
	return perChar * (float64(utf8.RuneCountInString(text)) + 0.3*float64(capitals))
}

// boldWidth is the same for the names of lines and groups.
func boldWidth(text string) float64 { return perBoldChar * float64(utf8.RuneCountInString(text)) }
