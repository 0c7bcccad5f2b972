package chart

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// Names of points lie on no point and on no other name while there is room for that.
func TestNamesOfPointsHideNothing(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 200 {
		c := &XY{Frame: Frame{ID: "a", Title: "t"}, X: Axis{Label: "trials"}, Y: Axis{Label: "y", Unit: PerSecond, Zero: true}}
		for k := range 3 { // three kinds of trials; two of them are alike, and end side by side
			s := Series{Name: []string{"trials", "baseline", "canary"}[k], Style: Points, Colour: k}
			for i := range 8 {
				s.X, s.Y = append(s.X, float64(3*i+k)), append(s.Y, 1000+float64(k)*20+r.Float64()*30)
			}
			c.Series = append(c.Series, s)
		}
		for _, size := range []Size{Wide, Narrow} {
			p := c.layout(size, 280)
			names := c.namePoints(nil, size, p)
			if len(names) != 3 {
				t.Fatalf("%d names", len(names))
			}
			for i, n := range names {
				if n.x < 0 || n.x+boldWidth(n.text) > size.Width+0.5 || n.y < p.top || n.y > p.bottom {
					t.Errorf("%s is outside: %+v", n.text, n)
				}
				for _, o := range names[:i] {
					if o.x < n.x+boldWidth(n.text) && n.x < o.x+boldWidth(o.text) && math.Abs(o.y-n.y) < 13 {
						t.Errorf("%s lies on %s", n.text, o.text)
					}
				}
				if size == Narrow {
					continue // a phone may have no place that is free
				}
				for k := range c.Series {
					for _, at := range c.Series[k].spots(p) {
						if at.x > n.x && at.x < n.x+boldWidth(n.text) && math.Abs(at.y-n.y) < 7 {
							t.Errorf("%s lies on a point of %s", n.text, c.Series[k].Name)
						}
					}
				}
			}
		}
	}
}

func TestNamesOfPointsStandSomewhere(t *testing.T) {
	nan := math.NaN()
	c := &XY{Frame: Frame{ID: "a"}, Series: []Series{
		{Name: "alone", Style: Points, X: []float64{1}, Y: []float64{5}},
		{Name: "none", Style: Points, X: []float64{nan}, Y: []float64{nan}},
		{Name: "crowd", Style: Points},
	}}
	for i := range 2000 {
		c.Series[2].X, c.Series[2].Y = append(c.Series[2].X, float64(i)), append(c.Series[2].Y, float64(i%40))
	}
	if n := c.namePoints(nil, Wide, c.layout(Wide, 280)); len(n) != 2 || n[1].text != "crowd" {
		t.Error(fmt.Sprint(n))
	}
	wellFormed(t, c.Draw(Wide))
}
