package chart

import (
	"cmp"
	"math"
	"slices"
)

// placed is the name of a line, next to the line.
type placed struct {
	x, y  float64
	text  string
	under string // a second line, "" for none
	class string
}

const lineHeight = 13 // pixels between labels

// spread moves labels apart that lie on each other, as little as possible, within top and bottom.
func spread(labels []placed, height, top, bottom float64) {
	slices.SortStableFunc(labels, func(a, b placed) int { return cmp.Compare(a.y, b.y) })
	for i := range labels {
		labels[i].y = max(top, min(labels[i].y, bottom))
	}
	for range 100 {
		moved := false
		for i := 1; i < len(labels); i++ {
			a, b := &labels[i-1], &labels[i]
			overlap := height - (b.y - a.y)
			if overlap < 0.5 || !touch(*a, *b) {
				continue
			}
			moved = true
			up := min(overlap/2, max(0, a.y-top))
			a.y -= up
			b.y += overlap - up
		}
		for i := len(labels) - 1; i >= 0 && labels[i].y > bottom; i-- {
			labels[i].y = bottom
			bottom -= height
		}
		if !moved {
			return
		}
	}
}

// touch says whether two labels lie above each other.
func touch(a, b placed) bool {
	return a.x < b.x+boldWidth(b.text) && b.x < a.x+boldWidth(a.text)
}

func lastOf(x, y scale, s Series) (px, py float64, ok bool) {
	for i := min(len(s.X), len(s.Y)) - 1; i >= 0; i-- {
		if x.drawable(s.X[i]) && y.drawable(s.Y[i]) {
			return x.at(s.X[i]), y.clamp(y.at(s.Y[i])), true
		}
	}
	return math.NaN(), math.NaN(), false
}
