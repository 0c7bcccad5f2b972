package procedure

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
)

// conclude sets the reason of the result, and its doubts.
func (c *capacity) conclude() {
	r := &c.result
	missed := c.missedAbove(r.Rate)
	limited := missed != nil && len(missed.client) > 0
	switch {
	case r.Rate == 0 && r.Reason != "":
		return
	case r.Rate == 0:
		r.Reason = c.nothing()
	case missed == nil && c.unsure > r.Rate:
		r.Reason = fmt.Sprintf("%s/s held in %s. No higher rate held reliably", figure.Rate(r.Rate), c.fresh())
	case missed == nil:
		r.AtLeast = true
		r.Reason = fmt.Sprintf("%s/s held in %s, and no higher rate failed, so the capacity is higher", figure.Rate(r.Rate), c.fresh())
	case limited:
		r.AtLeast = true
		r.Reason = fmt.Sprintf("%s/s held in %s. Above it the load generator may be the limit (%s at %s/s), so the capacity of the "+
			"target is at least this. Give the client more cores, or use several clients", figure.Rate(r.Rate), c.fresh(),
			strings.Join(missed.client, ", "), figure.Rate(missed.rate))
	default:
		r.Reason = fmt.Sprintf("%s/s held in %s; %s/s did not: %s", figure.Rate(r.Rate), c.fresh(), figure.Rate(missed.rate), missed.missed)
	}
	if r.Rate > 0 && missed != nil && missed.busy {
		c.note(fmt.Sprintf("all workers were busy at %s/s, so the target may carry more with more workers", figure.Rate(missed.rate)))
	}
	if up := c.heldAbove(r.Rate); r.Rate > 0 && up > 0 {
		c.note(fmt.Sprintf("the results are not monotonic: %s/s held once, too, but confirming trials did not confirm it", figure.Rate(up)))
	}
	if first := r.Steps[0]; c.base.Load.Replay != "" && first.Phase == "probe" && r.Rate > 0 {
		c.note(fmt.Sprintf("this is %s times the rate of the recording, %s/s", figure.Significant(r.Rate/first.Achieved),
			figure.Rate(first.Achieved)))
	}
	if d := c.doubts(r.Rate); len(d) > 0 {
		c.note("trials at this rate have warnings: " + strings.Join(d, ", "))
	}
	c.doubt()
	if len(c.notes) > 0 {
		r.Reason += " (" + strings.Join(c.notes, "; ") + ")"
	}
}

func (c *capacity) fresh() string { return figure.Plural(int(c.spec.Confirm), "confirming trial") }

func (c *capacity) nothing() string {
	if len(c.tries) == 0 {
		return "no rate was tried"
	}
	last := func(p probe) int { return map[bool]int{true: 1}[p.untold] }
	lowest := slices.MinFunc(c.tries, func(a, b probe) int { return cmp.Or(last(a)-last(b), cmp.Compare(a.rate, b.rate)) })
	if lowest.untold {
		return fmt.Sprintf("no trial had enough operations (%s). Search at higher rates, or use longer trials", lowest.missed)
	}
	if held := c.heldAbove(0); held > 0 {
		text := fmt.Sprintf("no rate was confirmed: %s/s held once, but not all confirming trials down to %s/s. The results scatter too "+
			"much for these objectives", figure.Rate(held), figure.Rate(c.tries[len(c.tries)-1].rate))
		if ids := c.blamed(); len(ids) > 0 {
			text += ". Most failures may be caused by the load generator (" + strings.Join(ids, ", ") + "). Use a less busy machine, " +
				"more cores or several clients"
		}
		return text
	}
	text := fmt.Sprintf("not even %s/s held: %s", figure.Rate(lowest.rate), lowest.missed)
	if len(lowest.client) > 0 {
		text += ". The load generator may be the reason (" + strings.Join(lowest.client, ", ") + ")"
	}
	return text
}

// blamed returns the findings about the load generator, if most failed trials have some.
func (c *capacity) blamed() []string {
	missed, theirs := 0, 0
	var ids []string
	for _, p := range c.tries {
		if p.holds {
			continue
		}
		missed++
		if len(p.client) > 0 {
			theirs++
			ids = append(ids, p.client...)
		}
	}
	if 2*theirs <= missed {
		return nil
	}
	return distinct(ids)
}

// missedAbove returns the lowest rate above a given one that failed because of the target, or else because of the load
// generator; nil if none did.
func (c *capacity) missedAbove(rate float64) *probe {
	var lowest *probe
	for i := range c.tries {
		p := &c.tries[i]
		if p.holds || p.rate <= rate {
			continue
		}
		blames, before := len(p.client) > 0, lowest != nil && len(lowest.client) > 0
		if lowest == nil || before && !blames || before == blames && p.rate < lowest.rate {
			lowest = p
		}
	}
	return lowest
}

// heldAbove returns the highest rate above a given one that held, 0 if none did.
func (c *capacity) heldAbove(rate float64) float64 {
	highest := 0.0
	for _, p := range c.tries {
		if p.holds && p.rate > rate {
			highest = max(highest, p.rate)
		}
	}
	return highest
}

// doubts returns the distinct findings of the trials at a rate.
func (c *capacity) doubts(rate float64) []string {
	var found []string
	for _, p := range c.tries {
		if p.rate == rate {
			found = append(found, p.doubts...)
		}
	}
	return distinct(found)
}
