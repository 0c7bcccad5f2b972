package procedure

import (
	"fmt"
	"math"
	"slices"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
)

// fewMissed is how many trials at lower rates may be missed before a result is doubted: one is a disturbance.
const fewMissed = 1

// farAbove is by how many steps of the precision a rate that held once may lie above the confirmed one: so many steps
// down are the first rounds of confirming trials, which noise alone takes.
const farAbove = 4

// doubt says what speaks against the rate that was confirmed. Capacities are borders: what holds above one that is
// missed, time and again, means that the border moved, or that chance decides at these objectives.
func (c *capacity) doubt() {
	r := &c.result
	if r.Rate == 0 {
		return
	}
	below := c.missedBelow(r.Rate)
	switch n := len(below); {
	case n > fewMissed:
		c.doubted(fmt.Sprintf("%d trials at lower rates (%s) were missed, for example %s/s: %s; %s", n, spanOf(below), figure.Rate(below[0].rate),
			below[0].missed, c.when(below)))
	case n == 1:
		c.note(fmt.Sprintf("%s/s was missed once although more held: %s", figure.Rate(below[0].rate), below[0].missed))
	}
	if up := c.heldAbove(r.Rate); up > r.Rate*math.Pow(1+float64(c.spec.Precision), farAbove) {
		c.doubted(fmt.Sprintf("%s/s held as well, %s more than fresh trials confirmed: the target became slower during the search, or chance decides at "+
			"these objectives; search again, with longer trials", figure.Rate(up), figure.Percent(up/r.Rate-1)))
	}
}

func (c *capacity) doubted(text string) {
	c.result.Doubts = append(c.result.Doubts, text)
	c.note(text)
}

// when says whether the trials at lower rates were missed before those of the result were made, after that, or both.
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
		return "all of that was before this rate held, so the target became faster during the search: let it warm up, and search again"
	case after:
		return "all of that was after this rate held, so the target became slower during the search: it may not carry this rate for long"
	}
	return "they scatter over the whole search, so chance decides at these objectives: search again, with longer trials on a calm machine"
}

// missedBelow are the trials at rates below a given one that were missed, in order.
func (c *capacity) missedBelow(rate float64) []*probe {
	var list []*probe
	for i := range c.tries {
		if p := &c.tries[i]; !p.holds && !p.untold && p.rate < rate {
			list = append(list, p)
		}
	}
	return list
}

// spanOf says between which rates trials lie.
func spanOf(list []*probe) string {
	low, high := list[0].rate, list[0].rate
	for _, p := range list {
		low, high = min(low, p.rate), max(high, p.rate)
	}
	if low == high {
		return figure.Rate(low) + "/s"
	}
	return figure.Rate(low) + "/s to " + figure.Rate(high) + "/s"
}
