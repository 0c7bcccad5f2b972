package chart

import "math"

// spot is a pixel where something is drawn.
type spot struct{ x, y float64 }

// Bounds of the search for a place: how many points of a series are tried, from the last on, and how far apart a line
// is looked at, in pixels.
const (
	maxTried = 60
	lineStep = 5
)

// namePoints puts the names of series without a line beside one of their points: where they hide neither another point
// nor a line nor another name, if there is such a place, or else where they hide least. Later points come first.
func (c *XY) namePoints(names []placed, s Size, p plot) []placed {
	var taken []spot
	for i := range c.Series {
		taken = append(taken, c.Series[i].spots(p)...)
	}
	for i := range c.Series {
		x := &c.Series[i]
		if x.Style != Points || x.Unnamed || x.Name == "" {
			continue
		}
		label := placed{text: Shorten(x.Name, int(max((s.Width-p.left)/2/perBoldChar, 12))), class: colour(x.Colour) + " name"}
		if place(&label, x, taken, names, s, p) {
			names = append(names, label)
		}
	}
	return names
}

// place finds the place of a name. It reports false where no point of the series can be drawn.
func place(label *placed, series *Series, taken []spot, names []placed, s Size, p plot) bool {
	wide := boldWidth(label.text)
	least, tried := math.MaxInt, 0
	for _, away := range []float64{13, 24, 36} { // near the point if there is room
		tried = 0
		for i := min(len(series.X), len(series.Y)) - 1; i >= 0 && tried < maxTried && least > 0; i-- {
			if !p.x.in(series.X[i]) || !p.y.drawable(series.Y[i]) {
				continue
			}
			tried++
			x, y := p.x.at(series.X[i]), p.y.clamp(p.y.at(series.Y[i]))
			for _, at := range []spot{{x - wide/2, y - away}, {x - wide/2, y + away}, {x + 8, y}, {x - 8 - wide, y}} {
				at.x = max(0, min(at.x, s.Width-wide))
				if at.y < p.top+4 || at.y > p.bottom-6 {
					continue
				}
				if n := hidden(at, wide, taken, names); n < least {
					least, label.x, label.y = n, at.x, at.y
				}
			}
		}
		if tried == 0 || least == 0 {
			break
		}
	}
	if tried > 0 && least == math.MaxInt { // the plot is flat: above the last point, come what may
		label.x, label.y, _ = lastOf(p.x, p.y, *series)
		label.x, label.y = max(0, min(label.x-wide/2, s.Width-wide)), label.y-11
	}
	return tried > 0 || least < math.MaxInt
}

// hidden counts what a name would lie on; another name counts for much.
func hidden(at spot, wide float64, taken []spot, names []placed) (n int) {
	const half, margin = 7, 3
	for _, t := range taken {
		if t.x > at.x-margin && t.x < at.x+wide+margin && math.Abs(t.y-at.y) < half+margin {
			n++
		}
	}
	for _, o := range names {
		if o.x < at.x+wide && at.x < o.x+boldWidth(o.text) && math.Abs(o.y-at.y) < 2*half {
			n += 50
		}
	}
	return n
}

// spots are the points of a series, and those along its line.
func (x *Series) spots(p plot) (list []spot) {
	last, pen := spot{}, false
	for i := range min(len(x.X), len(x.Y)) {
		if !p.x.in(x.X[i]) || !p.y.drawable(x.Y[i]) {
			pen = false
			continue
		}
		at := spot{p.x.at(x.X[i]), p.y.clamp(p.y.at(x.Y[i]))}
		if pen && x.Style != Points {
			steps := math.Floor(math.Hypot(at.x-last.x, at.y-last.y) / lineStep)
			for k := 1.0; k < steps; k++ {
				list = append(list, spot{last.x + (at.x-last.x)*k/steps, last.y + (at.y-last.y)*k/steps})
			}
		}
		list = append(list, at)
		last, pen = at, true
	}
	return list
}
