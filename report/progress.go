package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/shellword"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Progress is how far a study or a suite has come, also while it runs.
type Progress struct {
	// Record is a [record.Study] or a [record.Suite], and Dir its directory.
	Record record.Result
	Dir    string
	Now    time.Time
}

func progressKind() *kind {
	k := kindOf("the status", figureless(progressDocument))
	k.value = typed(func(p *Progress) any { return p.Record })
	return k
}

func progressDocument(p *Progress) *Document {
	d := &Document{Problem: p.Record.Common().Problem}
	switch r := p.Record.(type) {
	case *record.Study:
		d.Title = cmp.Or(r.Specification.Name, "study")
		p.study(d, r)
	case *record.Suite:
		d.Title = "suite " + r.Specification.Name
		p.suite(d, r)
	}
	d.Title += ": " + p.status()
	return d
}

// status is the status of a record, with the process that writes it.
func (p *Progress) status() string {
	h := p.Record.Common()
	text := string(h.Status)
	if pid, held := record.Holder(p.Dir); held && h.Status == record.Running {
		text += fmt.Sprintf(" (process %d)", pid)
	}
	text += ", started " + h.Started.UTC().Format(time.RFC3339)
	if h.Ended != nil {
		text += ", ended " + h.Ended.UTC().Format(time.RFC3339)
	}
	return text
}

// next is how to continue, or to repeat what failed; empty if neither is needed.
func (p *Progress) next(of, noun string, failed int) Section {
	resume := fmt.Sprintf("plimsoll %s resume %s", of, shellword.Quote(p.Dir))
	switch status := p.Record.Common().Status; {
	case status != record.Running && status != record.Complete:
		return next("continue with", resume)
	case status == record.Complete && failed > 0:
		return next("repeat failed "+noun+" with", resume+" --retry-failed")
	}
	return Section{}
}

// next names commands that a reader probably wants; empty without any.
func next(label string, commands ...string) Section {
	text := join("\n", commands...)
	if text == "" {
		return Section{}
	}
	return Section{Title: "next", Code: &Code{Label: label, Text: text}}
}

// study describes a study: its trials by status, the time that is left, the choices of its procedures, and trials that
// failed, were lost or are running.
func (p *Progress) study(d *Document, s *record.Study) {
	last := lastAttempts(s)
	count, seconds := map[record.TrialStatus]int{}, 0.0
	for _, t := range last {
		count[t.Status]++
		if t.Status == record.TrialDone {
			seconds += t.Seconds
		}
	}
	done, left := trialsDone(last), ""
	if n := count[record.TrialRunning]; n > 0 {
		done += fmt.Sprintf(", %d running", n)
	}
	failed := count[record.TrialFailed] + count[record.TrialTimeout]
	if n := len(last) - count[record.TrialDone] - failed - count[record.TrialLeft]; n > 0 && seconds > 0 {
		left = fmt.Sprintf("%s, about %s", figure.Plural(n, "trial"), estimated(float64(n)*seconds/float64(count[record.TrialDone])))
	}
	d.Facts = Facts("done", done, "left", left)
	for _, x := range s.Procedures {
		d.Facts = append(d.Facts, Fact{x.Name, x.Path + " = " + chosenText(x)})
	}
	odd := Section{Title: "trials that are not done", Table: &Table{Left: 5, Last: 1,
		Header: []string{"trial", "block", "configuration", "status", "record", "problem"}}}
	for _, t := range s.Trials {
		if t.Status == record.TrialDone || t.Status == record.TrialPlanned {
			continue
		}
		number := fmt.Sprintf("%d.%d", t.Number, t.Attempt)
		if t.Kind == record.TrialSearch {
			number = "procedure"
		}
		odd.Table.row(number, fmt.Sprint(t.Block), t.Configuration, string(t.Status), t.Record, t.Problem)
	}
	d.Sections = appendFilled(nil, odd, p.next("study", "trials", failed))
}

// trialsDone counts trials by their status.
func trialsDone(last map[int]*record.Trial) string {
	counts := map[record.TrialStatus]int{}
	for _, t := range last {
		counts[t.Status]++
	}
	text := fmt.Sprintf("%d of %s done", counts[record.TrialDone], figure.Plural(len(last), "trial"))
	for _, status := range []record.TrialStatus{record.TrialFailed, record.TrialTimeout, record.TrialLost,
		record.TrialLeft} {
		if n := counts[status]; n > 0 {
			text += fmt.Sprintf(", %d %s", n, status)
		}
	}
	return text
}

// lastAttempts are the last attempts of the planned trials, by number.
func lastAttempts(s *record.Study) map[int]*record.Trial {
	last := map[int]*record.Trial{}
	for i := range s.Trials {
		t := &s.Trials[i]
		if l := last[t.Number]; t.Kind != record.TrialSearch && (l == nil || t.Attempt >= l.Attempt) {
			last[t.Number] = t
		}
	}
	return last
}

// chosenText is the value that a procedure chose: a time or a count.
func chosenText(p record.ProcedureResult) string {
	if strings.HasSuffix(p.Path, "duration") {
		return spec.Duration(p.Chosen * float64(time.Second)).String()
	}
	return figure.Count(int64(p.Chosen))
}

// suite describes a suite: its parts by status, the time that is left, and its budget.
func (p *Progress) suite(d *Document, s *record.Suite) {
	failed, left := 0, 0.0
	parts := Section{Title: "parts", Table: &Table{Left: 3, Last: 1,
		Header: []string{"part", "kind", "status", "time", "exit", "record or reason"}}}
	for i := range s.Parts {
		x := &s.Parts[i]
		if x.Status == record.PartFailed {
			failed++
		}
		if x.Status == record.PartPlanned || x.Status == record.PartRunning {
			left += x.Estimate
		}
		took, exit := "-", "-"
		if x.Seconds > 0 {
			took = seconds(x.Seconds)
		}
		if x.Status == record.PartDone || x.Status == record.PartFailed {
			exit = fmt.Sprint(x.Exit)
		}
		parts.Table.row(x.Name, x.Kind, string(x.Status), took, exit, cmp.Or(x.Problem, x.Record))
	}
	rest, late := "", ""
	if left > 0 {
		rest = "about " + estimated(left)
	}
	if names := s.LateParts(); s.Limit > 0 && len(names) > 0 {
		late = fmt.Sprintf("%s scaled further for lack of time (see plimsoll report); for more time: plimsoll suite resume %s --budget TIME",
			figure.Plural(len(names), "part"), p.Dir)
	}
	d.Facts = Facts("done", partsDone(s), "left", rest, "budget", p.budget(s), "late", late)
	d.Sections = appendFilled(nil, parts, p.next("suite", "parts", failed))
}

// budget is the time used and left of the budget of a suite, "" without one.
func (p *Progress) budget(s *record.Suite) string {
	now := p.Now
	if s.Status != record.Running {
		now = time.Time{} // time stopped at its last write
	}
	worked, err := record.SuiteWorked(p.Dir, now)
	if s.Limit == 0 || err != nil { // the parts were read, which is enough here
		return ""
	}
	text := fmt.Sprintf("%v, %s used", s.Limit, clock(int64(worked)))
	switch left := s.Limit.Std() - worked; {
	case s.Status == record.Complete:
		return text
	case left >= 0:
		return text + ", " + clock(int64(left)) + " left"
	default:
		return text + ", " + clock(int64(-left)) + " over"
	}
}

// documentKind is a document that is made where its facts are known, such as the plan of a drill.
func documentKind() *kind {
	k := kindOf("this", figureless(func(d *Document) *Document { return d }))
	k.value = typed((*Document).value)
	return k
}

// value is a document as JSON: its title, and its sections with their lines and the rows of their tables by column.
func (d *Document) value() any {
	type section struct {
		Title string              `json:"title,omitempty"`
		Lines []string            `json:"lines,omitempty"`
		Rows  []map[string]string `json:"rows,omitempty"`
	}
	list := []section{}
	for _, s := range d.Sections {
		x := section{Title: s.Title, Lines: s.Lines}
		for _, row := range cmp.Or(s.Table, &Table{}).Rows {
			cells := map[string]string{}
			for i, cell := range row {
				cells[s.Table.Header[i]] = cell
			}
			x.Rows = append(x.Rows, cells)
		}
		list = append(list, x)
	}
	return map[string]any{"title": d.Title, "sections": list}
}
