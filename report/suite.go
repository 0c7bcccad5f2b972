package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/published"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/suite/judge"
)

// Suite is a judged suite, made ready to be printed.
type Suite struct {
	*judge.Suite
	// Figures are the figures of the document that parts repeat, in their order.
	Figures []SuiteFigure
}

// SuiteFigure is one figure, table or output of the document, with its statements and what was measured.
type SuiteFigure struct {
	// Name is how a part calls it. Sweep is nil if the document has nothing by that name that could be measured.
	Name  string
	Sweep *published.Sweep
	// Statements are ratios and words level by level, then trends.
	Statements []record.SuiteStatement
	// Lines explain its table.
	Lines []string
}

// NewSuite makes a suite ready to be printed. open reads the record of a part that has one. A suite that has no
// judgement of all that it did is judged (see [judge.Read]).
func NewSuite(r *record.Suite, open func(*record.Part) (judge.Part, error)) *Suite {
	s := &Suite{Suite: judge.Read(r, open)}
	for _, f := range r.Figures {
		shown := SuiteFigure{Name: f.Name}
		if s.Source != nil && f.Sweep != "" {
			shown.Sweep = s.Source.Sweep(f.Sweep)
		}
		for _, st := range r.Statements {
			if shown.Sweep != nil && st.Sweep == f.Sweep {
				shown.Statements = append(shown.Statements, st)
			}
		}
		for _, n := range f.Notes {
			shown.Lines = append(shown.Lines, s.note(n))
		}
		s.Figures = append(s.Figures, shown)
	}
	return s
}

// tidy tidies what is shown of a suite and is no part of its record: the document, and the records of its parts.
func (s *Suite) tidy() {
	Tidy(&s.Problem)
	for i := range s.Parts {
		p := &s.Parts[i]
		Tidy(&p.Unread)
		if r := p.Result(); r != nil {
			Tidy(r)
		}
	}
	for i := range s.Figures {
		f := &s.Figures[i]
		Tidy(&f.Name)
		Tidy(&f.Lines)
		Tidy(&f.Statements)
	}
}

// note is a sentence about a figure: its own, or a finding of a drill that the document does not have.
func (s *Suite) note(n record.SuiteNote) string {
	if n.Text != "" {
		return n.Text
	}
	text := n.Level + " (" + n.Part + ")"
	i := slices.IndexFunc(s.Parts, func(p judge.Part) bool { return p.Name == n.Part })
	switch {
	case i < 0:
		return text
	case s.Parts[i].Drill != nil:
		return text + ": " + drillBeside(s.Parts[i].Drill)
	}
	return text + ": " + partFinding(&s.Parts[i])
}

// drillBeside returns results of a drill that the documents do not have.
func drillBeside(d *record.Drill) string {
	text := drillVerdict(d) + ", " + drillLoss(d)
	if d.Losses != nil && d.Losses.Max > 0 {
		lost := len(slices.DeleteFunc(slices.Clone(d.Losses.Values), func(x float64) bool { return x == 0 }))
		text += fmt.Sprintf(", in %d of %s", lost, figure.Plural(len(d.Losses.Values), "round"))
	}
	seeds, found := 0, 0
	for i := range d.Rounds {
		seeds, found = seeds+d.Rounds[i].Seeds, found+d.Rounds[i].SeedsFound
	}
	if seeds > 0 {
		text += fmt.Sprintf("; %d of %d documents from before the load are present", found, seeds)
	}
	return text
}

func suiteTitle(s *Suite) string {
	r := s.Record
	text := "suite " + r.Specification.Name + bracketed(r.Specification.Title) + onEngine(r.Engine)
	done := 0
	for i := range r.Parts {
		if r.Parts[i].Status == record.PartDone {
			done++
		}
	}
	text += fmt.Sprintf(": %d of %s done", done, figure.Plural(len(r.Parts), "part"))
	if r.Status != record.Complete {
		text += ", " + string(r.Status)
	}
	return text
}

// counted is the number of statements that count.
func (s *Suite) counted() (all int) {
	for _, n := range s.Record.Counts {
		all += n
	}
	return all
}

// partFinding describes the result of a part in one sentence.
func partFinding(p *judge.Part) string {
	if text := p.Missing(); text != "" {
		return text
	}
	switch {
	case p.Study != nil:
		return studyFinding(p.Study)
	case p.Drill != nil:
		text := drillVerdict(p.Drill)
		if felt := judge.Noticed(p.Drill); felt != "" {
			text += "; the failure was " + felt
		}
		return text + "; " + drillLoss(p.Drill)
	}
	return probeFinding(p.Probe)
}

// partShort is the result of a part for a first screen, what matters most first.
func partShort(p *judge.Part) string {
	switch text := p.Missing(); {
	case text != "":
		return strings.TrimPrefix(text, string(p.Status)+": ")
	case p.Study != nil:
		most := ""
		if best := largestChange(p.Study.Comparisons); best != nil {
			most = fmt.Sprintf("%s %s at %s", heading(best.Metric), changeText(best), best.Configuration)
		}
		return join("; ", most, cmp.Or(verdictCounts(p.Study.Comparisons), studyFinding(p.Study)))
	case p.Drill != nil:
		return drillVerdict(p.Drill) + "; " + drillLoss(p.Drill)
	}
	return partFinding(p)
}

// largestChange is the largest certain change of the throughput, or of another metric if there is none. It is nil
// without any.
func largestChange(list []record.Comparison) (best *record.Comparison) {
	for i := range list {
		c := &list[i]
		certain := c.Ratio != nil && (c.Verdict == record.Better || c.Verdict == record.Worse)
		if certain && (best == nil || c.Metric == "throughput" && best.Metric != "throughput" ||
			(c.Metric == "throughput") == (best.Metric == "throughput") && distance(c) > distance(best)) {
			best = c
		}
	}
	return best
}

// studyFinding names the largest certain change of the throughput, or of another metric if there is none.
func studyFinding(s *record.Study) string {
	best := largestChange(s.Comparisons)
	text := verdict(studyObjectives(s), s.Validity, s.Status)
	if words := verdictCounts(s.Comparisons); words != "" {
		text += "; " + words
	}
	if best != nil {
		text += fmt.Sprintf("; most: %s %s %s at %s", heading(best.Metric), changeText(best), intervalText(best), best.Configuration)
	}
	return text
}

// probeFinding names where more threads stop helping, and what a power cut left.
func probeFinding(p *record.Probe) string {
	var words []string
	for _, r := range p.Ramps {
		if r.Threads == 0 {
			words = append(words, r.Operation+": more threads helped to the end")
			continue
		}
		words = append(words, r.Operation+": "+judge.NoMoreHelp(r.Threads))
	}
	for _, d := range p.Durability {
		if d.Grade == "C" {
			words = append(words, string(d.Verdict)+": "+d.Text)
		}
	}
	if len(words) == 0 {
		return probeTitle(p)
	}
	return probeStack(p.Storage) + "; " + strings.Join(words, "; ")
}

// scaleText says at which part of the document's size it was repeated.
func scaleText(s spec.Scale) string {
	words := scaleWords(s)
	if len(words) == 0 {
		return "1: as the document has it"
	}
	return strings.Join(words, ", ") + " of the document's; levels have the document's names"
}

// scaleWords are what was scaled, and by which factor.
func scaleWords(s spec.Scale) (words []string) {
	for _, x := range []struct {
		name string
		by   spec.Fraction
	}{{"data", s.Data}, {"workers", s.Workers}, {"cores", s.Cores}, {"rates", s.Rates}, {"servers", s.Servers}} {
		if x.by != 0 && x.by != 1 {
			words = append(words, x.name+" "+x.by.String())
		}
	}
	return words
}

// suiteScale says at which part of the document's size a suite was repeated; where its parts have scales of their
// own, each of them.
func suiteScale(s *Suite) string {
	var texts []string
	parts := map[string][]string{}
	for i := range s.Parts {
		p := &s.Parts[i]
		if s.Record.Scale != (spec.Scale{}) || p.Study == nil || p.Study.Specification.Scale == nil {
			continue
		}
		text := scaleText(*p.Study.Specification.Scale)
		if parts[text] == nil {
			texts = append(texts, text)
		}
		parts[text] = append(parts[text], p.Name)
	}
	if len(texts) == 0 {
		return scaleText(s.Record.Scale)
	}
	for i, text := range texts {
		texts[i] = strings.Join(parts[text], ", ") + ": " + text
	}
	return strings.Join(texts, "; ")
}

// head writes the head of a suite: how far the document was found again or, where nothing is compared with it, how many
// parts are done.
func (s *Suite) head(d *Document) {
	r := s.Record
	done, left := 0, 0
	t := &Table{Header: []string{"part", "status", "result"}, Left: 3}
	for i := range s.Parts {
		p := &s.Parts[i]
		switch p.Status {
		case record.PartDone:
			done++
		case record.PartFailed, record.PartPlanned, record.PartRunning:
			left++
		}
		t.row(p.Name, string(p.Status), partShort(p))
	}
	d.Answer = fmt.Sprintf("%d of %s done", done, figure.Plural(len(s.Parts), "part"))
	if all := s.counted(); all > 0 {
		d.Answer = fmt.Sprintf("%d of %s agree%s", r.Counts[record.Agrees], figure.Plural(all, "statement"), s.others())
	}
	d.Sure = join("; ", s.belief(), prefixed("scaled to ", strings.Join(scaleWords(r.Scale), ", ")))
	d.Short = append(s.points((*SuiteFigure).short), s.doubts()...)
	d.shorten()
	d.Summary, d.Next = t, reportNext()
	if left > 0 && r.Status != record.Running {
		d.Next = Next{"plimsoll suite resume DIR --retry-failed", "the parts without a result"}
	}
}

// belief says whether the figures of a suite can be believed.
func (s *Suite) belief() string {
	text := map[measure.Severity]string{measure.Invalid: "INVALID in parts", measure.Warning: "valid, with warnings"}[s.Worst()]
	text = cmp.Or(text, "valid")
	if s.Record.Budget == record.BudgetSmoke {
		text = "a smoke test, whose figures prove nothing"
	}
	if s.Record.Status != record.Complete {
		text += " (" + string(s.Record.Status) + ")"
	}
	return text
}

// others counts the statements that do not agree, and those that are open.
func (s *Suite) others() string {
	c, text := s.Record.Counts, ""
	for _, x := range []struct {
		n    int
		word string
	}{{c[record.Disagrees], "disagree"}, {c[record.SameDirection], "differ in size"},
		{c[record.Compatible] + c[record.Undecided] + c[record.NotMeasured], "open"}} {
		if x.n > 0 {
			text += fmt.Sprintf(", %d %s", x.n, x.word)
		}
	}
	return text
}
