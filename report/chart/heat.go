package chart

import (
	"math"
	"strconv"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
)

// Heat draws how often values fell into cells of time and size; darker cells have more, on a logarithmic scale.
type Heat struct {
	Frame
	X, Y  Axis
	Cells []Cell
	// What is counted, for the scale of the colours: "operations".
	What  string
	Marks []Mark
}

// Cell is a rectangle in units of the axes and how many values fell into it.
type Cell struct {
	Left, Right, Low, High float64
	Count                  int64
}

// shades is the number of shades: the classes "h0" to "h5".
const shades = 6

func (c *Heat) Draw(s Size) string {
	var b builder
	height := 260 + lineHeight*float64((&XY{Marks: c.Marks}).rows())
	p := c.layout(s, height)
	c.start(&b, s, height)
	most := int64(1)
	for _, cell := range c.Cells {
		most = max(most, cell.Count)
	}
	var paths [shades]pathBuilder
	for _, cell := range c.Cells {
		if cell.Count > 0 {
			drawCell(&paths[shade(cell.Count, most)], p, cell)
		}
	}
	for i := range paths {
		b.path(paths[i].String(), "h"+strconv.Itoa(i))
	}
	grid := XY{X: c.X, Y: c.Y, Marks: c.Marks}
	grid.grid(&b, s, p, height)
	grid.marks(&b, p)
	c.key(&b, s, most)
	b.raw("</svg>\n")
	return b.String()
}

func (c *Heat) layout(s Size, height float64) plot {
	p := plot{top: 40, bottom: height - 38, left: alignedLeft, right: s.Width - 8}
	p.right -= (&XY{Aligned: true}).nameRoom(s)
	p.top += lineHeight * float64((&XY{Marks: c.Marks}).rows())
	var xs, ys []float64
	for _, cell := range c.Cells {
		xs = append(xs, cell.Left, cell.Right)
		ys = append(ys, cell.Low, cell.High)
	}
	p.y = newScale(c.Y, p.bottom, p.top, ys)
	for _, t := range p.y.ticks(6) {
		p.left = max(p.left, width(t.Text)+10)
	}
	p.x = newScale(c.X, p.left, p.right, xs)
	return p
}

// shade is the class of a count: each of the shades covers the same factor.
func shade(n, most int64) int {
	if most <= 1 {
		return shades - 1
	}
	return min(shades-1, int(float64(shades)*math.Log(float64(n))/math.Log(float64(most)+1)))
}

func drawCell(d *pathBuilder, p plot, c Cell) {
	x, right := p.x.clamp(p.x.at(c.Left)), p.x.clamp(p.x.at(c.Right))
	top, y := p.y.clamp(p.y.at(c.High)), p.y.clamp(p.y.at(c.Low))
	d.raw("M", number(x), " ", number(top), "H", number(right), "V", number(y), "H", number(x), "Z")
}

// key draws the shades with the lowest and the highest count.
func (c *Heat) key(b *builder, s Size, most int64) {
	text := figure.Count(most) + " " + c.What + " in a cell"
	x := s.Width - width(text) - 4
	b.label(s.Width, 27, right, "", text)
	for i := shades - 1; i >= 0; i-- {
		x -= 14
		b.rect(x, 18, 13, 11, "h"+strconv.Itoa(i))
	}
	b.label(x-5, 27, right, "", "1")
}
