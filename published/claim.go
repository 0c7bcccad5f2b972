package published

import (
	"fmt"
	"math"
)

// Claim is something that a document computes out of its own figures.
type Claim struct {
	// Of is "change" (how many percent To is above From, negative for below) or "ratio" (To divided by From).
	Of string `yaml:"of"`
	// From and To are paths of figures, see [Source.Value]. Times multiplies a ratio, 1 if absent: nodes that replace three.
	From  string  `yaml:"from"`
	To    string  `yaml:"to"`
	Times float64 `yaml:"times"`
	// Stated is the document's result.
	Stated Value `yaml:"stated"`
	// Wrong is the ID of the contradiction, if the result does not follow from the figures.
	Wrong string `yaml:"wrong"`
	Place `yaml:",inline"`
}

// Recompute computes the claim out of the document's own figures, and says whether what is stated follows from them.
// It follows if some numbers that would be written like From and To give it, rounded or cut off at its last digit:
// the difference may be less than one unit of that digit. Where the claim says "about", it may be one such unit more.
func (s *Source) Recompute(c Claim) (result float64, follows bool, err error) {
	from, found := s.Value(c.From)
	to, foundTo := s.Value(c.To)
	switch {
	case !found:
		return 0, false, fmt.Errorf("there is no figure %q", c.From)
	case !foundTo:
		return 0, false, fmt.Errorf("there is no figure %q", c.To)
	case from.Number <= 0 || to.Number <= 0:
		return 0, false, fmt.Errorf("%s and %s: only positive figures have a ratio", c.From, c.To)
	}
	formula, err := c.formula()
	if err != nil {
		return 0, false, err
	}
	fromLow, fromHigh := from.Between()
	toLow, toHigh := to.Between()
	slack := step(c.Stated.Written)
	if c.Stated.Bound == "about" {
		slack *= 2
	}
	low, high := formula(toLow/fromHigh), formula(toHigh/math.Max(fromLow, math.SmallestNonzeroFloat64))
	return formula(to.Number / from.Number), low-slack < c.Stated.Number && c.Stated.Number < high+slack, nil
}

// formula turns the ratio of the two figures into what the claim states.
func (c Claim) formula() (func(ratio float64) float64, error) {
	times := c.Times
	if times == 0 {
		times = 1
	}
	switch c.Of {
	case "change":
		return func(ratio float64) float64 { return (ratio - 1) * 100 }, nil
	case "ratio":
		return func(ratio float64) float64 { return ratio * times }, nil
	}
	return nil, fmt.Errorf("a claim of %q is not known: it is a change or a ratio", c.Of)
}
