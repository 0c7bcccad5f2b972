package report

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/shellword"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// Head is what a person reads first: on the first screen of a terminal, at the top of a page and of Markdown, and in
// JSON. A document without an answer has no head, and is printed completely.
type Head struct {
	// Answer is the answer to the question of the result, with its figure. Sure says how far it can be believed. Both
	// have one line.
	Answer, Sure string
	// Where says in one line where the time of operations went, or what limits the load; "" if that is not known.
	Where string
	// Summary is a small table of the figures behind the answer, the most important rows and columns first. Only the
	// first screen shows it, because the rest of the document has more.
	Summary *Table
	// Short are the objectives that are not met and the findings in their short forms, the gravest first.
	Short []Point
	// Next is the command to run next.
	Next Next
}

// Next is a command with what it is for. The word DIR in it is the directory of the record.
type Next struct{ Command, Why string }

// In names the directory of the record in a document, which may be "".
func (d *Document) In(dir string) *Document {
	d.Record = cmp.Or(dir, d.Record)
	d.Next = d.Next.in(d.Record)
	return d
}

// in names the directory of the record. Without one, there is no command that needs it.
func (n Next) in(dir string) Next {
	before, after, needed := strings.Cut(n.Command+" ", " DIR ")
	switch {
	case !needed:
		return n
	case dir == "":
		return Next{}
	}
	n.Command = strings.TrimSuffix(before+" "+shellword.Quote(dir)+" "+after, " ")
	return n
}

// conclude writes the head of a document: the answer, what it is worth by the findings, the status and what it is based
// on, and the short forms of what is not good. points are findings that are none of the record. An invalid result has
// no answer without this word.
func (d *Document) conclude(findings []measure.Finding, status record.Status, answer, basis string, points ...Point) {
	d.Answer = answer
	if measure.Worst(findings) == measure.Invalid {
		d.Answer = "INVALID: " + answer
	}
	d.Sure = join("; ", belief(findings, status), basis)
	for _, f := range findings {
		points = append(points, Point{severityGrade(f.Severity), "", cmp.Or(shortOf(f), f.Text)})
	}
	d.Short = slices.Concat(d.Objectives, points)
	d.shorten()
}

// shorten leaves the first sentence of each point that is not good, the gravest first.
func (d *Document) shorten() {
	d.Short = slices.DeleteFunc(d.Short, func(p Point) bool { return p.Grade == Good })
	for i := range d.Short {
		first, _, _ := strings.Cut(d.Short[i].Text, ". ")
		d.Short[i].Text = strings.TrimSuffix(first, ".")
	}
	gravity := []Grade{Bad, Warn, Note}
	slices.SortStableFunc(d.Short, func(a, b Point) int {
		return cmp.Compare(slices.Index(gravity, a.Grade), slices.Index(gravity, b.Grade))
	})
}

// belief is the validity of a result in words, with the number of reasons.
func belief(findings []measure.Finding, status record.Status) string {
	worst := measure.Worst(findings)
	n := 0
	for _, f := range findings {
		if f.Severity == worst {
			n++
		}
	}
	text := "valid"
	switch {
	case worst == measure.Invalid:
		text = "do not use these figures, for " + figure.Plural(n, "reason")
	case status == record.Failed:
		return "it failed before its end"
	case worst == measure.Warning:
		text = "valid, with " + figure.Plural(n, "warning")
	}
	if status != record.Complete {
		text += bracketed(string(status))
	}
	return text
}

// reportNext is the next command of most records.
func reportNext() Next { return Next{"plimsoll report DIR", "a page with its charts"} }

// runAnswer is what a run reached: throughput, latency, and what was not ok.
func runAnswer(r *record.Run, h objectiveCounts) string {
	p := r.Phase("measure")
	if p == nil {
		return "nothing was measured"
	}
	achieved := figure.Rate(p.Rates.Achieved) + " ok/s with " + figure.Plural(p.Workers, "worker")
	if p.Offered > 0 {
		achieved = fmt.Sprintf("%s of %s ok/s offered", figure.Rate(p.Rates.Achieved), figure.Rate(p.Rates.Offered))
	}
	text := disclosed(achieved, r.Target.Software())
	if late := strings.TrimSuffix(p99Of(timesOf(r, &p.All)), fewMoments); late != "" && late != NoAnswer {
		text += ", p99 " + late
	}
	if p.Dropped+r.Course.Unsent+p.Counts.Bad() > 0 {
		text += ", " + runLoss(r, p) + " not ok"
	}
	return join("; ", h.short(), text)
}

// runBasis is what a run is based on.
func runBasis(r *record.Run) string {
	if p := r.Phase("measure"); p != nil {
		return "one run of " + seconds(p.Seconds) + " does not show the variation"
	}
	return ""
}

// runSummary has a row for each operation.
func runSummary(r *record.Run) *Table {
	p := r.Phase("measure")
	if p == nil {
		return nil
	}
	t := &Table{Header: []string{"operation", "ok/s", TimeKind(r) + " p50", "p99", "p99.9", "max"}}
	for _, c := range p.Classes {
		if c.Part {
			continue
		}
		cells := []string{c.Name, figure.Rate(c.Rate), "-", "-", "-", "-"}
		if times := timesOf(r, &c); times != nil {
			cells = append(cells[:2], percentileText(times, 0.5), percentileText(times, 0.99), percentileText(times, 0.999),
				duration(times.Max))
			for i := range cells { // a finding says it
				cells[i] = strings.TrimSuffix(cells[i], fewMoments)
			}
		}
		t.row(cells...)
	}
	return t
}

// studyAnswer is the capacity of a study, or its largest certain change, and whether its objectives hold.
func studyAnswer(s *record.Study, h objectiveCounts) string {
	capacity, changes := "", verdictCounts(s.Comparisons)
	if s.Capacity != nil {
		capacity = "load line " + disclosed(capacityText(s.Capacity), s.Base.Target)
	}
	if best := largestChange(s.Comparisons); best != nil {
		changes = fmt.Sprintf("%s: %s %s at %s", best.Verdict, heading(best.Metric), changeText(best), best.Configuration)
	} else if open := openComparisons(s.Comparisons); open > 0 {
		changes = fmt.Sprintf("undecided in %d of %s", open, figure.Plural(len(s.Comparisons), "comparison"))
	} else if changes != "" {
		changes = "no difference in " + figure.Plural(len(s.Comparisons), "comparison")
	}
	if s.Capacity != nil && s.Capacity.Rate > 0 {
		changes = "" // the question was the capacity
	}
	text := join("; ", h.short(), capacity, changes)
	for _, p := range s.Procedures {
		if text == "" || s.Capacity == nil && len(s.Comparisons) == 0 {
			text = join("; ", text, p.Path+": "+procedureValue(p.Path, p.Chosen))
		}
	}
	return cmp.Or(text, "nothing to compare yet")
}

func openComparisons(list []record.Comparison) (open int) {
	for i := range list {
		if list[i].Verdict == record.Inconclusive {
			open++
		}
	}
	return open
}

// studyBasis is how many trials the answer is based on.
func studyBasis(s *record.Study) string {
	if len(s.Comparisons) == 0 {
		return figure.Plural(len(s.Trials), "trial")
	}
	least, most := s.Comparisons[0].N, 0
	for _, c := range s.Comparisons {
		least, most = min(least, c.N, c.NBase), max(most, c.N, c.NBase)
	}
	n := figure.Plural(most, "trial")
	if least < most {
		n = fmt.Sprintf("%d to %s", least, n)
	}
	return n + " each; a change below " + figure.Limit(s.Comparisons[0].Margin) + " does not matter"
}

// changesSummary has the changes of the throughput, or of all metrics if there are two configurations.
func changesSummary(list []record.Comparison) *Table {
	if len(list) == 0 {
		return nil
	}
	two := !slices.ContainsFunc(list, func(c record.Comparison) bool { return c.Configuration != list[0].Configuration })
	t := &Table{Header: []string{"configuration", "verdict", "change", "interval", "ops/s", "baseline"}, Left: 2}
	if two {
		t.Header[0], t.Header[4] = "metric", "value"
	}
	for i := range list {
		c := &list[i]
		name := c.Configuration
		if two {
			name = heading(c.Metric)
		} else if c.Metric != "throughput" {
			continue
		}
		if worthALine(c) {
			t.row(name, wordOf(c.Verdict), changeText(c), intervalText(c), optional(c.Value, c.Unit), optional(c.Base, c.Unit))
		}
	}
	return t
}

// wordOf is a verdict on a first screen, where nothing explains a sign.
func wordOf(v record.Verdict) string {
	switch v {
	case record.Equivalent:
		return "no difference"
	case record.Inconclusive:
		return "undecided"
	case record.Better, record.Worse:
	}
	return string(v)
}

// severalAnswer names the largest certain change against the baseline of a comparison of other than two sides, or else
// that of the throughput.
func severalAnswer(r *record.ComparisonReport) string {
	if len(r.Comparisons) == 0 {
		return "nothing could be compared"
	}
	c := largestChange(r.Comparisons)
	if c == nil {
		isThroughput := func(c record.Comparison) bool { return c.Metric == "throughput" }
		c = &r.Comparisons[max(0, slices.IndexFunc(r.Comparisons, isThroughput))]
	}
	text := heading(c.Metric) + " " + changeText(c)
	if c.Low != nil && c.High != nil {
		text += " " + intervalText(c)
	}
	return fmt.Sprintf("%s: %s, %s against %s", wordOf(c.Verdict), text, c.Configuration, c.Baseline)
}

// compareBasis is the number of runs on each side.
func compareBasis(r *record.ComparisonReport) string {
	var list []string
	for i := range r.Sides {
		list = append(list, fmt.Sprint(r.Sides[i].N))
	}
	return "n = " + strings.Join(list, " + ")
}

// historyHead is the latest change of a history and a table of all.
func historyHead(d *Document, h *record.HistoryReport) {
	t := &Table{Header: []string{"since", "metric", "verdict", "change", "before", "after", "record"}, Left: 3, Last: 1}
	points, answer := 0, ""
	var latest *record.HistoryChange
	for i := range h.Groups {
		g := &h.Groups[i]
		points += len(g.Points)
		for k := range g.Series {
			x := &g.Series[k]
			for j := range x.Changes {
				c := &x.Changes[j]
				t.row(day(c.Started), heading(x.Metric), string(c.Verdict), ratioText(c.Ratio), figure.Value(c.Before, x.Unit),
					figure.Value(c.After, x.Unit), c.Record)
				if latest == nil || c.Started.After(latest.Started) {
					latest = c
					answer = fmt.Sprintf("%s %s since %s (%s)", heading(x.Metric), ratioText(c.Ratio), c.Record, c.Verdict)
				}
			}
		}
	}
	slices.SortStableFunc(t.Rows, func(a, b []string) int { return cmp.Compare(b[0], a[0]) })
	if n := len(t.Rows); n > 1 {
		answer += fmt.Sprintf("; the latest of %d changes", n)
	}
	if slices.ContainsFunc(h.Validity, func(f measure.Finding) bool { return f.ID == "short-history" }) {
		answer = "cannot tell: too few points to find a change"
		d.Grade = Warn
	}
	d.conclude(h.Validity, record.Complete, cmp.Or(answer, "no change found"), figure.Plural(points, "point"))
	d.Summary = t
	if latest != nil {
		name, _, _ := strings.Cut(latest.Record, "#") // without the configuration of a study
		d.Next = Next{"plimsoll show " + shellword.Quote(filepath.Join(h.Directory, name)), "the first record after the change"}
	}
}

// sizeSummary has the answer with its alternatives or, without any, the measurements.
func sizeSummary(r *record.Sizing) *Table {
	if t := sizeChoices(r).Table; t != nil {
		return t
	}
	t := &Table{Header: []string{"workload", "measured ops/s", "on nodes", "nodes needed"}}
	for _, w := range r.Workloads {
		needed := "-"
		if w.Needed != nil {
			needed = figure.Significant(*w.Needed)
		}
		t.row(w.Workload, figure.Rate(w.Rate), fmt.Sprint(w.Nodes), needed)
	}
	return t
}

func gateSummary(g *record.Gate) *Table {
	t := &Table{Header: []string{"metric", "verdict", "change", "new", "before", "of"}, Left: 2, Last: 1}
	for i := range g.Metrics {
		m := &g.Metrics[i]
		t.row(m.Metric, wordOf(m.Verdict), gateChange(m), gateValue(m), optional(m.Mean, m.Unit), m.Group)
	}
	return t
}

// objectiveCounts counts objectives by their outcome.
type objectiveCounts struct{ met, missed, unknown int }

func (h objectiveCounts) all() int { return h.met + h.missed + h.unknown }

// short answers the question of the objectives in the first line, "" where there were none.
func (h objectiveCounts) short() string {
	of := fmt.Sprintf(" of %s ", figure.Plural(h.all(), "objective"))
	switch {
	case h.all() == 0:
		return ""
	case h.missed > 0:
		return fmt.Sprint(h.missed) + of + "missed"
	case h.unknown > 0:
		return fmt.Sprint(h.unknown) + of + "unknown"
	}
	return fmt.Sprint(h.met) + of + "met"
}

// doubt is the validity of a result, for a list.
func doubt(list []measure.Finding) string {
	switch measure.Worst(list) {
	case measure.Invalid:
		return "INVALID"
	case measure.Warning:
		return "valid, with warnings"
	}
	return "valid"
}

// answered is a document whose title is its answer. basis is what that is based on. open is what keeps it from being
// certain.
func answered(title, basis string, validity []measure.Finding, open ...Point) *Document {
	d := &Document{Title: title, Brief: doubt(validity), Grade: gradeOf(validity, record.Complete),
		Findings: findingPoints(validity)}
	if len(open) > 0 && d.Grade == Good {
		d.Grade = Warn
	}
	d.conclude(validity, record.Complete, title, basis, open...)
	return d
}

// refuse is the verdict of a question that the records do not answer.
func (d *Document) refuse(reasons []string) {
	if len(reasons) > 0 {
		d.Brief, d.Sure, d.Grade = "refused", "refused: these records do not answer it", Warn
		for _, why := range reasons {
			d.Short = append(d.Short, Point{Warn, "", why})
		}
		d.shorten()
	}
}

// verdict combines the outcome with the validity, for a list. An invalid result begins with that.
func verdict(h objectiveCounts, findings []measure.Finding, status record.Status) string {
	belief := doubt(findings)
	if status != record.Complete {
		belief += " (" + string(status) + ")"
	}
	holds := "holds: "
	switch {
	case h.all() == 0:
		return belief
	case measure.Worst(findings) == measure.Invalid:
		return fmt.Sprintf("%s; %d of %s met", belief, h.met, figure.Plural(h.all(), "objective"))
	case h.missed > 0:
		holds = "does not hold: "
	case h.unknown > 0:
		holds = "undecided: "
	}
	return holds + h.short() + "; " + belief
}

func runObjectives(r *record.Run) (h objectiveCounts) {
	for _, o := range r.Objectives {
		switch {
		case o.Unknown:
			h.unknown++
		case o.Met:
			h.met++
		default:
			h.missed++
		}
	}
	return h
}

func studyObjectives(s *record.Study) (h objectiveCounts) {
	for _, o := range s.Objectives {
		switch {
		case o.Exploratory:
		case o.Holds:
			h.met++
		case o.Missed():
			h.missed++
		default:
			h.unknown++
		}
	}
	return h
}
