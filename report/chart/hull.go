package chart

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Hull draws load lines on the hull of a ship, whose height is the axis, and the present load as the water around it.
type Hull struct {
	Frame
	Y     Axis
	Lines []HullLine
	// Water is the height of the water, with its name; NaN for none.
	Water float64
	Text  string
}

// HullLine is a load line.
type HullLine struct {
	// At is its height, Low and High the ends of its interval, NaN if they are unknown.
	At, Low, High float64
	// Rate, Name and Text are beside it: on a phone the name is below the rate, without room for Text.
	Rate, Name, Text string
	// Disc marks the line that counts with the disc. Dashed lines do not count.
	Disc, Dashed bool
}

const (
	hullHeight = 330.0
	hullTop    = 64.0 // of the deck
)

// hullPlace is where the parts of a hull are.
type hullPlace struct {
	y                         scale
	left, right, bottom       float64 // of the hull
	disc, radius, ladder, rim float64 // the rim is where names begin
}

// shore is where the water ends.
func (p hullPlace) shore() float64 { return p.right + 0.4*(p.rim-p.right) }

func (c *Hull) place(s Size) hullPlace {
	var values []float64
	for _, l := range c.Lines {
		values = append(values, l.At, l.Low, l.High)
	}
	axis := c.Y
	axis.Zero = true
	p := hullPlace{bottom: hullHeight - 26, left: 64, right: 452, disc: 190, radius: 25, ladder: 268, rim: 476}
	if s.narrow() {
		p.left, p.right, p.disc, p.radius, p.ladder, p.rim = 42, 166, 76, 14, 108, 184
	}
	p.y = newScale(axis, p.bottom, hullTop, append(values, c.Water))
	p.y.high *= 1.08
	return p
}

func (c *Hull) Draw(s Size) string {
	var b builder
	p := c.place(s)
	c.start(&b, s, hullHeight)
	b.label(0, 12, left, "at", c.Y.Label)
	for _, t := range p.y.ticks(6) {
		y := p.y.at(t.At)
		b.line(p.left-14, y, p.left-8, y, "ax")
		b.label(p.left-18, y+4, right, "", t.Text)
	}
	c.ship(&b, p)
	c.water(&b, p)
	c.marks(&b, s, p)
	b.raw("</svg>\n")
	return b.String()
}

// ship draws the hull from the side, with the bow on the right.
func (c *Hull) ship(b *builder, p hullPlace) {
	w, at := p.right-p.left, func(x, y float64) string { return number(x) + " " + number(y) }
	deck := p.y.at(p.y.high)
	x := func(share float64) float64 { return p.left + share*w }
	b.rect(x(0.1), deck-30, 0.2*w, 30, "hull")
	b.rect(x(0.16), deck-46, 0.05*w, 16, "hull")
	b.line(x(0.74), deck, x(0.74), deck-34, "mast")
	b.path("M"+at(x(0), deck)+"L"+at(x(1), deck-8)+"C"+at(x(0.985), deck+60)+" "+at(x(0.95), p.bottom-40)+" "+
		at(x(0.88), p.bottom)+"L"+at(x(0.07), p.bottom)+"C"+at(x(0.03), p.bottom-20)+" "+at(x(0.01), p.bottom-60)+" "+
		at(x(0), deck)+"Z", "hull")
}

// water draws the water up to the present load, in front of the hull.
func (c *Hull) water(b *builder, p hullPlace) {
	if math.IsNaN(c.Water) {
		return
	}
	y := p.y.at(c.Water)
	from, to := p.left-8, p.shore()
	surface := "M" + number(from) + " " + number(y)
	const wave = 24.0
	for x := from; x < to-1; x += wave {
		step := min(wave, to-x)
		surface += "q" + number(step/4) + " -3 " + number(step/2) + " 0t" + number(step/2) + " 0"
	}
	b.path(surface+"L"+number(to)+" "+number(hullHeight-14)+"L"+number(from)+" "+number(hullHeight-14)+"Z", "water")
	b.path(surface, "surface")
}

// marks draws the lines with their names beside the hull, and the name of the water.
func (c *Hull) marks(b *builder, s Size, p hullPlace) {
	var names []placed
	height := float64(lineHeight)
	add := func(y float64, text, name, more, class string) {
		n := placed{x: p.rim, y: y, text: text, class: class}
		if s.narrow() {
			n.under = name
		} else {
			n.text = strings.Join(slices.DeleteFunc([]string{text, name, more}, func(x string) bool { return x == "" }), "  ")
		}
		if n.under != "" {
			height = 2 * lineHeight
		}
		room := int((s.Width - p.rim) / perChar)
		n.text, n.under = Shorten(n.text, room), Shorten(n.under, room)
		names = append(names, n)
	}
	low, high := math.Inf(1), math.Inf(-1)
	end := p.ladder + (p.right-p.ladder)*0.3
	for _, l := range c.Lines {
		y := p.y.at(l.At)
		low, high = min(low, y), max(high, y)
		class := "ll"
		if l.Dashed {
			class += " dash"
		}
		b.line(p.ladder, y, end, y, class)
		if !math.IsNaN(l.Low) {
			top := p.y.at(l.High)
			if math.IsNaN(l.High) {
				top = max(hullTop, y-14)
			}
			x := end - 8
			b.path("M"+number(x)+" "+number(p.y.at(l.Low))+"L"+number(x)+" "+number(top), "iv")
			if math.IsNaN(l.High) {
				b.path("M"+number(x-3)+" "+number(top+4)+"L"+number(x)+" "+number(top)+"L"+number(x+3)+" "+number(top+4), "iv")
			}
		}
		if l.Disc {
			b.raw(`<circle cx="`, number(p.disc), `" cy="`, number(y), `" r="`, number(p.radius), "\" class=\"disc\"/>\n")
			b.line(p.disc-1.6*p.radius, y, p.ladder, y, "ll")
		}
		add(y, l.Rate, l.Name, l.Text, "gh")
	}
	if len(c.Lines) > 1 {
		b.line(p.ladder, low, p.ladder, high, "ll")
	}
	if !math.IsNaN(c.Water) {
		add(p.y.at(c.Water), c.Text, "", "", "now")
	}
	anchors := slices.Clone(names)
	slices.SortStableFunc(anchors, func(a, b placed) int { return cmp.Compare(a.y, b.y) })
	spread(names, height, hullTop-8, hullHeight-20)
	for i, n := range names {
		from := end
		if n.class == "now" {
			from = p.shore()
		}
		b.path("M"+number(from+2)+" "+number(anchors[i].y)+"L"+number(max(from+2, p.right+2))+" "+number(anchors[i].y)+"L"+
			number(p.rim-4)+" "+number(n.y), "leader")
		b.label(n.x, n.y+4, left, n.class, n.text)
		if n.under != "" {
			b.label(n.x, n.y+4+lineHeight, left, "", n.under)
		}
	}
}
