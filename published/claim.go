package published

import "fmt"

// Claim is something that a document computes out of its own figures.
type Claim struct {
	// Of is "change" (how many percent To is above From, negative for below), "ratio" (To divided by From), or "figure"
	// (To itself, told once more).
	Of string `yaml:"of"`
	// From and To are paths of figures, see [Source.Value].
	From string `yaml:"from"`
	To   string `yaml:"to"`
	// Times multiplies a ratio or a figure, 1 if absent: the three nodes that are to be replaced, a thousandth for "47k".
	Times float64 `yaml:"times"`
	// Stated is the document's result.
	Stated Value `yaml:"stated"`
	// Wrong is the ID of the contradiction, if the result does not follow from the figures.
	Wrong string `yaml:"wrong"`
	Place `yaml:",inline"`
}

// Recompute computes the claim out of the document's own figures, and says whether what is stated follows from them. It
// follows if any numbers that would be written like From and To give one that is rounded to what is stated, or cut off
// at its last digit, which documents do. Where the claim says "about", one unit of that digit more is allowed.
func (s *Source) Recompute(c Claim) (result float64, follows bool, err error) {
	to, found := s.Value(c.To)
	if !found {
		return 0, false, fmt.Errorf("there is no figure %q", c.To)
	}
	times := c.Times
	if times == 0 {
		times = 1
	}
	low, high := to.Between()
	if c.Of == "figure" {
		return to.Number * times, c.stated(low*times, high*times), nil
	}
	from, found := s.Value(c.From)
	if !found {
		return 0, false, fmt.Errorf("there is no figure %q", c.From)
	}
	least, most := from.Between()
	if least <= 0 || low <= 0 {
		return 0, false, fmt.Errorf("%s and %s: only positive figures have a ratio", c.From, c.To)
	}
	switch c.Of {
	case "change":
		percent := func(ratio float64) float64 { return (ratio - 1) * 100 }
		return percent(to.Number / from.Number), c.stated(percent(low/most), percent(high/least)), nil
	case "ratio":
		return to.Number / from.Number * times, c.stated(low/most*times, high/least*times), nil
	}
	return 0, false, fmt.Errorf("a claim of %q is not known: it is a change, a ratio or a figure", c.Of)
}

// stated says whether some number from low to high is told as the claim does.
func (c Claim) stated(low, high float64) bool {
	unit := step(c.Stated.Written)
	below, above := unit/2, unit // rounded, or what was cut off
	if c.Stated.Number < 0 {
		below, above = above, below
	}
	if c.Stated.Bound == "about" {
		below, above = below+unit, above+unit
	}
	return low < c.Stated.Number+above && c.Stated.Number-below <= high
}
