package html

import (
	"fmt"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
)

// runSections are the parts of a run behind its answer: those of its document, with charts, how it went in time, and
// what machines did beside it. prefix makes ids unique where a page has several runs.
func runSections(s *Source, d *report.Document, prefix string) ([]Section, *Track) {
	p := s.Run.Phase("measure")
	over, track := timeSection(s, prefix)
	if p == nil {
		return []Section{over, disclosure(s, prefix)}, track
	}
	figures := map[string][]*Figure{"operations": {spectrum(s, p, prefix)}}
	if s.Run.Lab != nil {
		figures["lab-hosts"] = labFigures(s, prefix, track)
	}
	var list []Section
	for _, sec := range arranged(d.Sections, prefix, figures) {
		switch sec.ID {
		case prefix + "operations":
			list = append(list, sec, over)
		case prefix + "client":
			machines := resourceSection(s, p, prefix, track)
			machines.Blocks = append(sec.Blocks, machines.Blocks...)
			list = append(list, machines)
		case prefix + "conditions": // the disclosure has more of it
		default:
			list = append(list, sec)
		}
	}
	return append(list, disclosure(s, prefix)), track
}

func eventTable(events []measure.Event) *Table {
	const most = 300
	t := &Table{Caption: "Events", Folded: true, Columns: columns(3, "at", "event", "what")}
	t.Columns[0].Number = true
	for i, e := range events {
		if i == most {
			t.Notes = append(t.Notes, fmt.Sprintf("%s more are in %s.", figure.Plural(len(events)-most, "event"),
				record.EventsFile))
			break
		}
		t.Rows = append(t.Rows, []string{figure.Duration(e.At), e.Kind, e.Text})
	}
	return t
}
