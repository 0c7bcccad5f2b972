package procedure

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
)

// fewMissed is how many trials at lower rates may fail before a result is doubtful: one is a disturbance.
const fewMissed = 1

// farAbove is how many steps of the precision a rate that held once may be above the confirmed one. The first rounds of
// confirming trials take that many steps down because of noise alone.
const farAbove = 4

// doubt adds doubts about the confirmed rate. A capacity is a border: if lower rates fail repeatedly, the border moved
// or the results scatter too much.
func (c *capacity) doubt() {
	r := &c.result
	if r.Rate == 0 {
		return
	}
	below := c.missedBelow(r.Rate)
	switch n := len(below); {
	case n > fewMissed:
		c.doubted(fmt.Sprintf("%d trials at lower rates (%s) failed, for example %s/s: %s; %s", n, spanOf(below),
			figure.Rate(below[0].rate), below[0].missed, c.when(below)))
	case n == 1:
		c.note(fmt.Sprintf("%s/s failed once although a higher rate held: %s", figure.Rate(below[0].rate), below[0].missed))
	}
	if up := c.heldAbove(r.Rate); up > r.Rate*math.Pow(1+float64(c.spec.Precision), farAbove) {
		c.doubted(fmt.Sprintf("%s/s held, too, %s more than confirming trials confirmed. Either the target became slower during the "+
			"search, or the results scatter too much. Search again with longer trials", figure.Rate(up), figure.Percent(up/r.Rate-1)))
	}
}

func (c *capacity) doubted(text string) {
	c.result.Doubts = append(c.result.Doubts, text)
	c.note(text)
}

// when says whether trials at lower rates failed before or after the trials of the result, or both.
func (c *capacity) when(below []*probe) string {
	var held []int // the numbers of the trials of the result
	for _, p := range c.tries {
		if p.holds && p.rate == c.result.Rate {
			held = append(held, p.number)
		}
	}
	before, after := 0, 0
	for _, p := range below {
		if p.number < slices.Min(held) {
			before++
		}
		if p.number > slices.Max(held) {
			after++
		}
	}
	switch len(below) {
	case before:
		return "all of them before this rate held, so the target became faster during the search. Warm it up and search again"
	case after:
		return "all of them after this rate held, so the target became slower during the search and may not sustain this rate"
	}
	return "they are spread over the whole search, so the results scatter too much. Search again with longer trials on a quiet " +
		"machine"
}

// missedBelow returns the trials at lower rates that failed, in order.
func (c *capacity) missedBelow(rate float64) []*probe {
	var list []*probe
	for i := range c.tries {
		if p := &c.tries[i]; !p.holds && !p.untold && p.rate < rate {
			list = append(list, p)
		}
	}
	return list
}

func spanOf(list []*probe) string {
	byRate := func(a, b *probe) int { return cmp.Compare(a.rate, b.rate) }
	low, high := slices.MinFunc(list, byRate).rate, slices.MaxFunc(list, byRate).rate
	if low == high {
		return figure.Rate(low) + "/s"
	}
	return figure.Rate(low) + "/s to " + figure.Rate(high) + "/s"
}
