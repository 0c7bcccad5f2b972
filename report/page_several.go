package report

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unicode"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// several puts more than one record into the page: how they compare and what they have in common first, then each of
// them.
func (p *Page) several(sources []*Source, compare Comparer) {
	parts := make([]Page, len(sources))
	names := uniqueNames(sources)
	end, why := p.against(sources, names, compare)
	if p.Title == "" {
		p.Title = fmt.Sprintf("Report of %d records", len(sources))
	}
	probes := Probes{Names: names}
	table := &Table{Caption: "All records", Left: 2, Header: []string{"record", "verdict", "offered/s", "ok/s", "p50", "p99", "not ok"}}
	var points []curvePoint
	var runs []*record.Run
	for i, s := range sources {
		parts[i].add(s, fmt.Sprintf("r%d-", i+1))
		if len(parts[i].Answers) == 0 {
			continue
		}
		row := []string{names[i], parts[i].Answers[0].Brief, "-", "-", "-", "-", "-"}
		switch r := s.Result.(type) {
		case *record.Probe:
			probes.Probes = append(probes.Probes, r)
		case *record.Run:
			if m := r.Phase("measure"); m != nil {
				point := pointOfRun(names[i], r, m)
				points, runs = append(points, point), append(runs, r)
				offered := "-"
				if point.offered > 0 {
					offered = figure.Rate(point.offered)
				}
				row = append(row[:2], offered, disclosed(figure.Rate(point.achieved), r.Target.Software()),
					duration(point.p50), duration(point.p99),
					runLoss(r, m))
			}
		}
		table.Rows = append(table.Rows, row)
	}
	all := Section{ID: "records", Title: "All records", Lead: "Side by side as measured. plimsoll compare shows which differences are real."}
	switch {
	case why != "":
		all.Lead = "Side by side as measured. They cannot be compared: " + why
	case len(end) > 0:
		all.Lead = "Side by side as measured."
	}
	curve := figures(curveFigure(points, curveOf(runs)))
	if len(probes.Probes) == len(sources) {
		table = Section{Table: probes.Table()}.captioned(all.Title, "").Table
		all.Lead = "Side by side as measured, each once. Repeat the probes before you trust a difference of less than 10 %."
	}
	all.Parts = []Section{{Figures: curve, Table: table}}
	p.Sections = append(append(p.Sections, all), end...)
	for i := range parts {
		for _, a := range parts[i].Answers {
			a.Headline = names[i] + ": " + strings.TrimPrefix(a.Headline, names[i])
			if len(end) > 0 { // the first screen is that of the comparison
				p.Sections = append(p.Sections, a.section(names[i]))
				continue
			}
			p.Answers = append(p.Answers, a)
		}
		for _, sec := range parts[i].Sections {
			sec.Title = names[i] + ": " + lower(sec.Title)
			p.Sections = append(p.Sections, sec)
		}
	}
}

func (a Answer) section(name string) Section {
	s := Section{ID: a.ID, Title: name + ": result", Lead: a.Headline}
	points := []Point{{Grade: a.Grade, Text: a.Document.Answer}, {Grade: Note, Text: a.Sure}}
	if a.Problem != "" {
		points = append(points, Point{Grade: a.Grade, Text: a.Problem})
	}
	s.Parts = []Section{{Points: points, Tiles: a.Tiles}, {Figures: figures(a.Drawn)}}
	for _, b := range []Section{
		{Title: "Objectives", Points: a.Objectives}, {Title: "Findings", Points: a.Findings}, {Title: "Checks", Points: a.Checks},
	} {
		if len(b.Points) > 0 {
			s.Parts = append(s.Parts, b)
		}
	}
	if len(a.Facts) > 0 {
		s.Parts = append(s.Parts, Section{Title: "Details", Facts: a.Facts})
	}
	return s
}

func lower(s string) string {
	for _, r := range s {
		return string(unicode.ToLower(r)) + s[len(string(r)):]
	}
	return s
}

// uniqueNames calls each record by its directory, and numbers those with the same name.
func uniqueNames(sources []*Source) []string {
	names := make([]string, len(sources))
	count := map[string]int{}
	for _, s := range sources {
		count[s.Name]++
	}
	for i, s := range sources {
		if names[i] = s.Name; count[s.Name] > 1 {
			names[i] = fmt.Sprintf("%s (%d)", s.Name, i+1)
		}
	}
	return names
}

// pointOfRun is a run on the curve of latency over throughput. A closed loop offers nothing.
func pointOfRun(name string, r *record.Run, m *record.PhaseResult) curvePoint {
	p := curvePoint{name: name, offered: math.NaN(), achieved: m.Rates.Achieved, p50: math.NaN(), p99: math.NaN()}
	if m.Offered > 0 {
		p.offered = m.Rates.Offered
	}
	if l := timesOf(r, &m.All); l != nil {
		p.p50, p.p99 = or(l.P50), or(l.P99)
	}
	return p
}

// curveOf says what the curve of some runs is. They are joined only where the offered load is all that they differ in.
func curveOf(runs []*record.Run) curve {
	c := curve{id: "records-curve", what: "record", time: "time", joined: true}
	scheduled := 0
	for _, r := range runs {
		c.joined = c.joined && loadless(r) == loadless(runs[0]) && r.Specification.Load.Rate > 0
		if r.Scheduled {
			scheduled++
		}
	}
	switch scheduled {
	case len(runs):
		c.time = "response time"
	case 0:
		c.time = "service time"
	}
	return c
}

// loadless returns the settings of a run except the offered load and what does not change the load: names and seeds.
// The environment and the target are included.
func loadless(r *record.Run) string {
	s := r.Specification
	s.Out, s.Labels, s.Load.Rate, s.Workload.Seed, s.Load.Seed, s.Objectives = "", nil, 0, 0, 0, nil
	b, err := json.Marshal([]any{s, r.Target.Kind, r.Target.Version, r.Target.Topology, r.Target.Settings,
		r.ClientSettings, r.Environment.Host})
	if err != nil {
		return r.Target.Address // cannot happen, because the types of a record have a JSON form
	}
	return string(b)
}

// run are the files of a run, nil for other records.
func (s *Source) run() *runFiles {
	r, _ := s.files.(*runFiles)
	return r
}

// Comparable reports whether a record can be compared with others.
func (s *Source) Comparable() bool {
	switch s.Result.(type) {
	case *record.Run, *record.Study:
		return true
	}
	return false
}

// ProbesOf are records side by side, nil if one of them is no probe.
func ProbesOf(sources []*Source) *Probes {
	ps := &Probes{}
	for _, s := range sources {
		p, ok := s.Result.(*record.Probe)
		if !ok {
			return nil
		}
		ps.Names, ps.Probes = append(ps.Names, s.Name), append(ps.Probes, p)
	}
	return ps
}
