package chart

import (
	"math"
	"slices"
)

func (c *XY) series(b *builder, p plot, s *Series) {
	class := colour(s.Colour)
	c.intervals(b, p, s)
	if s.Style != Points {
		b.path(linePath(p.x, p.y, s.X, s.Y), s.Style.class()+" "+class)
	}
	if !s.Dots && s.Style != Points {
		return
	}
	filled := "dot-" + class
	if s.Hollow {
		filled = "ring " + class
	}
	for i := range min(len(s.X), len(s.Y)) {
		if !p.x.in(s.X[i]) || !p.y.in(s.Y[i]) {
			continue
		}
		if i < len(s.Notes) {
			b.raw("<g><title>")
			b.text(s.Notes[i])
			b.raw("</title>")
		}
		b.shape(s.Colour, p.x.at(s.X[i]), p.y.at(s.Y[i]), 3.2, filled)
		if i < len(s.Notes) {
			b.raw("</g>")
		}
	}
}

// intervals draws a vertical bar from Low to High at each point.
func (c *XY) intervals(b *builder, p plot, s *Series) {
	d := pathBuilder{}
	for i := range min(len(s.X), len(s.Low), len(s.High)) {
		if !p.x.in(s.X[i]) || !p.y.drawable(s.Low[i]) || !p.y.drawable(s.High[i]) {
			continue
		}
		x, low, high := p.x.at(s.X[i]), p.y.clamp(p.y.at(s.Low[i])), p.y.clamp(p.y.at(s.High[i]))
		d.move(x-3, low)
		d.to(x+3, low)
		d.move(x, low)
		d.to(x, high)
		d.move(x-3, high)
		d.to(x+3, high)
	}
	b.path(d.String(), "iv "+colour(s.Colour))
}

func (a *Band) draw(b *builder, p plot) {
	d := pathBuilder{}
	n := min(len(a.X), len(a.Low), len(a.High))
	whole := func(i int) bool { return p.x.in(a.X[i]) && p.y.drawable(a.Low[i]) && p.y.drawable(a.High[i]) }
	y := func(v float64) float64 { return p.y.clamp(p.y.at(v)) }
	for from := 0; from < n; {
		to := from
		for to < n && whole(to) {
			to++
		}
		if to-from > 1 {
			d.move(p.x.at(a.X[from]), y(a.High[from]))
			for i := from + 1; i < to; i++ {
				d.to(p.x.at(a.X[i]), y(a.High[i]))
			}
			for i := to - 1; i >= from; i-- {
				d.to(p.x.at(a.X[i]), y(a.Low[i]))
			}
			d.raw("Z")
		}
		from = to + 1
	}
	b.path(d.String(), "area-"+colour(a.Colour))
}

type pathBuilder struct{ builder }

func (d *pathBuilder) move(x, y float64) { d.raw("M", number(x), " ", number(y)) }
func (d *pathBuilder) to(x, y float64)   { d.raw("L", number(x), " ", number(y)) }

// column gathers the points that fall on one pixel of the x axis.
type column struct {
	x                      float64
	first, low, high, last float64
	n                      int
}

func (c *column) add(y float64) {
	if c.n == 0 {
		c.first, c.low, c.high = y, y, y
	}
	c.low, c.high, c.last = min(c.low, y), max(c.high, y), y
	c.n++
}

func (c *column) draw(d *pathBuilder, pen bool) {
	if pen {
		d.to(c.x, c.first)
	} else {
		d.move(c.x, c.first)
	}
	// A peak must stay visible however many points share its pixel.
	if c.n > 2 && (c.low != c.first || c.high != c.first) {
		d.to(c.x, c.low)
		d.to(c.x, c.high)
	}
	if c.n > 1 && c.last != c.first || c.n > 2 {
		d.to(c.x, c.last)
	}
}

// linePath joins points. Where there are more than pixels, each pixel shows the range of its points.
func linePath(x, y scale, xs, ys []float64) string {
	d := pathBuilder{}
	n := min(len(xs), len(ys))
	dense := float64(n) > 2*math.Abs(x.b-x.a) && slices.IsSorted(xs[:n])
	pen, joined := false, 0 // columns since the pen went down
	var col, last column
	flush := func() {
		if col.n > 0 {
			col.draw(&d, pen)
			pen, last, col = true, col, column{}
			joined++
		}
	}
	lift := func() {
		if joined == 1 { // a point alone between gaps would not be seen
			d.to(last.x+3, last.last)
		}
		pen, joined = false, 0
	}
	for i := range n {
		if !x.in(xs[i]) || !y.drawable(ys[i]) {
			flush()
			lift()
			continue
		}
		px, py := x.at(xs[i]), y.clamp(y.at(ys[i]))
		if dense {
			px = math.Round(px)
		}
		if !dense || col.n > 0 && px != col.x {
			flush()
		}
		col.x = px
		col.add(py)
	}
	flush()
	lift()
	return d.String()
}
