package html

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/suite/judge"
)

// openSuite reads the record of a suite with those of its parts, which are kept by name.
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
			return x, fmt.Errorf("%s is the record of something else than a %s", p.Record, p.Kind)
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

// suiteAnswer is the first screen of a suite.
func suiteAnswer(s *report.Suite, prefix string) Answer {
	r := s.Record
	a := Answer{ID: prefix + "answer", Headline: capital(report.SuiteTitle(s)), Verdict: report.SuiteVerdict(s), Problem: cmp.Or(r.Problem, s.Problem), Kind: kindOf(r.Validity, r.Status)}
	counts := s.Record.Counts
	for i := range s.Parts {
		p := &s.Parts[i]
		switch k := partKind(p); {
		case k == "bad" && len(p.Problem)+len(p.Unread) == 0: // its figures must not be used
			a.Kind = k
		case (k == "bad" || k == "warn") && a.Kind == "good":
			a.Kind = "warn"
		}
	}
	if a.Kind == "good" && (counts[record.Disagrees] > 0 || r.Budget == record.BudgetSmoke) {
		a.Kind = "warn"
	}
	if r.Status == record.Running {
		a.Kind = "warn"
	}
	a.Findings = suitePoints(s)
	a.Tiles = suiteTiles(s, counts)
	a.Badges = suiteBadges(s)
	for _, f := range s.Facts() {
		a.Facts = append(a.Facts, Fact{capital(f[0]), f[1]})
	}
	return a
}

// suitePoints are what the document says and what was found here, and the parts whose figures must not be used. As long as nothing
// can be held against the document, and while the suite goes on, they are its parts.
func suitePoints(s *report.Suite) []Point {
	var points []Point
	headlines := s.Headlines()
	for _, h := range headlines {
		points = append(points, Point{agreementKind(h.Agreement), h.What, fmt.Sprintf("there %s, here %s: %s", h.There, h.Here, h.Agreement)})
	}
	whole := len(headlines) > 0 && s.Record.Status != record.Running
	if !whole {
		points = nil
	}
	for i := range s.Parts {
		if p := &s.Parts[i]; !whole || partKind(p) == "bad" {
			points = append(points, partPoint(p))
		}
	}
	return points
}

// agreementKind is the colour of an agreement.
func agreementKind(a record.Agreement) string {
	switch a {
	case record.Agrees, record.SameDirection:
		return "good"
	case record.Disagrees:
		return "warn"
	}
	return "note"
}

// partPoint is a part with what it found, in a sentence.
func partPoint(p *report.SuitePart) Point { return Point{partKind(p), p.Name, p.Finding()} }

// partKind is the colour of a part. What was left out has none: nothing is known of it.
func partKind(p *report.SuitePart) string {
	switch {
	case p.Status == record.PartFailed || p.Unread != "":
		return "bad"
	case p.Study != nil:
		return kindOf(p.Study.Validity, p.Study.Status)
	case p.Drill != nil && p.Drill.Verdict == record.Violated:
		return "warn" // it is a finding, and not a doubt
	case p.Drill != nil:
		return kindOf(p.Drill.Validity, p.Drill.Status)
	case p.Probe != nil && p.Probe.Verdict == record.Lying:
		return "warn"
	case p.Probe != nil:
		return kindOf(p.Probe.Validity, p.Probe.Status)
	}
	return "note"
}

// suiteTiles are the statements of the document by what became of them.
func suiteTiles(s *report.Suite, counts map[record.Agreement]int) []Tile {
	all, done := 0, 0
	for _, n := range counts {
		all += n
	}
	for i := range s.Parts {
		if s.Parts[i].Status == record.PartDone {
			done++
		}
	}
	list := []Tile{{"Parts done", fmt.Sprintf("%d of %d", done, len(s.Parts)), ScaleNote(s)}}
	if all == 0 {
		return list
	}
	for _, x := range []struct {
		of   record.Agreement
		note string
	}{{record.Agrees, "the document's ratio lies in the measured interval, or its words were found"}, {record.SameDirection, "better or worse as there, by another ratio"},
		{record.Disagrees, "the other direction, or a difference on one side only"}, {record.NotTold, "too uncertain to say"}, {record.NotMeasured, cmp.Or(report.WhyNotMeasured(s), "nothing was left out")}} {
		list = append(list, Tile{capital(string(x.of)), fmt.Sprintf("%d of %d", counts[x.of], all), x.note})
	}
	return list
}

// ScaleNote is the scale in a few words.
func ScaleNote(s *report.Suite) string {
	own := slices.ContainsFunc(s.Parts, func(p report.SuitePart) bool { return p.Study != nil && p.Study.Specification.Scale != nil })
	if s.Record.Scale == (spec.Scale{}) && own {
		return "parts have scales of their own"
	}
	return "scale " + report.SuiteScale(s)
}

// suiteBadges say what was looked at in the suite as a whole.
func suiteBadges(s *report.Suite) []Point {
	left, failed, invalid, few := 0, 0, 0, 0
	for i := range s.Parts {
		p := &s.Parts[i]
		switch p.Status {
		case record.PartLeft:
			left++
		case record.PartFailed:
			failed++
		}
		if p.Study != nil {
			if measure.Worst(p.Study.Validity) == measure.Invalid {
				invalid++
			}
			if slices.ContainsFunc(p.Study.Validity, func(f measure.Finding) bool { return f.ID == "few-trials" && f.Severity != measure.Note }) {
				few++
			}
		}
	}
	badge := func(n int, good, bad string) Point {
		if n == 0 {
			return Point{"good", "✓", good}
		}
		return Point{"warn", "!", figure.Plural(n, "part") + " " + bad}
	}
	return []Point{badge(failed, "no part failed", "failed"), badge(left, "no part was left out", "left out"), badge(invalid, "no part is invalid", "invalid"),
		badge(few, "enough trials for verdicts", "with too few trials for a verdict")}
}

// suiteSections are the tables that the terminal prints, with charts, and each part as its own page has it, folded.
func suiteSections(src *Source, prefix string) ([]Section, []*Track) {
	s := src.Suite
	var list []Section
	for i, part := range report.SuiteSections(s) {
		if i == 0 {
			continue // the answer has it
		}
		section := shared(part)
		section.ID = prefix + section.ID
		for k := range s.Figures {
			if f := &s.Figures[k]; f.Title() == part.Title {
				section.ID = prefix + "figure-" + fmt.Sprint(k+1)
				var drawn []Block
				for _, x := range suiteFigures(f, section.ID) {
					drawn = append(drawn, Block{Figure: x})
				}
				section.Blocks = append(drawn, section.Blocks...)
			}
		}
		list = append(list, section)
	}
	var tracks []*Track
	for i := range s.Parts {
		section, more := partSection(src, &s.Parts[i], fmt.Sprintf("%sp%d-", prefix, i+1))
		list = append(list, section)
		tracks = append(tracks, more...)
	}
	return append(list, suiteDisclosure(src, prefix)), tracks
}

// partSection is a part as its own page has it.
func partSection(src *Source, p *report.SuitePart, prefix string) (Section, []*Track) {
	section := Section{ID: prefix + "part", Title: "Part " + p.Name, Lead: p.Finding()}
	part := src.Parts[p.Name]
	if part == nil {
		section.Blocks = []Block{{Lines: []string{"There is no record of it."}}}
		return section, nil
	}
	var page Page
	page.add(part, prefix)
	section.Folded = "All that it measured"
	section.Blocks = []Block{{Lines: []string{"Its record is a page of its own:"}, Code: &Code{Label: "Report of the part " + p.Name, Text: "plimsoll report " + shellQuote(part.Dir)}}}
	for i := range page.Answers {
		result := page.Answers[i].section(p.Name)
		section.Blocks = append(section.Blocks, Block{ID: result.ID, Heading: "Result", Lines: []string{result.Lead}})
		section.Blocks = append(section.Blocks, result.Blocks...)
	}
	for _, x := range filled(page.Sections) {
		if strings.HasPrefix(x.Title, "published") || strings.HasPrefix(x.Title, "Published") {
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

// suiteDisclosure is what somebody needs to do the suite again, and to judge it.
func suiteDisclosure(src *Source, prefix string) Section {
	s := src.Suite.Record
	sec := Section{ID: prefix + "disclosure", Title: "Disclosure", Lead: "Everything that is needed to do it again, and to judge it. What each part was asked to do is in its own section."}
	again := Block{Heading: "suite.yaml"}
	if why := src.again.missing(record.SuiteFile); why != "" {
		again.Lines = []string{why}
	} else {
		again.Code = &Code{Label: "suite.yaml", Text: src.again.text}
	}
	sec.Blocks = []Block{commandBlock(src.command), again,
		{Heading: "Environment", Facts: environmentFacts(s.Environment)},
		{Heading: "Record", Facts: facts("Directory", visible(src.Dir), "Folder of the suite", s.Source, "Status", string(s.Status), "Budget", report.BudgetText(s), "Loaded", s.Against,
			"Written by", Version(s.Tool), "Schema", s.SchemaVersion)}}
	return sec
}
