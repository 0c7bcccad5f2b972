package chart

import (
	"cmp"
	"math"
	"slices"
)

// XY draws series of values over a common axis. Points are joined in the order in which they are given, so that a
// curve may fold back.
type XY struct {
	Frame
	X, Y   Axis
	Series []Series
	// Limits are horizontal lines, such as an objective; Marks vertical ones, such as an event.
	Limits []Limit
	Marks  []Mark
	// Spans are stretches of the x axis that are shaded, such as the measured time.
	Spans []Span
	// Bands are areas between two lines, such as the interval of a curve.
	Bands []Band
	// Height is that of the drawing in pixels, 280 if absent.
	Height float64
	// Aligned charts have the same margins, so that a moment is at the same place in all of them.
	Aligned bool
}

// The margins of aligned charts on the left; on the right they are as wide as names may be.
const alignedLeft = 68

// Series is one line or one set of points. It has the class of its colour, "c0" to "c5".
type Series struct {
	Name   string
	X, Y   []float64 // NaN leaves a gap
	Low    []float64 // of an interval around each Y; nil for none
	High   []float64
	Style  Style
	Colour int
	// Dots draws a mark at each point, with the shape of the colour; Hollow ones are not filled.
	Dots   bool
	Hollow bool
	// Notes are shown when a pointer rests on the mark of a point.
	Notes []string
	// Unnamed lines have no name, because another line has it.
	Unnamed bool
}

// Limit is a horizontal line with its text, at its right end unless Left says otherwise.
type Limit struct {
	Y    float64
	Text string
	Left bool
}

// Mark is a moment with its text. The kind is part of its class: "mk-KIND".
type Mark struct {
	X    float64
	Text string
	Kind string
}

// Span is a stretch of the x axis with its text.
type Span struct {
	From, To float64
	Text     string
}

// Band is the area from Low to High over X; NaN ends it. It has the class of its colour, "area-c0" to "area-c5".
type Band struct {
	X, Low, High []float64
	Colour       int
}

// plot is the area of a drawing.
type plot struct {
	x, y                     scale
	left, top, right, bottom float64
}

func (c *XY) Draw(s Size) string {
	var b builder
	height := cmp.Or(c.Height, 280) + lineHeight*float64(c.rows())
	p := c.layout(s, height)
	c.start(&b, s, height)
	c.spans(&b, p)
	c.grid(&b, s, p, height)
	c.limits(&b, p)
	c.marks(&b, p)
	for i := range c.Bands {
		c.Bands[i].draw(&b, p)
	}
	b.raw(`<g class="series">`, "\n")
	var names []placed
	for i := range c.Series {
		c.series(&b, p, &c.Series[i])
		if c.Series[i].Style != Points {
			names = c.name(names, s, p, &c.Series[i])
		}
	}
	b.raw("</g>\n")
	spread(names, lineHeight, p.top+8, p.bottom-2)
	names = c.namePoints(names, s, p)
	for _, n := range names {
		b.label(n.x, n.y+4, left, n.class, n.text)
	}
	b.raw("</svg>\n")
	return b.String()
}

// layout finds the place of the plot: room for ticks on the left and for names on the right.
func (c *XY) layout(s Size, height float64) plot {
	p := plot{top: 24, bottom: height - 38, left: 10, right: s.Width - 8}
	if c.rows() > 0 {
		p.top += 4 + lineHeight*float64(c.rows())
	}
	xs, ys := c.values()
	p.y = newScale(c.Y, p.bottom, p.top, ys...)
	if c.Aligned {
		p.left = alignedLeft
	}
	for _, t := range p.y.ticks(6) {
		p.left = max(p.left, width(t.Text)+10)
	}
	p.right -= c.nameRoom(s)
	p.x = newScale(c.X, p.left, p.right, xs...)
	return p
}

func (c *XY) rows() int {
	n := 0
	for _, m := range c.Marks {
		if m.Text != "" {
			n++
		}
	}
	return min(n, 3)
}

func (c *XY) values() (xs, ys [][]float64) {
	for _, s := range c.Series {
		xs = append(xs, s.X)
		ys = append(ys, s.Y, s.Low, s.High)
	}
	for _, l := range c.Limits {
		ys = append(ys, []float64{l.Y})
	}
	for _, a := range c.Bands {
		xs, ys = append(xs, a.X), append(ys, a.Low, a.High)
	}
	for _, sp := range c.Spans {
		xs = append(xs, []float64{sp.From, sp.To})
	}
	return xs, ys
}

// nameRoom is the width of the longest name, within reason.
func (c *XY) nameRoom(s Size) float64 {
	most := s.Width * 0.2
	if s.narrow() {
		most = s.Width * 0.35
	}
	if c.Aligned {
		return min(most, 110)
	}
	room := 0.0
	for _, x := range c.Series {
		if !x.Unnamed && x.Name != "" && x.Style != Points {
			room = max(room, boldWidth(x.Name)+10)
		}
	}
	return min(room, most)
}

func (c *XY) grid(b *builder, s Size, p plot, height float64) {
	b.raw(`<g class="axis">`, "\n")
	b.label(0, 12, left, "at", c.Y.Label)
	for _, t := range p.y.ticks(6) {
		y := p.y.at(t.At)
		b.line(p.left, y, p.right, y, "gr")
		b.label(p.left-5, y+4, right, "", t.Text)
	}
	b.line(p.left, p.bottom, p.right, p.bottom, "ax")
	b.ticks(s, p.x, 9, p.bottom, func(x float64) { b.line(x, p.bottom, x, p.bottom+4, "ax") })
	from := p.left
	if s.narrow() {
		from = 0 // there is no room to waste
	}
	b.label(from, height-5, left, "at", Shorten(c.X.Label, int((s.Width-from)/perChar)))
	b.raw("</g>\n")
}

// ticks draws at most about n ticks of the x axis below it, where they do not lie on each other.
func (b *builder) ticks(s Size, axis scale, n int, bottom float64, line func(x float64)) {
	if s.narrow() {
		n = 4
	}
	last := math.Inf(-1)
	for _, t := range axis.ticks(n) {
		x := axis.at(t.At)
		line(x)
		half := width(t.Text) / 2
		if at := max(half, min(x, s.Width-half)); at-half >= last+6 {
			last = at + half
			b.label(at, bottom+16, middle, "", t.Text)
		}
	}
}

func (c *XY) spans(b *builder, p plot) {
	for _, s := range c.Spans {
		from, to := p.x.clamp(p.x.at(s.From)), p.x.clamp(p.x.at(s.To))
		if !(to > from) {
			continue
		}
		b.rect(from, p.top, to-from, p.bottom-p.top, "span")
		if s.Text != "" && width(s.Text) < to-from-6 {
			b.label(to-4, p.bottom-5, right, "st", s.Text)
		}
	}
}

func (c *XY) limits(b *builder, p plot) {
	for _, l := range c.Limits {
		if !p.y.in(l.Y) {
			continue
		}
		y := p.y.at(l.Y)
		b.line(p.left, y, p.right, y, "limit")
		x, anchor := p.right-3, right
		if l.Left {
			x, anchor = p.left+3, left
		}
		b.label(x, y-4, anchor, "lt", Shorten(l.Text, int((p.right-p.left)/perChar)))
	}
}

// marks draws moments. Texts that would lie on each other go to another row, or are left out.
func (c *XY) marks(b *builder, p plot) {
	rows := c.rows()
	ends := make([]float64, rows)
	for i := range ends {
		ends[i] = math.Inf(-1)
	}
	for _, m := range c.Marks {
		if !p.x.in(m.X) {
			continue
		}
		x := p.x.at(m.X)
		b.raw(`<g class="mk mk-`)
		b.text(m.Kind)
		b.raw(`"><title>`)
		b.text(TickText(m.X, 0, c.X.Unit) + ": " + m.Text)
		b.raw("</title>")
		b.line(x, p.top-3, x, p.bottom, "ml")
		text := Shorten(m.Text, 28)
		at := min(x, p.right-width(text)+20)
		if row := slices.IndexFunc(ends, func(end float64) bool { return end < at-4 }); row >= 0 && text != "" {
			b.label(at, p.top-6-lineHeight*float64(row), left, "mt", text)
			ends[row] = at + width(text)
		}
		b.raw("</g>\n")
	}
}

func (c *XY) name(names []placed, s Size, p plot, series *Series) []placed {
	if series.Unnamed || series.Name == "" {
		return names
	}
	x, y, ok := lastOf(p.x, p.y, *series)
	if !ok {
		return names
	}
	text := Shorten(series.Name, int(max((s.Width-p.right)/perBoldChar, 12)))
	x = min(max(x, p.left)+6, s.Width-boldWidth(text))
	return append(names, placed{x: x, y: y, text: text, class: colour(series.Colour) + " name"})
}

func colour(n int) string { return [...]string{"c0", "c1", "c2", "c3", "c4", "c5"}[((n%6)+6)%6] }
