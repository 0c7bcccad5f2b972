package html

import (
	"github.com/plimsoll-bench/plimsoll/report"
)

func studySections(src *Source, d *report.Document, prefix string) []Section {
	s := src.Study
	id := func(section string) string { return prefix + section }
	figures := map[string][]*Figure{
		"configurations": levelFigures(s, nil, id("configurations")),
		"changes":        forestFigures(s.Comparisons, float64(s.Specification.Margin), timeOf(s), id("changes")),
		"trials":         {trialFigure(s, id("trials"))},
	}
	if s.Capacity != nil {
		figures["capacity"] = []*Figure{capacityFigure(s.Capacity, id("capacity")), hockeyFigure(s, id("capacity"))}
	}
	for i := range s.Procedures {
		at := report.NthID("procedure", i)
		figures[at] = []*Figure{procedureFigure(&s.Procedures[i], id(at))}
	}
	for i := range s.Specification.Factors {
		at := report.NthID("factor", i)
		figures[at] = levelFigures(s, &s.Specification.Factors[i], id(at))
	}
	beside, err := report.PublishedBeside(s)
	for i := range beside {
		if at := report.NthID(report.GroupPublished, i); err == nil { // the section says what is wrong
			figures[at] = []*Figure{publishedFigure(&beside[i], timeOf(s), id(at))}
		}
	}
	list := append(arranged(d.Sections, prefix, figures), predictedSections(s, prefix)...)
	return append(list, studyDisclosure(src, prefix))
}
