package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study/judge"
)

// factors are the tables of the levels: one per factor where one is changed at a time, one of all combinations of a
// grid.
func (v *studyView) factors() []Section {
	if len(v.trials) == 0 {
		return nil // procedures alone compare nothing
	}
	var list []Section
	shown := map[string]bool{v.baseline: true}
	for i := range v.study.Specification.Factors {
		f := &v.study.Specification.Factors[i]
		var rows []*record.Configuration
		for k := range v.study.Configurations {
			c := &v.study.Configurations[k]
			if c.Factor == f.Title() {
				shown[c.ID] = true
				rows = append(rows, c)
			} else if c.ID == v.baseline {
				rows = append(rows, c)
			}
			rows = append(rows, c.Twins(f)...)
		}
		if len(rows) > 1 {
			slices.SortStableFunc(rows, func(a, b *record.Configuration) int {
				return f.Place(a.Levels[f.Title()]) - f.Place(b.Levels[f.Title()])
			})
			list = append(list, v.levels(nthID("factor", i), f.Title(), []string{f.Title()}, rows))
			v.draw(&list[len(list)-1], f)
		}
	}
	var rest []*record.Configuration
	for k := range v.study.Configurations {
		if c := &v.study.Configurations[k]; !shown[c.ID] || len(list) == 0 || c.ID == v.baseline {
			rest = append(rest, c)
		}
	}
	if len(rest) > 1 || len(list) == 0 && len(rest) > 0 {
		var names []string
		for i := range v.study.Specification.Factors {
			names = append(names, v.study.Specification.Factors[i].Title())
		}
		list = append(list, v.levels("configurations", "configurations", names, rest))
		v.draw(&list[len(list)-1], nil)
	}
	if d := Disclosure(v.loaded()); d != "" {
		for i := range list {
			list[i].Lines = append([]string{d}, list[i].Lines...)
		}
	}
	return list
}

// draw adds the figures of a factor, or of all configurations, to the section of its levels.
func (v *studyView) draw(s *Section, f *spec.Factor) {
	if v.drawn {
		s.draw(levelFigures(v, f, s.ID)...)
	}
}

// loaded is the target of all configurations, or its engine, "" if they differ in it.
func (v *studyView) loaded() string { return loadedBy(v.study) }

func loadedBy(s *record.Study) string {
	for i := range s.Specification.Factors {
		if path := s.Specification.Factors[i].Path; path == "target" || strings.HasPrefix(path, "lab.engine") {
			return ""
		}
	}
	if Disclosure(s.Base.Target) == "" && s.Engine != "" {
		return s.Engine
	}
	return s.Base.Target
}

// levels is the table of some configurations: what the documents show as a figure, with the change of the first
// metric and what is to be thought of it.
func (v *studyView) levels(id, title string, factors []string, rows []*record.Configuration) Section {
	t := &Table{Left: max(1, len(factors)), Header: slices.Clone(factors)}
	if len(factors) == 0 {
		t.Header = []string{"configuration"}
	}
	t.Header = append(t.Header, "n")
	for _, m := range v.metrics {
		t.Header = append(t.Header, heading(m.name))
	}
	compared := len(v.study.Comparisons) > 0
	if compared {
		t.Header, t.Last = append(t.Header, "change of "+heading(v.metrics[0].name), "interval", "verdict"), 1
	}
	s := Section{ID: id, Title: title, Named: len(factors) == 1 && factors[0] == title, Table: t}
	for _, c := range rows {
		cells := v.levelCells(factors, c)
		counts, tried := v.counted(c.ID)
		n := strconv.Itoa(counts)
		if tried > counts {
			n = fmt.Sprintf("%d of %d", counts, tried)
		}
		cells = append(cells, n)
		for _, m := range v.metrics {
			cell := "-"
			if x := v.value(c.ID, m.name); x != nil {
				cell = bare(*x, m.name, m.unit)
			}
			cells = append(cells, cell)
		}
		if compared {
			cells = append(cells, v.change(c.ID, &s)...)
		}
		t.row(cells...)
	}
	return s
}

// levelCells names a configuration by its levels; the baseline is marked.
func (v *studyView) levelCells(factors []string, c *record.Configuration) []string {
	var cells []string
	for _, f := range factors {
		cells = append(cells, cmp.Or(c.Levels[f], "-"))
	}
	if len(cells) == 0 {
		cells = []string{c.ID}
	}
	switch {
	case len(factors) == 1 && slices.Contains(c.Same, factors[0]+"="+cells[0]):
		cells[0] += " (the same run as " + c.ID + ")"
	case c.ID == v.baseline && cells[0] != "baseline":
		cells[0] += " (baseline)"
	}
	if c.Exploratory {
		cells[0] += " (exploratory)"
	}
	return cells
}

func (v *studyView) change(configuration string, s *Section) []string {
	c := v.of[[2]string{configuration, v.metrics[0].name}]
	if c == nil {
		return []string{"", "", ""}
	}
	return []string{changeText(c), intervalText(c), strings.TrimSpace(verdictText(c.Verdict) + " " + s.note(c.Note))}
}

// heading is a metric as the head of a column.
func heading(name string) string {
	if name == "throughput" {
		return "ops/s"
	}
	if words := judge.LineWords(name); words != "" {
		return words
	}
	class, rest := splitMetric(name)
	rest = strings.Replace(rest, "service.", "service ", 1)
	return strings.TrimSpace(class + " " + rest)
}

// bare prints a value below a heading: that of the throughput says per second already.
func bare(x float64, name, unit string) string {
	if name == "throughput" {
		return figure.Rate(x)
	}
	return figure.Value(x, unit)
}

// changeText is the change of a comparison: "+3.2 %", or the difference where there is no ratio.
func changeText(c *record.Comparison) string {
	switch {
	case c.Ratio != nil:
		return writeRatio(c.Ratio, c.Low, c.High)(*c.Ratio)
	case c.Difference != nil && c.Unit == measure.UnitShare:
		return signedPoints(*c.Difference * 100)
	case c.Difference != nil && *c.Difference > 0:
		return "+" + figure.Value(*c.Difference, c.Unit)
	case c.Difference != nil:
		return figure.Value(*c.Difference, c.Unit)
	}
	return "-"
}

// signedPoints prints a difference of two shares, in percentage points.
func signedPoints(x float64) string {
	switch {
	case x == 0:
		return "0 pp"
	case math.Abs(x) < 0.01 && x > 0:
		return "<+0.01 pp"
	case math.Abs(x) < 0.01:
		return ">-0.01 pp"
	case x > 0:
		return "+" + figure.Significant(x) + " pp"
	}
	return figure.Significant(x) + " pp"
}

// intervalText formats the interval of a change, "-" if there is none.
func intervalText(c *record.Comparison) string {
	if c.Low == nil || c.High == nil {
		return "-"
	}
	write := writeRatio(c.Ratio, c.Low, c.High)
	return "[" + write(*c.Low) + ", " + write(*c.High) + "]"
}

// verdictText is a verdict as tables show it: "~" if it is inconclusive.
func verdictText(v record.Verdict) string {
	if v == record.Inconclusive {
		return "~"
	}
	return string(v)
}

// changesSection lists comparisons with the same baseline. n are the trials of the configuration and of the baseline
// that count, with the number of pairs in brackets.
func changesSection(id, title string, list []record.Comparison) Section {
	s := Section{ID: id, Title: title, Table: &Table{Left: 3,
		Header: []string{"configuration", "metric", "verdict", "change", "interval", "baseline", "value", "n", "p", "p rank"}}}
	for i := range list {
		c := &list[i]
		if !worthALine(c) {
			continue
		}
		value := optional(c.Value, c.Unit)
		if c.Value != nil && c.ValueLow != nil && c.ValueHigh != nil && *c.ValueLow != *c.ValueHigh {
			value += " " + span(c.ValueLow, c.ValueHigh, c.Unit)
		}
		n := fmt.Sprintf("%d+%d", c.N, c.NBase)
		if c.Pairs > 0 {
			n += fmt.Sprintf(" (%d)", c.Pairs)
		}
		s.Table.row(c.Configuration, heading(c.Metric), strings.TrimSpace(verdictText(c.Verdict)+" "+s.note(c.Note)),
			changeText(c), intervalText(c), optional(c.Base, c.Unit), value, n,
			known(c.Adjusted, figure.P), known(c.RankP, figure.P))
	}
	return s
}

// worthALine reports whether a comparison is shown. Operations of one side only, such as the scans of another workload,
// are not compared. If nothing is comparable, the throughput is shown with the reason.
func worthALine(c *record.Comparison) bool {
	class, _ := splitMetric(c.Metric)
	return class == "" || c.N > 0 && c.NBase > 0
}

func (v *studyView) canary() Section {
	c := v.study.Canary
	if c == nil {
		return Section{}
	}
	text := fmt.Sprintf("%s of the repeated baseline over %s: drift %s from the first to the last, spread (max − min) / median %s",
		heading(c.Metric), figure.Plural(c.N, "trial"), figure.Change(1+c.Drift), figure.Percent(c.Spread))
	if c.P != nil {
		text += ", p of a trend " + figure.P(*c.P)
	}
	return Section{ID: "canary", Title: "canary", Lines: []string{text}}
}

// maxTrials is the largest number of listed trials; of a larger study only those that do not count are listed.
const maxTrials = 1000

// list shows all trials in the order of their execution.
func (v *studyView) list() Section {
	s := Section{ID: "trials", Title: "trials in the order of execution", Long: true,
		Table: &Table{Header: []string{"#", "block", "configuration", "what", "began", "took"}, Left: 5, Last: 1}}
	metrics := v.metrics[:min(len(v.metrics), 6)]
	for _, m := range metrics {
		s.Table.Header = append(s.Table.Header, heading(m.name))
	}
	s.Table.Header = append(s.Table.Header, "doubts")
	list := executed(v.study.Trials)
	if all := len(list); v.study.Specification.UntilDecided {
		list = slices.DeleteFunc(list, func(t *record.Trial) bool { return t.Status == record.TrialLeft })
		if n := all - len(list); n > 0 {
			s.Lines = append(s.Lines, fmt.Sprintf("%s of %d not run: %s", figure.Plural(n, "trial"), all, leftBecause(v.study)))
		}
	}
	if len(list) > maxTrials {
		all := len(list)
		list = slices.DeleteFunc(list, func(t *record.Trial) bool { return countsFor(t) })
		s.Lines = append(s.Lines, fmt.Sprintf("%s of %d count and are not listed here; --format csv has them", figure.Plural(all-len(list), "trial"), all))
	}
	for _, t := range list {
		s.Table.row(trialCells(t, metrics)...)
	}
	return s
}

// leftBecause is why trials were left out.
func leftBecause(s *record.Study) string {
	for i := range s.Trials {
		if s.Trials[i].Status == record.TrialLeft {
			return s.Trials[i].Problem
		}
	}
	return ""
}

// executed returns the trials in the order in which they began; those that did not come last, in that of the plan.
func executed(trials []record.Trial) []*record.Trial {
	list := make([]*record.Trial, len(trials))
	for i := range trials {
		list[i] = &trials[i]
	}
	slices.SortStableFunc(list, func(a, b *record.Trial) int {
		switch {
		case a.Started != nil && b.Started != nil:
			return a.Started.Compare(*b.Started)
		case a.Started != nil:
			return -1
		case b.Started != nil:
			return 1
		}
		return a.Number - b.Number
	})
	return list
}

func trialCells(t *record.Trial, metrics []metric) []string {
	number, block, began, took := strconv.Itoa(t.Number), "", "-", "-"
	if t.Attempt > 1 {
		number += fmt.Sprintf(" (attempt %d)", t.Attempt)
	}
	if t.Block > 0 {
		block = strconv.Itoa(t.Block)
	}
	if t.Started != nil {
		began = t.Started.UTC().Format("2006-01-02 15:04:05")
	}
	if t.Seconds > 0 {
		took = figure.Value(t.Seconds*1e9, measure.UnitTime)
	}
	what := t.Kind
	if t.Status != record.TrialDone {
		what += ", " + strings.ToUpper(string(t.Status))
	}
	cells := []string{number, block, t.Configuration, what, began, took}
	for _, m := range metrics {
		if x, ok := t.Values[m.name]; ok {
			cells = append(cells, bare(x, m.name, m.unit))
		} else {
			cells = append(cells, "-")
		}
	}
	return append(cells, doubts(t))
}

func doubts(t *record.Trial) string {
	var parts []string
	if t.Problem != "" {
		parts = append(parts, t.Problem)
	}
	for _, f := range t.Validity {
		word := f.ID
		if f.Severity == measure.Invalid {
			word = "INVALID " + word
		}
		parts = append(parts, word)
	}
	return strings.Join(parts, ", ")
}

// effectsSection lists the main effects of the levels of combined factors, and says how they were estimated.
func effectsSection(list []record.Effect) Section {
	t := &Table{Header: []string{"factor", "level", "against", "metric", "change", "interval", "p", "blocks", "single pairs", "verdict"}, Left: 4, Last: 1}
	s := Section{ID: "effects", Title: "main effects", Table: t}
	for i := range list {
		e := &list[i]
		t.row(e.Factor, e.Level, e.Reference, heading(e.Metric), changeText(&e.Comparison), intervalText(&e.Comparison),
			known(e.Adjusted, figure.P),
			strconv.Itoa(e.N), pairsText(e), strings.TrimSpace(verdictText(e.Verdict)+" "+s.note(e.Note)))
	}
	if len(list) == 0 {
		return s
	}
	line := "mean change within blocks over all pairs of configurations that differ in this level only; if single pairs differ much, it depends on the other factors"
	if list[0].Method == record.EffectAdditive {
		line = "additive model of logarithms within blocks; a part of the grid cannot separate interactions of factors from main effects"
	}
	s.Lines = []string{line}
	return s
}

// pairsText says how far apart the changes of the single pairs of configurations are.
func pairsText(e *record.Effect) string {
	if e.Least == nil || e.Most == nil {
		return "-"
	}
	write := writeRatio(e.Least, e.Most)
	return fmt.Sprintf("%s to %s (%d)", write(*e.Least), write(*e.Most), e.Pairs)
}
