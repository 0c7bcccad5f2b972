package chart

import (
	"cmp"
	"math"
)

// Rows draws one row per thing: a bar from zero or a dot, with its interval and its value in words. Rows have room
// for long names, on a phone as well.
type Rows struct {
	Frame
	X    Axis
	Rows []Row
	// Reference is a vertical line, such as a ratio of one; NaN or 0 for none. Band is drawn around it.
	Reference     float64
	ReferenceText string
	BandLow       float64
	BandHigh      float64
	// Dots draws dots instead of bars, for values of which zero is no part.
	Dots bool
	// Dense rows are close together, for pictures of many.
	Dense bool
}

// Row is one thing. Its colour is part of its classes.
type Row struct {
	Name  string
	Group string // a heading is drawn where it changes
	// Value, Low and High may be NaN.
	Value, Low, High float64
	// From is where a bar begins.
	From float64
	// Text is at the end of the row, such as "12,300 ± 2 %, n = 5".
	Text   string
	Colour int
	Hollow bool
	// Published is a figure of another source, drawn as a diamond; NaN for none.
	Published float64
	// Class replaces the colour of a dot: "good", "warn", "bad" or "note".
	Class string
	// Note is shown when a pointer rests on the row.
	Note string
}

// The height of a row, and of a dense one.
const (
	rowHeight   = 22
	denseHeight = 15
)

// rowsLayout is the layout of a drawing of rows.
type rowsLayout struct {
	x           scale
	left, right float64 // of the plot
	under       bool    // names are above their bars, because there is no room on the left
	step        float64
}

func (c *Rows) layout(s Size) rowsLayout {
	l := rowsLayout{left: 20, right: s.Width - 8, step: rowHeight}
	if c.Dense {
		l.step = denseHeight
	}
	name, text := 0.0, 0.0
	values := []float64{}
	for _, r := range c.Rows {
		name, text = max(name, width(r.Name)+12, min(boldWidth(r.Group)+8, s.Width/4)), max(text, width(r.Text)+14)
		values = append(values, r.Value, r.Low, r.High)
		if r.Published != 0 {
			values = append(values, r.Published)
		}
	}
	if c.Reference != 0 {
		values = append(values, c.Reference)
	}
	if c.BandHigh != 0 {
		values = append(values, c.BandLow, c.BandHigh)
	}
	if c.Dense && !s.narrow() { // names are cut instead
		name = min(name, s.Width*0.45)
	}
	if l.under = s.narrow() || !c.Dense && name+text > s.Width*0.62; l.under {
		l.step, l.left, l.right = 2*lineHeight+12, 12, s.Width-12
	} else {
		l.left, l.right = max(name, 60), s.Width-text
	}
	axis := c.X
	axis.Zero = axis.Zero || !c.Dots
	l.x = newScale(axis, l.left, l.right, values)
	return l
}

func (c *Rows) Draw(s Size) string {
	var b builder
	l := c.layout(s)
	y, groups := 8.0, 0
	for i, r := range c.Rows {
		if r.Group != "" && (i == 0 || c.Rows[i-1].Group != r.Group) {
			groups++
		}
	}
	if c.ReferenceText != "" {
		y += 14
	}
	heading := min(l.step+6, rowHeight)
	bottom := y + float64(len(c.Rows))*l.step + float64(groups)*heading
	c.start(&b, s, bottom+42)
	c.axis(&b, s, l, y, bottom)
	for i, r := range c.Rows {
		if r.Group != "" && (i == 0 || c.Rows[i-1].Group != r.Group) {
			b.label(0, y+heading-7, left, "gh", Shorten(r.Group, int(s.Width/perBoldChar)))
			y += heading
		}
		c.row(&b, s, l, r, y)
		y += l.step
	}
	b.raw("</svg>\n")
	return b.String()
}

func (c *Rows) axis(b *builder, s Size, l rowsLayout, top, bottom float64) {
	b.raw(`<g class="axis">`, "\n")
	if c.BandHigh > c.BandLow {
		from, to := l.x.clamp(l.x.at(c.BandLow)), l.x.clamp(l.x.at(c.BandHigh))
		b.rect(from, top, to-from, bottom-top, "span")
	}
	b.ticks(s, l.x, 7, bottom, func(x float64) { b.line(x, top, x, bottom, "gr") })
	b.line(l.left, bottom, l.right, bottom, "ax")
	if c.Reference != 0 && l.x.in(c.Reference) {
		x := l.x.at(c.Reference)
		b.line(x, top-2, x, bottom, "limit")
		if c.ReferenceText != "" {
			half := width(c.ReferenceText) / 2
			b.label(max(half, min(x, s.Width-half)), top-6, middle, "lt", c.ReferenceText)
		}
	}
	from := min(l.left, 60)
	if s.narrow() {
		from = 0
	}
	b.label(from, bottom+36, left, "at", Shorten(c.X.Label, int((s.Width-from)/perChar)))
	b.raw("</g>\n")
}

func (c *Rows) row(b *builder, s Size, l rowsLayout, r Row, y float64) {
	class := cmp.Or(r.Class, colour(r.Colour))
	mid := y + min(l.step, rowHeight)/2
	if r.Note != "" {
		b.raw("<g><title>")
		b.text(r.Note)
		b.raw("</title>\n")
		defer b.raw("</g>\n")
	}
	text := ""
	if r.Class != "" {
		text = "t-" + r.Class
	}
	if l.under {
		b.label(0, y+11, left, "rn", Shorten(r.Name, int((s.Width-width(r.Text)-10)/perChar)))
		b.label(s.Width, y+11, right, text, r.Text)
		mid = y + lineHeight + 11
	} else {
		b.label(l.left-8, mid+4, right, "rn", Shorten(r.Name, max(8, int((l.left-8)/perChar))))
		b.label(s.Width, mid+4, right, text, r.Text)
	}
	if l.x.drawable(r.Value) {
		x := l.x.clamp(l.x.at(r.Value))
		switch zero := l.x.clamp(l.x.at(r.From)); {
		case c.Dots:
			filled := "dot-" + class
			if r.Hollow {
				filled = "ring " + class
			}
			b.shape(r.Colour, x, mid, 4, filled)
		case r.Hollow:
			b.rect(min(zero, x), mid-6, math.Abs(x-zero), 12, "ring "+class)
		default:
			b.rect(min(zero, x), mid-6, math.Abs(x-zero), 12, "bar-"+class)
		}
	}
	c.interval(b, l, r, mid)
	if r.Published != 0 && l.x.drawable(r.Published) {
		b.shape(3, l.x.clamp(l.x.at(r.Published)), mid, min(5, l.step/3.5), "pub")
	}
}

// interval draws Low to High; an end beyond the axis has an arrow.
func (c *Rows) interval(b *builder, l rowsLayout, r Row, mid float64) {
	if !l.x.drawable(r.Low) || !l.x.drawable(r.High) {
		return
	}
	d := pathBuilder{}
	ends := [2]float64{l.x.clamp(l.x.at(r.Low)), l.x.clamp(l.x.at(r.High))}
	d.move(ends[0], mid)
	d.to(ends[1], mid)
	for i, v := range [2]float64{r.Low, r.High} {
		x := ends[i]
		if l.x.in(v) {
			d.move(x, mid-4)
			d.to(x, mid+4)
			continue
		}
		back := 5.0
		if i == 1 {
			back = -5
		}
		d.move(x+back, mid-4)
		d.to(x, mid)
		d.to(x+back, mid+4)
	}
	b.path(d.String(), "iv")
}
