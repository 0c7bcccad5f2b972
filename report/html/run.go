package html

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// runSections are the parts of a run behind its answer. prefix makes ids unique where a page has several runs.
func runSections(s *Source, prefix string) ([]Section, *Track) {
	r := s.Run
	p := r.Phase("measure")
	var list []Section
	if p != nil {
		list = append(list, responseSection(s, p, prefix))
	}
	over, track := timeSection(s, prefix)
	list = append(list, over)
	if p != nil {
		list = append(list, failureSection(p, prefix), labSection(s, prefix, track), resourceSection(s, p, prefix, track))
	}
	return append(list, clientsSection(r, prefix), disclosure(s, prefix)), track
}

// responseSection has the percentile spectrum and the table of operation classes.
func responseSection(s *Source, p *record.PhaseResult, prefix string) Section {
	sec := Section{ID: prefix + "operations", Title: "Operations"}
	if s.Run.Scheduled {
		sec.Lead = "Response time counts from the moment an operation was due, service time from its sending; what lies between them is waiting."
	} else {
		sec.Lead = "Without a schedule each worker sends when it has its last answer, so service time is all there is; it does not tell what users of a loaded system would wait."
	}
	if f := spectrum(s, p, prefix); f != nil {
		sec.Blocks = append(sec.Blocks, Block{Figure: f})
	}
	if len(p.Classes) > 0 {
		sec.Blocks = append(sec.Blocks, Block{Table: operationTable(s.Run, p)})
	}
	return sec
}

// operationTable has the same rows as the terminal, with all percentiles.
func operationTable(r *record.Run, p *record.PhaseResult) *Table {
	t := &Table{Caption: "Operations of the measured phase", Columns: columns(2, "operation", "time", "count", "ok/s",
		"p50", "p90", "p95", "p99", "p99.9", "p99.99", "max", "mean")}
	classes := slices.Clone(p.Classes)
	slices.SortStableFunc(classes, func(a, b record.ClassResult) int { return cmp.Compare(number(a.Part), number(b.Part)) })
	for _, c := range classes {
		name := c.Name
		if c.Part {
			name += " (part)"
		}
		first, times := "service", c.Service
		if r.Scheduled && !c.Part {
			first, times = "response", c.Response
		}
		t.Rows = append(t.Rows, append([]string{name, first, figure.Count(c.Counts.Succeeded), figure.Rate(c.Rate)}, quantiles(times)...))
		if r.Scheduled && !c.Part {
			t.Rows = append(t.Rows, append([]string{name, "service", "", ""}, quantiles(c.Service)...))
		}
	}
	t.Notes = []string{"“-” stands where there are too few values to state a percentile with 95 % confidence. Percentiles are those of merged histograms."}
	return t
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

func quantiles(l *record.Latency) []string {
	if l == nil {
		return []string{"-", "-", "-", "-", "-", "-", "-", "-"}
	}
	var cells []string
	for _, q := range []*int64{l.P50, l.P90, l.P95, l.P99, l.P999, l.P9999} {
		cells = append(cells, duration(orTime(q)))
	}
	return append(cells, duration(float64(l.Max)), duration(l.Mean))
}

// failureSection lists the ways in which operations did not succeed.
func failureSection(p *record.PhaseResult, prefix string) Section {
	sec := Section{ID: prefix + "not-ok", Title: "What did not succeed"}
	t := &Table{Caption: "Failures of the measured phase, the most frequent first", Columns: []Column{
		{Name: "operation"}, {Name: "outcome"}, {Name: "reason"}, {Name: "count", Number: true}, {Name: "first", Number: true},
		{Name: "last", Number: true}, {Name: "for example"},
	}}
	for i, f := range p.Failures {
		if i == 50 {
			t.Notes = append(t.Notes, fmt.Sprintf("%s more are in run.json.", figure.Plural(len(p.Failures)-50, "way")))
			break
		}
		reason := f.Reason
		if f.Code != 0 || f.CodeName != "" {
			reason += fmt.Sprintf(" %d %s", f.Code, f.CodeName)
		}
		t.Rows = append(t.Rows, []string{f.Class, f.Outcome, strings.TrimSpace(reason), figure.Count(f.Count), clock(f.First), clock(f.Last), f.Example})
	}
	for _, c := range p.Classes {
		if n := missing(p, &c); n > 0 && !c.Part {
			t.Rows = append(t.Rows, []string{c.Name, "not-found", "no document with that key", figure.Count(n), "", "", ""})
		}
	}
	if len(t.Rows) > 0 {
		sec.Blocks = []Block{{Table: t}}
	}
	return sec
}

// missing counts operations that just found no document: they count as failed, but have no error of their own.
func missing(p *record.PhaseResult, c *record.ClassResult) int64 {
	n := c.Counts.NotFound
	for _, f := range p.Failures {
		if f.Class == c.Name && f.Outcome == "not-found" {
			n -= f.Count
		}
	}
	return n
}

// clock is a moment since the start of the run.
func clock(d time.Duration) string { return figure.Duration(d) }

// clientsSection shows what each of several load processes did.
func clientsSection(r *record.Run, prefix string) Section {
	sec := Section{ID: prefix + "clients", Title: "Load processes"}
	if len(r.Clients) == 0 {
		return sec
	}
	t := &Table{Caption: "What each load process did in the measured phase", Columns: []Column{
		{Name: "process"}, {Name: "status"}, {Name: "ok", Number: true}, {Name: "ok/s", Number: true}, {Name: "began late by", Number: true}, {Name: "problem"},
	}}
	for _, c := range r.Clients {
		t.Rows = append(t.Rows, []string{fmt.Sprint(c.Number), c.Status, figure.Count(c.Succeeded), figure.Rate(c.Rate), duration(float64(c.StartSkew)), c.Problem})
	}
	sec.Lead = fmt.Sprintf("%s made the load together; their histograms are merged.", figure.Plural(len(r.Clients), "process"))
	if len(r.Clients) > 1 {
		sec.Lead = fmt.Sprintf("%d processes made the load together; their histograms are merged.", len(r.Clients))
	}
	sec.Blocks = []Block{{Table: t}}
	return sec
}

// eventTable lists what happened besides operations.
func eventTable(events []measure.Event) *Table {
	const most = 300
	t := &Table{Caption: "Events", Folded: true, Columns: []Column{{Name: "at", Number: true}, {Name: "event"}, {Name: "what"}}}
	for i, e := range events {
		if i == most {
			t.Notes = append(t.Notes, fmt.Sprintf("%s more are in %s.", figure.Plural(len(events)-most, "event"), record.EventsFile))
			break
		}
		t.Rows = append(t.Rows, []string{clock(e.At), e.Kind, e.Text})
	}
	return t
}
