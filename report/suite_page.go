package report

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/plimsoll-bench/plimsoll/capacity/predict"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/shellword"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/suite/judge"
)

// suiteFiles are what the page of a suite shows besides its main file.
type suiteFiles struct {
	*Source
	Suite *Suite
	// Parts are the records of those that can be read, by name.
	Parts map[string]*Source
}

func suiteKind() *kind {
	k := kindOf("a suite", suiteDocument)
	k.name, k.open, k.csv = record.KindSuite, openSuite, table(suiteCSV)
	k.value = typed(func(s *Suite) any { return s.Record })
	k.ready = func(dir string, r record.Result) any {
		s, _ := r.(*record.Suite)
		return NewSuite(s, judge.PartIn(dir))
	}
	k.loaded = typed(func(s *Suite) []string { return strings.Split(s.Record.Engine, "; ") })
	k.list, k.parts = listed(suiteEntry), typed(partNames)
	k.now = suiteNow
	k.all, k.each = "with their trials and rounds", true
	return k
}

func openSuite(into *Source, dir string) error {
	r, err := record.OpenSuite(dir)
	if err != nil {
		return err
	}
	s := &suiteFiles{Source: into}
	into.files = s
	spec := r.Specification
	spec.Out = ""
	s.again, s.command = exactSpec(spec), exactCommand(r.Command)
	s.Parts = map[string]*Source{}
	s.Suite = NewSuite(r, func(p *record.Part) (x judge.Part, err error) {
		at, err := record.Below(dir, p.Record)
		if err != nil {
			return x, err
		}
		part, err := Open(at)
		if err != nil {
			return x, err
		}
		if x, err = judge.PartOf(p, part.Result); err == nil {
			s.Parts[bounded(p.Name)] = part
			s.Inner = append(s.Inner, part)
		}
		return x, err
	})
	into.Result = s.Suite
	Tidy(r)
	return nil
}

// sections are those of the document, and each part as its own page has it, folded.
func (src *suiteFiles) sections(d *Document) []Section {
	list := d.Sections
	for i := range d.Parts {
		list = append(list, src.part(&d.Parts[i], fmt.Sprintf("p%d-", i+1)))
	}
	if factors, _, err := predict.Published(src.Suite.Record.Specification.Published); err == nil {
		if section, ok := backtestSection(factors, "backtest"); ok {
			section.Title = "Backtest of the document"
			list = append(list, section)
		}
	}
	return append(list, suiteDisclosure(src))
}

func (src *suiteFiles) part(p *Part, prefix string) Section {
	section := Section{ID: prefix + "part", Title: "Part " + p.Name, Lead: p.Finding}
	part := src.Parts[p.Name]
	if part == nil {
		section.Parts = []Section{{Lines: []string{"There is no record of it."}}}
		return section
	}
	var page Page
	page.add(part, prefix)
	section.Folded = "All that it measured"
	section.Parts = []Section{{Lines: []string{"This command makes a page of its record:"},
		Code: &Code{Label: "Report of the part " + p.Name, Text: "plimsoll report " + shellword.Quote(part.Dir)}}}
	for i := range page.Answers {
		result := page.Answers[i].section(p.Name)
		section.Parts = append(section.Parts, Section{ID: result.ID, Title: "Result", Lines: []string{result.Lead}})
		section.Parts = append(section.Parts, result.Parts...)
	}
	for _, x := range page.Sections {
		if x.ID == prefix+GroupPublished {
			continue // the figures of the suite have it
		}
		head := Section{ID: x.ID, Title: x.Title}
		if x.Lead != "" {
			head.Lines = []string{x.Lead}
		}
		head.Track = x.Track
		section.Parts = append(append(section.Parts, head), x.Parts...)
	}
	return section
}

func suiteDisclosure(src *suiteFiles) Section {
	s := src.Suite.Record
	sec := src.disclosure(commandBlock("Exact command", src.command), src.again.block("suite.yaml", "", record.SuiteFile),
		Section{Title: "Environment", Facts: environmentFacts(s.Environment)},
		Section{Title: "Record", Facts: Facts("Directory", bounded(src.Dir), "Folder of the suite", s.Source,
			"Status", string(s.Status), "Budget", budgetText(s), "Loaded", s.Against,
			"Written by", Version(s.Tool), "Schema", s.SchemaVersion)})
	sec.Lead += " The specification of each part is in its own section."
	return sec
}

// suiteEntry is a suite in a list: how far it came.
func suiteEntry(s *record.Suite, e *Entry) {
	e.Title, e.What, e.Labels = s.Specification.Name, s.Specification.Title, s.Specification.Labels
	e.Target, e.Grade = cmp.Or(s.Against, s.Engine), suiteGrade(s)
	e.Verdict, e.Disclosure = partsDone(s), Disclosure(s.Engine)
	if s.SuiteJudgement != nil && s.Counts[record.Agrees]+s.Counts[record.Disagrees] > 0 {
		e.Figure = fmt.Sprintf("%d of %d statements agree", s.Counts[record.Agrees], s.Counts[record.Agrees]+s.Counts[record.Disagrees])
		e.Verdict += fmt.Sprintf("; %d of the document's statements agree, %d disagree", s.Counts[record.Agrees],
			s.Counts[record.Disagrees])
	}
	if e.Figure == "" {
		e.Figure = partsDone(s)
	}
	if s.Status != record.Complete {
		e.Verdict += ", " + string(s.Status)
	}
}

// partsDone describes how many parts are done, and the outcome of the others.
func partsDone(s *record.Suite) string {
	counts := map[record.PartStatus]int{}
	for i := range s.Parts {
		counts[s.Parts[i].Status]++
	}
	text := fmt.Sprintf("%d of %s done", counts[record.PartDone], figure.Plural(len(s.Parts), "part"))
	for _, status := range []record.PartStatus{record.PartFailed, record.PartLeft} {
		if n := counts[status]; n > 0 {
			text += fmt.Sprintf(", %d %s", n, status)
		}
	}
	return text
}

func partNames(s *record.Suite) map[string]string {
	names := map[string]string{}
	for i := range s.Parts {
		p := &s.Parts[i]
		names[path.Join(record.PartsDir, p.Name)] = p.Name // where it is going to be, too
		if p.Record != "" {
			names[path.Clean(p.Record)] = p.Name
		}
	}
	return names
}

func suiteNow(dir string) (say Now, err error) {
	s, err := record.OpenSuite(dir)
	if err != nil {
		return say, err
	}
	say.Text = partsDone(s)
	for i := range s.Parts {
		p := &s.Parts[i]
		where := path.Join(record.PartsDir, p.Name)
		if p.Record != "" {
			where = path.Clean(p.Record)
		}
		switch {
		case p.Status != record.PartRunning || !filepath.IsLocal(filepath.FromSlash(where)):
		case holds(dir, where):
			say.Running = []NowPart{{where, p.Name + " is running"}}
		default:
			say.Text += "; " + p.Name + " is being prepared"
		}
	}
	return say, nil
}
