package html

import (
	"fmt"

	"github.com/plimsoll-bench/plimsoll/capacity/predict"
	"github.com/plimsoll-bench/plimsoll/internal/shellword"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/suite/judge"
)

func (s *Source) openSuite(dir string) error {
	r, err := record.OpenSuite(dir)
	if err != nil {
		return err
	}
	spec := r.Specification
	spec.Out = ""
	s.again, s.command = exactSpec(spec), exactCommand(r.Command)
	s.Parts = map[string]*Source{}
	s.Suite = report.NewSuite(r, func(p *record.Part) (x judge.Part, err error) {
		at, err := record.Below(dir, p.Record)
		if err != nil {
			return x, err
		}
		part, err := Open(at)
		if err != nil {
			return x, err
		}
		if part.Suite != nil || part.Run != nil || part.Comparison != nil {
			return x, fmt.Errorf("%s is not the record of a %s", p.Record, p.Kind)
		}
		s.Parts[visible(p.Name)] = part
		return judge.Part{Study: part.Study, Drill: part.Drill, Probe: part.Probe}, nil
	})
	Tidy(r)
	Tidy(&s.Suite.Problem)
	for i := range s.Suite.Parts {
		Tidy(&s.Suite.Parts[i].Unread)
	}
	for i := range s.Suite.Figures { // the document is no part of the record
		f := &s.Suite.Figures[i]
		Tidy(&f.Name)
		Tidy(&f.Lines)
		Tidy(&f.Statements)
	}
	return nil
}

// suiteSections are those of the document, with charts, and each part as its own page has it, folded.
func suiteSections(src *Source, d *report.Document, prefix string) ([]Section, []*Track) {
	s := src.Suite
	figures := map[string][]*Figure{}
	for i := range s.Figures {
		at := report.NthID("figure", i)
		figures[at] = suiteFigures(&s.Figures[i], prefix+at)
	}
	list := arranged(d.Sections, prefix, figures)
	var tracks []*Track
	for i := range d.Parts {
		section, more := partSection(src, &d.Parts[i], fmt.Sprintf("%sp%d-", prefix, i+1))
		list = append(list, section)
		tracks = append(tracks, more...)
	}
	if factors, _, err := predict.Published(s.Record.Specification.Published); err == nil {
		if section, ok := backtestSection(factors, prefix+"backtest"); ok {
			section.Title = "Backtest of the document"
			list = append(list, section)
		}
	}
	return append(list, suiteDisclosure(src, prefix)), tracks
}

func partSection(src *Source, p *report.Part, prefix string) (Section, []*Track) {
	section := Section{ID: prefix + "part", Title: "Part " + p.Name, Lead: p.Finding}
	part := src.Parts[p.Name]
	if part == nil {
		section.Blocks = []Block{{Lines: []string{"There is no record of it."}}}
		return section, nil
	}
	var page Page
	page.add(part, prefix)
	section.Folded = "All that it measured"
	section.Blocks = []Block{{Lines: []string{"This command makes a page of its record:"},
		Code: &Code{Label: "Report of the part " + p.Name, Text: "plimsoll report " + shellword.Quote(part.Dir)}}}
	for i := range page.Answers {
		result := page.Answers[i].section(p.Name)
		section.Blocks = append(section.Blocks, Block{ID: result.ID, Heading: "Result", Lines: []string{result.Lead}})
		section.Blocks = append(section.Blocks, result.Blocks...)
	}
	for _, x := range filled(page.Sections) {
		if x.ID == prefix+report.GroupPublished {
			continue // the figures of the suite have it
		}
		head := Block{ID: x.ID, Heading: x.Title}
		if x.Lead != "" {
			head.Lines = []string{x.Lead}
		}
		section.Blocks = append(append(section.Blocks, head), x.Blocks...)
	}
	return section, page.Tracks
}

func suiteDisclosure(src *Source, prefix string) Section {
	s := src.Suite.Record
	sec := Section{ID: prefix + "disclosure", Title: "Disclosure",
		Lead: "Everything needed to repeat and to judge the result. The specification of each part is in its own section."}
	again := Block{Heading: "suite.yaml"}
	if why := src.again.missing(record.SuiteFile); why != "" {
		again.Lines = []string{why}
	} else {
		again.Code = &Code{Label: "suite.yaml", Text: src.again.text}
	}
	sec.Blocks = []Block{commandBlock(src.command), again,
		{Heading: "Environment", Facts: environmentFacts(s.Environment)},
		{Heading: "Record", Facts: report.Facts("Directory", visible(src.Dir), "Folder of the suite", s.Source,
			"Status", string(s.Status), "Budget", report.BudgetText(s), "Loaded", s.Against,
			"Written by", report.Version(s.Tool), "Schema", s.SchemaVersion)}}
	return sec
}
