package report

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/published"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Suite is a suite with the records of its parts, and what the document states held against them.
type Suite struct {
	Record *record.Suite
	// Parts are those of the record, in its order.
	Parts []SuitePart
	// Source is the document; nil if the suite names none. Problem says why it cannot be shown.
	Source  *published.Source
	Problem string
	// Figures are what the parts show of the document, in their order; Advice is what it recommends.
	Figures []SuiteFigure
	Advice  []record.SuiteAdvice
}

// SuitePart is a part with its record: one of Study, Drill and Probe is set where there is one that can be read.
type SuitePart struct {
	*record.Part
	Study *record.Study
	Drill *record.Drill
	Probe *record.Probe
	// Unread is why its record cannot be read.
	Unread string
}

// SuiteFigure is one figure, table or output of the document, with its statements held against what was measured.
type SuiteFigure struct {
	// Name is how a part calls it. Sweep is nil if the document has nothing by that name that could be measured.
	Name  string
	Sweep *published.Sweep
	// Statements are ratios and words level by level, then trends.
	Statements []record.SuiteStatement
	// Lines are what has to be known of it beside its table.
	Lines []string
}

// PartIn returns what reads the record of a part of the suite in dir, for [NewSuite].
func PartIn(dir string) func(*record.Part) (SuitePart, error) {
	return func(p *record.Part) (x SuitePart, err error) {
		at, err := record.Below(dir, p.Record)
		if err != nil {
			return x, err
		}
		r, err := record.Open(at)
		if err != nil {
			return x, err
		}
		switch r := r.(type) {
		case *record.Study:
			x.Study = r
		case *record.Drill:
			x.Drill = r
		case *record.Probe:
			x.Probe = r
		}
		if have := r.Common().Kind; have != p.Kind || x == (SuitePart{}) {
			return SuitePart{}, fmt.Errorf("%s is the record of a %s, and the part is a %s", p.Record, have, p.Kind)
		}
		return x, nil
	}
}

// OpenSuite reads a suite and the records of its parts. A part that cannot be read says so; the others are shown.
func OpenSuite(dir string) (*Suite, error) {
	s, err := record.OpenSuite(dir)
	if err != nil {
		return nil, err
	}
	return NewSuite(s, PartIn(dir)), nil
}

// NewSuite holds a document against the parts of a suite. open reads the record of a part that has one.
func NewSuite(r *record.Suite, open func(*record.Part) (SuitePart, error)) *Suite {
	s := &Suite{Record: r}
	for i := range r.Parts {
		p := SuitePart{}
		if at := &r.Parts[i]; at.Record != "" && filepath.IsLocal(filepath.FromSlash(at.Record)) {
			var err error
			if p, err = open(at); err != nil {
				p.Unread = err.Error()
			}
		}
		p.Part = &r.Parts[i]
		s.Parts = append(s.Parts, p)
	}
	if name := r.Specification.Published; name != "" {
		source, err := published.Document(name)
		if err != nil {
			s.Problem = err.Error()
			return s
		}
		s.Source = source
		s.Figures = s.figures()
		s.Advice = s.advice()
	}
	return s
}

// Report is the suite as programs read it.
func (s *Suite) Report() *record.SuiteReport {
	r := &record.SuiteReport{Suite: *s.Record, Counts: s.Counts(), Statements: []record.SuiteStatement{}, Advice: s.Advice}
	for i := range s.Figures {
		r.Statements = append(r.Statements, s.Figures[i].Statements...)
	}
	return r
}

// Counts are the statements of the document by what became of them. What it only draws is none.
func (s *Suite) Counts() map[record.Agreement]int {
	counts := map[record.Agreement]int{}
	for i := range s.Figures {
		for k := range s.Figures[i].Statements {
			if st := &s.Figures[i].Statements[k]; st.Counted() {
				counts[st.Agreement]++
			}
		}
	}
	return counts
}

// SuiteTitle is the headline of a suite.
func SuiteTitle(s *Suite) string {
	r := s.Record
	text := "suite " + r.Specification.Name
	if r.Specification.Title != "" {
		text += " (" + r.Specification.Title + ")"
	}
	text += onEngine(r.Engine)
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

// SuiteVerdict says how far the document was found again, and whether that can be believed.
func SuiteVerdict(s *Suite) string {
	belief := map[measure.Severity]string{measure.Invalid: "INVALID in parts", measure.Warning: "valid with care"}[s.Worst()]
	belief = cmp.Or(belief, "valid")
	if s.Record.Budget == record.BudgetSmoke {
		belief = "a smoke test, which proves nothing about figures"
	}
	if s.Record.Status != record.Complete {
		belief += " (" + string(s.Record.Status) + ")"
	}
	if words := s.countWords(); words != "" {
		return words + "; " + belief
	}
	return belief
}

// Worst is the gravest doubt about the suite and its parts.
func (s *Suite) Worst() measure.Severity {
	worst := measure.Worst(s.Record.Validity)
	for i := range s.Parts {
		switch w := measure.Worst(s.Parts[i].findings()); {
		case w == measure.Invalid || worst == measure.Invalid:
			worst = measure.Invalid
		case w == measure.Warning:
			worst = w
		}
		if st := s.Parts[i].Status; worst != measure.Invalid && (st == record.PartFailed || s.Parts[i].Unread != "") {
			worst = measure.Warning
		}
	}
	return worst
}

// countWords tells the statements by what became of them.
func (s *Suite) countWords() string {
	counts := s.Counts()
	all := 0
	for _, n := range counts {
		all += n
	}
	if all == 0 {
		return ""
	}
	words := []string{}
	for _, x := range []struct {
		of   record.Agreement
		text string
	}{{record.Agrees, "agreeing"}, {record.SameDirection, "in the same direction"}, {record.Disagrees, "disagreeing"},
		{record.NotTold, "not told"}, {record.NotMeasured, "not measured"}} {
		words = append(words, fmt.Sprintf("%d %s", counts[x.of], x.text))
	}
	return fmt.Sprintf("of %s of the document: %s", figure.Plural(all, "statement"), strings.Join(words, ", "))
}

// findings are the doubts about a part.
func (p *SuitePart) findings() []measure.Finding {
	switch {
	case p.Study != nil:
		return p.Study.Validity
	case p.Drill != nil:
		return p.Drill.Validity
	case p.Probe != nil:
		return p.Probe.Validity
	}
	return nil
}

// Finding is what a part found, in one sentence.
func (p *SuitePart) Finding() string {
	switch {
	case p.Status == record.PartLeft || p.Status == record.PartFailed:
		return string(p.Status) + ": " + cmp.Or(p.Problem, "no reason is known")
	case p.Unread != "":
		return "cannot be read: " + p.Unread
	case p.Status == record.PartPlanned:
		return "not begun"
	case p.Study != nil:
		return studyFinding(p.Study)
	case p.Drill != nil:
		return drillFinding(p.Drill)
	case p.Probe != nil:
		return probeFinding(p.Probe)
	}
	return string(p.Status)
}

// drillFinding is whether users noticed the failure, and what was lost.
func drillFinding(d *record.Drill) string {
	text := DrillVerdict(d)
	if found, _, _ := drillWords(d, true); found != "" {
		return text + "; the failure was " + found
	}
	return text + "; " + DrillLoss(d)
}

// studyFinding tells the largest change of the throughput that is certain, or of another metric if there is none.
func studyFinding(s *record.Study) string {
	var best *record.Comparison
	for i := range s.Comparisons {
		c := &s.Comparisons[i]
		certain := c.Ratio != nil && (c.Verdict == record.Better || c.Verdict == record.Worse)
		if certain && (best == nil || c.Metric == "throughput" && best.Metric != "throughput" || (c.Metric == "throughput") == (best.Metric == "throughput") && farther(*c.Ratio, *best.Ratio)) {
			best = c
		}
	}
	text, _ := verdict(studyHeld(s), s.Validity, s.Status)
	if words := verdictCounts(s.Comparisons); words != "" {
		text += "; " + words
	}
	if best != nil {
		text += fmt.Sprintf("; most: %s %s %s at %s", heading(best.Metric), ChangeText(best), IntervalText(best), best.Configuration)
	}
	return text
}

// farther says whether a ratio is further from one than another.
func farther(a, b float64) bool { return max(a, 1/a) > max(b, 1/b) }

// noMoreHelp says from how many threads on more of them do not help.
func noMoreHelp(threads int) string {
	if threads == 1 {
		return "a second thread does not help"
	}
	return fmt.Sprintf("more than %d threads do not help", threads)
}

// probeFinding tells where more threads stop helping, and what a power cut left.
func probeFinding(p *record.Probe) string {
	var words []string
	for _, r := range p.Ramps {
		if r.Threads == 0 {
			words = append(words, r.Operation+": more threads helped to the end")
			continue
		}
		words = append(words, r.Operation+": "+noMoreHelp(r.Threads))
	}
	for _, d := range p.Durability {
		if d.Grade == "C" {
			words = append(words, d.Verdict+": "+d.Text)
		}
	}
	if len(words) == 0 {
		return ProbeTitle(p)
	}
	return ProbeStack(p.Storage) + "; " + strings.Join(words, "; ")
}

// ScaleText says at which part of the document's size it was repeated.
func ScaleText(s spec.Scale) string {
	var words []string
	for _, x := range []struct {
		name string
		by   spec.Fraction
	}{{"data", s.Data}, {"workers", s.Workers}, {"cores", s.Cores}, {"rates", s.Rates}, {"servers", s.Servers}} {
		if x.by != 0 && x.by != 1 {
			words = append(words, x.name+" "+x.by.String())
		}
	}
	if len(words) == 0 {
		return "1: as the document has it"
	}
	return strings.Join(words, ", ") + " of the document's; levels have the document's names"
}

// SuiteScale says at which part of the document's size a suite was repeated; where its parts have scales of their own, each of them.
func SuiteScale(s *Suite) string {
	if s.Record.Scale != (spec.Scale{}) {
		return ScaleText(s.Record.Scale)
	}
	var texts []string
	parts := map[string][]string{}
	for i := range s.Parts {
		p := &s.Parts[i]
		if p.Study == nil || p.Study.Specification.Scale == nil {
			continue
		}
		text := ScaleText(*p.Study.Specification.Scale)
		if parts[text] == nil {
			texts = append(texts, text)
		}
		parts[text] = append(parts[text], p.Name)
	}
	if len(texts) == 0 {
		return ScaleText(s.Record.Scale)
	}
	for i, text := range texts {
		texts[i] = strings.Join(parts[text], ", ") + ": " + text
	}
	return strings.Join(texts, "; ")
}

// MachineText is a machine in one line.
func MachineText(e record.Environment) string {
	var parts []string
	if e.CPU != "" {
		parts = append(parts, e.CPU)
	}
	if e.Cores > 0 {
		parts = append(parts, figure.Significant(e.Cores)+" cores")
	}
	if e.MemoryBytes > 0 {
		parts = append(parts, figure.Bytes(int64(e.MemoryBytes))+" of memory")
	}
	return strings.Join(append(parts, strings.TrimSpace(cmp.Or(e.Distro, e.OS)+" "+e.Kernel)), ", ")
}

// leftOf are the steps by which a part was made smaller or left out; those of all parts are not among them.
func (s *Suite) leftOf(part string) []spec.Left {
	return slices.DeleteFunc(slices.Clone(s.Record.Left), func(l spec.Left) bool { return l.Part != part })
}
