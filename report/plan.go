package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

func planKind() *kind {
	return kindOf("the plan of a study", figureless(studyPlanDocument))
}

func suitePlanKind() *kind {
	return kindOf("the plan of a suite", figureless(suitePlanDocument))
}

// manyTrials is from how many trials on their list is folded.
const manyTrials = 100

// studyPlanDocument describes a study before it runs: its time and space, the configurations, all trials in their
// order, and the smallest differences that they can find.
func studyPlanDocument(p *record.PlannedStudy) *Document {
	asked, e := p.Spec, p.Estimate
	d := &Document{Title: studyPlanTitle(p), Sentence: true, Facts: Facts("time", e.Text(), "space", spaceText(e),
		"procedures", proceduresText(asked.Procedures))}
	for _, n := range p.Notes {
		d.Findings = append(d.Findings, Point{Note, "note", n})
	}
	configurations := Section{Title: "configurations", Table: &Table{Header: []string{"configuration", "sets"}, Left: 2}}
	for _, c := range p.Configurations {
		text := setText(c.Set)
		if c.Exploratory {
			text += " (exploratory)"
		}
		configurations.Table.row(c.ID, text)
	}
	trials := Section{Title: "trials", Long: len(p.Trials) > manyTrials,
		Table: &Table{Header: []string{"trial", "block", "after", "configuration"}, Left: 4}}
	if n := len(p.Trials); n < e.Trials {
		trials.Lines = []string{fmt.Sprintf("the first %d of %s", n, figure.Plural(e.Trials, "trial"))}
	}
	for i, t := range p.Trials {
		block := "canary"
		if t.Block > 0 {
			block = fmt.Sprint(t.Block)
		}
		trials.Table.row(fmt.Sprint(t.Number), block, clock(int64(e.Starts[i]*1e9)), t.Configuration)
	}
	data := Section{Title: "data"}
	for _, s := range e.DataSets {
		if s.Bytes > 0 {
			data.Lines = append(data.Lines, dataSetText(s))
		}
	}
	d.Sections = appendFilled(nil, configurations, trials, Section{Title: "order", Lines: p.Order}, data,
		powerSection(asked, e), Section{Title: "assumed", Lines: e.Assumptions}, next("run it with", p.Command))
	return d
}

func studyPlanTitle(p *record.PlannedStudy) string {
	asked, on := p.Spec, ""
	if asked.Lab != nil {
		on = prefixed(" on ", asked.Lab.Engine.Name)
	}
	if p.Estimate.Trials == 0 {
		return fmt.Sprintf("study %s%s: procedures only, no comparison", asked.Name, on)
	}
	return fmt.Sprintf("study %s%s: %s, %s of each, %s in all", asked.Name, on, figure.Plural(len(p.Configurations), "configuration"),
		figure.Plural(int(asked.Trials), "trial"), figure.Plural(p.Estimate.Trials, "trial"))
}

func proceduresText(p *spec.Procedures) string {
	if p == nil {
		return ""
	}
	var names []string
	for name, asked := range map[string]bool{"threads": p.Threads != nil, "steady": p.Steady != nil, "capacity": p.Capacity != nil} {
		if asked {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	slices.Reverse(names) // as they are performed
	return prefixed("first ", strings.Join(names, ", "))
}

// setText lists the keys that a configuration sets.
func setText(set map[string]any) string {
	var parts []string
	for _, path := range slices.Sorted(maps.Keys(set)) {
		value := fmt.Sprint(set[path])
		if set[path] == nil || value == "" {
			value = "unset"
		}
		parts = append(parts, path+"="+value)
	}
	return cmp.Or(strings.Join(parts, " "), "(base run)")
}

func spaceText(e record.Estimate) string {
	records := "about " + figure.Bytes(e.RecordBytes) + " of records"
	if e.DataBytes == 0 {
		return records + "; the target stores no data"
	}
	return fmt.Sprintf("about %s of documents, before compression, indexes and log; %s", figure.Bytes(e.DataBytes), records)
}

func dataSetText(s record.DataSet) string {
	text := fmt.Sprintf("%s: %s of %s ", s.Target+prefixed(" database ", s.Database), figure.Count(s.Records), figure.Bytes(s.DocumentBytes))
	switch s.Loads {
	case 0:
		return text + "existing documents"
	case 1:
		return text + "documents, loaded once"
	}
	return fmt.Sprintf("%sdocuments, loaded %d times", text, s.Loads)
}

// powerSection is about the smallest differences that the trials can find.
func powerSection(asked spec.Study, e record.Estimate) Section {
	if len(e.Power) == 0 {
		return Section{}
	}
	where := ""
	if asked.Order == spec.OrderBatched {
		where = "within a batch, "
	}
	s := Section{Title: "power", Lines: []string{fmt.Sprintf("%schanges that are found with a probability of 80 %%, with %s of each", where,
		figure.Plural(int(asked.Trials), "trial"))}, Table: &Table{Header: []string{"variation of trials", "in one comparison",
		"in each of " + figure.Plural(e.Verdicts, "verdict") + " (Holm)"}}}
	effect := func(x *float64) string {
		if x == nil {
			return "none"
		}
		return "from " + figure.Percent(*x)
	}
	for _, p := range e.Power {
		s.Table.row(figure.Percent(p.CV), effect(p.Effect), effect(p.Corrected))
	}
	return s
}

// suitePlanDocument describes a suite before it runs: its time, its parts with their needs, and what is scaled down or
// left out here, with the reason.
func suitePlanDocument(p *record.PlannedSuite) *Document {
	asked := p.Specification
	d := &Document{Title: join(", ", "suite "+asked.Name+": "+figure.Plural(len(p.Parts), "part"), asked.Title), Sentence: true}
	// The times of recoveries, audits and labs depend on this machine.
	took, command, target, scale := "at least "+estimated(p.Seconds), p.Command, "", ""
	switch {
	case p.Seconds == 0:
		took, command = "no part can run here", ""
	case p.Limit > 0:
		took += ", to be scaled to " + p.Limit.String()
	}
	if p.Against != "" {
		target = p.Against + " instead of labs"
	}
	if text := p.Scale.String(); text != "1" {
		scale = text + " of the document's hardware"
	}
	d.Facts = Facts("time", took, "engine", strings.Join(p.Engines, ", "), "target", target, "scale", scale)
	parts := Section{Title: "parts", Table: &Table{Header: []string{"part", "kind", "trials", "needs", "time", "shows"}, Left: 5, Last: 1}}
	for i := range p.Parts {
		x := &p.Parts[i]
		trials, took := "-", "left out"
		if x.Trials > 0 {
			trials = fmt.Sprint(x.Trials)
		}
		if x.Status != record.PartLeft {
			took = estimated(x.Estimate)
		}
		parts.Table.row(x.Name, x.Kind, trials, cmp.Or(strings.Join(x.Needs, " "), "-"), took, cmp.Or(ShowsText(&x.Part), "-"))
	}
	left := Section{Title: "scaled or left out"}
	for _, l := range together(p.Left) {
		grade := Note
		if l.What == spec.LeftPart {
			grade = Warn
		}
		left.Points = append(left.Points, Point{grade, "", leftText(l)})
	}
	d.Sections = appendFilled(nil, parts, left, next("install the missing packages with", p.Install), next("run it with", command))
	return d
}

// leftText is one reduction of a suite as a sentence.
func leftText(l spec.Left) string {
	what, several := join(": ", l.Part, l.What), strings.HasPrefix(l.What, "levels ") || strings.HasSuffix(l.What, "s")
	if l.What == spec.LeftPart {
		what, several = l.Part, strings.Contains(l.Part, ", ")
	}
	is := " is "
	if several {
		is = " are "
	}
	text := what + is + cmp.Or(l.To, "left out")
	if l.To != "" {
		text += prefixed(" instead of ", l.From)
	}
	return text + ": " + l.Why
}

// estimated is a time that was estimated, in seconds.
func estimated(seconds float64) string {
	return spec.Duration(seconds * float64(time.Second)).Roughly().String()
}

// ShowsText lists the statements that a part covers, "" for none.
func ShowsText(p *record.Part) string {
	text := strings.Join(p.Shows, ", ")
	if p.Level != "" {
		text += " (" + p.Level + ")"
	}
	return text
}
