package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// keptSpectra are the distributions of a comparison that was kept, by class, so that its page has the pictures although
// the records may be gone.
type keptSpectra struct {
	classes []string
	of      map[string][]distribution
	// records returns the number of records of each side's spectra.
	records map[int]int
	// scheduled is true if every side that has spectra had a schedule.
	scheduled bool
}

func (s *comparisonFiles) openSpectra(c *record.ComparisonReport) {
	kept := keptSpectra{of: map[string][]distribution{}, records: map[int]int{}}
	texts := make([][]string, len(c.Sides)) // long ones, which Tidy would cut
	responses := 0
	for i := range c.Sides[:min(len(c.Sides), record.MaxSpectra)] {
		list := c.Sides[i].Spectra[:min(len(c.Sides[i].Spectra), maxKeys)]
		had := false
		for k := range list {
			x := &list[k]
			texts[i] = append(texts[i], x.Histogram)
			n, err := measure.Decode(x.Histogram)
			x.Histogram = ""
			if err != nil {
				s.Problems = append(s.Problems, bounded(fmt.Sprintf("the %s times of %s of side %d: %v", x.Time, x.Class, i+1, err)))
				continue
			}
			had = had || x.Time == "response"
			kept.records[i] = max(kept.records[i], x.Records)
			kept.add(bounded(x.Class), distribution{i, x.Time, n, x.Max})
		}
		c.Sides[i].Spectra = list
		if had {
			responses++
		}
	}
	kept.scheduled = responses > 0 && responses == len(kept.records)
	s.kept = kept
	Tidy(c)
	for i := range texts {
		for k, text := range texts[i] {
			c.Sides[i].Spectra[k].Histogram = text
		}
	}
}

func (k *keptSpectra) add(class string, d distribution) {
	if !slices.Contains(k.classes, class) {
		k.classes = append(k.classes, class)
	}
	k.of[class] = append(k.of[class], d)
}

func (k *keptSpectra) section(c *record.ComparisonReport) Section {
	if len(k.classes) == 0 {
		return Section{}
	}
	names := make([]string, len(c.Sides))
	var of []string
	for i := range c.Sides {
		names[i] = c.Sides[i].Name
		if n := k.records[i]; n > 0 {
			of = append(of, fmt.Sprintf("%s of %s", figure.Plural(n, "record"), c.Sides[i].Name))
		}
	}
	sec := overlaidSection(k.classes, k.of, names[:min(len(names), record.MaxSpectra)], k.scheduled)
	sec.Lead = "Over all records of a side together: " + strings.Join(of, ", ") + "."
	if left := len(k.classes) - maxClasses; left > 0 {
		sec.Lead += fmt.Sprintf(" Of %s the first %d are drawn.", figure.Plural(len(k.classes), "operation"), maxClasses)
	}
	if left := len(c.Sides) - record.MaxSpectra; left > 0 {
		sec.Lead += fmt.Sprintf(" Only the first %d of %s are kept with their spectra.", record.MaxSpectra, figure.Plural(len(c.Sides), "side"))
	}
	return sec
}
