package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

func studyTitle(s *record.Study) string {
	name := "study" + prefixed(" ", s.Specification.Name) + onEngine(s.Engine)
	done, planned := progress(s)
	if planned == 0 { // procedures alone compare nothing
		var names []string
		for i := range s.Procedures {
			names = append(names, s.Procedures[i].Name)
		}
		if s.Capacity != nil {
			names = append(names, "load line")
		}
		searches := "nothing yet"
		if len(names) > 0 {
			searches = strings.Join(names, ", ") + " in " + figure.Plural(len(s.Trials), "trial")
		}
		return name + ": " + searches + statusText(s)
	}
	compared := cmp.Or(sidesText(s), figure.Plural(len(s.Configurations), "configuration"))
	text := fmt.Sprintf("%s: %s, %s", name, compared, figure.Plural(planned, "trial"))
	if done < planned {
		text += fmt.Sprintf(" (%d done)", done)
	}
	return text + statusText(s)
}

// sidesText names what the two sides of a study until decided are, "" for other studies, and for sides that differ in
// many settings: "A (durability.name=durable) and B (durability.name=balanced)".
func sidesText(s *record.Study) string {
	const most = 2
	asked := s.Specification
	if !asked.UntilDecided || len(asked.Factors) != 1 || len(asked.Factors[0].Levels) != 2 {
		return ""
	}
	var names []string
	for _, l := range asked.Factors[0].Levels {
		if len(l.Set) == 0 || len(l.Set) > most {
			return ""
		}
		names = append(names, l.Name+" ("+setText(l.Set)+")")
	}
	return strings.Join(names, " and ")
}

func statusText(s *record.Study) string {
	if s.Status == record.Complete {
		return ""
	}
	return ", " + string(s.Status)
}

func progress(s *record.Study) (done, planned int) {
	seen, ended := map[int]bool{}, map[int]bool{}
	for i := range s.Trials {
		t := &s.Trials[i]
		if t.Kind == record.TrialSearch || t.Status == record.TrialLeft && s.Specification.UntilDecided {
			continue
		}
		seen[t.Number] = true
		if t.Status == record.TrialDone {
			ended[t.Number] = true
		}
	}
	return len(ended), len(seen)
}

// studyView is a study with what tables look up.
type studyView struct {
	drawn    bool // sections have figures
	study    *record.Study
	metrics  []metric                         // in the order of the comparisons
	of       map[[2]string]*record.Comparison // by configuration and metric
	base     map[[2]string]*record.Comparison // by baseline and metric
	trials   map[string][]*record.Trial       // those of the comparison, by configuration
	baseline string
}

// metric is a figure of the trials.
type metric struct{ name, unit string }

func newStudyView(s *record.Study) *studyView {
	v := &studyView{study: s, of: map[[2]string]*record.Comparison{}, base: map[[2]string]*record.Comparison{},
		trials: map[string][]*record.Trial{}, baseline: s.BaselineID()}
	for i := range s.Trials {
		if t := &s.Trials[i]; t.Kind == record.TrialCompared {
			v.trials[t.Configuration] = append(v.trials[t.Configuration], t)
		}
	}
	seen := map[string]bool{}
	for i := range s.Comparisons {
		c := &s.Comparisons[i]
		v.of[[2]string{c.Configuration, c.Metric}], v.base[[2]string{c.Baseline, c.Metric}] = c, c
		v.baseline = c.Baseline
		if !seen[c.Metric] {
			seen[c.Metric] = true
			v.metrics = append(v.metrics, metric{c.Metric, c.Unit})
		}
	}
	if len(v.metrics) == 0 {
		v.metrics = metricsOf(s.Trials)
	}
	return v
}

// metricsOf finds the metrics of a study without comparisons: one that has a single configuration.
func metricsOf(trials []record.Trial) []metric {
	seen := map[string]bool{}
	var list []metric
	for i := range trials {
		for name, x := range trials[i].Values {
			class, rest := splitMetric(name)
			if none := class != "" && rest == "errors" && x == 0; !none && !seen[name] {
				seen[name] = true
				list = append(list, metric{name, unitOf(name)})
			}
		}
	}
	slices.SortFunc(list, func(a, b metric) int {
		return cmp.Or(cmp.Compare(unitRank(a.unit), unitRank(b.unit)), cmp.Compare(a.name, b.name))
	})
	return list
}

func unitRank(unit string) int { return slices.Index([]string{"1/s", "share", "ns"}, unit) }

// unitOf is the unit of a metric by its name.
func unitOf(name string) string {
	switch last := name[strings.LastIndexByte(name, '.')+1:]; last {
	case "throughput":
		return measure.UnitRate
	case "errors", "not-found", "dropped", "achieved":
		return measure.UnitShare
	}
	return measure.UnitTime
}

// value returns the typical value of the trials of a configuration, nil if there is none.
func (v *studyView) value(configuration, name string) *float64 {
	if c := v.of[[2]string{configuration, name}]; c != nil {
		return c.Value
	}
	if c := v.base[[2]string{configuration, name}]; c != nil {
		return c.Base
	}
	var values []float64
	for _, t := range v.trials[configuration] {
		if x, ok := t.Values[name]; ok && countsFor(t) {
			values = append(values, x)
		}
	}
	if len(values) == 0 {
		return nil
	}
	x := measure.Median(values)
	return &x
}

// countsFor says whether a trial counts: it is done and not invalid.
func countsFor(t *record.Trial) bool {
	return t.Status == record.TrialDone && measure.Worst(t.Validity) != measure.Invalid
}

func (v *studyView) counted(configuration string) (counts, tried int) {
	for _, t := range v.trials[configuration] {
		if !t.Status.Begun() {
			continue
		}
		if tried++; countsFor(t) {
			counts++
		}
	}
	return counts, tried
}

// comparisonsText counts the verdicts and says which change does not matter; empty if nothing is compared.
func comparisonsText(list []record.Comparison) string {
	words := verdictCounts(list)
	if words == "" {
		return ""
	}
	return words + "; a change below " + figure.Limit(list[0].Margin) + " does not matter"
}

func verdictCounts(list []record.Comparison) string {
	count := map[record.Verdict]int{}
	for i := range list {
		if worthALine(&list[i]) {
			count[list[i].Verdict]++
		}
	}
	var parts []string
	for _, verdict := range []record.Verdict{record.Better, record.Worse, record.Equivalent, record.Inconclusive} {
		if n := count[verdict]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, verdict))
		}
	}
	return strings.Join(parts, ", ")
}

func procedureSection(p *record.ProcedureResult) Section {
	state := "chose " + procedureValue(p.Path, p.Chosen)
	if !p.Settled {
		state = "did NOT settle; the best that was tried is " + procedureValue(p.Path, p.Chosen)
	}
	s := Section{Title: "procedure " + p.Name + ": " + state, Lines: []string{"rule: " + p.Rule, "reason: " + p.Reason},
		Table: &Table{Header: []string{p.Path, "n", "ops/s", "interval", "p99", "note"}, Left: 1, Last: 1}}
	for _, at := range p.Points {
		name := procedureValue(p.Path, at.Value)
		if at.Value == p.Chosen {
			name += " *"
		}
		s.Table.row(name, strconv.Itoa(at.N), figure.Rate(at.Throughput), span(at.Low, at.High, measure.UnitRate),
			optional(at.P99, measure.UnitTime), at.Note)
	}
	s.Facts = limitFacts(p.LimitedBy)
	return s
}

// procedureValue prints what a procedure chose: seconds or a number of things.
func procedureValue(path string, x float64) string {
	if strings.HasSuffix(path, "duration") {
		return spec.Duration(x * 1e9).String()
	}
	return figure.Count(int64(x))
}

func capacityText(c *record.CapacityResult) string {
	text := figure.Rate(c.Rate) + " ops/s"
	switch {
	case c.Rate == 0:
		return "none of the rates that were tried held"
	case c.AtLeast:
		text = "at least " + text
	}
	if !c.Confirmed {
		text += " (NOT confirmed)"
	}
	return text
}

func capacitySection(c *record.CapacityResult) Section {
	text := capacityText(c)
	s := Section{ID: "capacity", Title: "load line: " + text, Lines: []string{"objectives: " + strings.Join(c.Objectives, ", "), "reason: " + c.Reason},
		Table: &Table{Header: []string{"phase", "offered/s", "achieved/s", "p99", "errors", "holds", "missed"}, Left: 1, Last: 2}}
	if c.Low != nil {
		s.Lines = append(s.Lines, "achieved, lower end of the interval: "+figure.Rate(*c.Low)+" ops/s")
	}
	for _, step := range c.Steps {
		s.Table.row(step.Phase, figure.Rate(step.Offered), figure.Rate(step.Achieved), optional(step.P99, measure.UnitTime),
			figure.Percent(step.Errors), yesNo(step.Holds), step.Missed)
	}
	s.Facts = limitFacts(c.LimitedBy)
	return s
}

func optional(x *float64, unit string) string {
	if x == nil {
		return "-"
	}
	return figure.Value(*x, unit)
}

func span(low, high *float64, unit string) string {
	if low == nil || high == nil {
		return "-"
	}
	return "[" + figure.Value(*low, unit) + ", " + figure.Value(*high, unit) + "]"
}
