package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/shellword"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/chart"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Side is a record that is compared: its directory, and what the page calls it.
type Side struct{ Name, Dir string }

// Comparer compares records with the first of them. Pages judge nothing, so the caller provides it.
type Comparer func(sides []Side) (*record.ComparisonReport, error)

func comparable(sources []*Source) bool {
	for _, s := range sources {
		if !s.Comparable() {
			return false
		}
	}
	return len(sources) > 1
}

// against puts the comparison of the records before them: its answer, its ratios and in what they differ. It returns
// what belongs at the end of the page, and why there is no comparison, empty if there is one.
func (p *Page) against(sources []*Source, names []string, compare Comparer) (end []Section, why string) {
	if compare == nil || !comparable(sources) {
		return nil, ""
	}
	sides := make([]Side, len(sources))
	for i, s := range sources {
		sides[i] = Side{names[i], s.Dir}
	}
	c, err := compare(sides)
	if err != nil {
		return nil, bounded(err.Error())
	}
	Tidy(c)
	d := compareDocument(c, &comparisonFiles{Source: &Source{}})
	at := 1 // behind the ratios
	if s := overlaid(sources, names); s.filled() {
		d.Sections = slices.Insert(d.Sections, min(at, len(d.Sections)), s)
	}
	p.put(d, "vs-")
	p.Answers[0].Headline = ""
	return []Section{sidesDisclosure(sources, names)}, ""
}

// maxOverlaid is the largest number of distributions of a class in a chart, maxBoth that with both times.
const (
	maxOverlaid = 6
	maxBoth     = 2
)

// distribution is how the times of one class of operations of a side are distributed.
type distribution struct {
	side int // which of the names it belongs to
	time string
	n    *measure.Histogram
	most int64 // the longest time in nanoseconds
}

// overlaid draws the distributions of all runs over each other, a chart for each operation class.
func overlaid(sources []*Source, names []string) Section {
	of, scheduled := map[string][]distribution{}, true
	var classes []string
	for i, s := range sources {
		r := s.run()
		if r == nil {
			return Section{}
		}
		scheduled = scheduled && r.Run.Scheduled
		for _, sp := range spectraOf(r.Course) {
			if sp.Part {
				continue
			}
			if of[sp.Class] == nil {
				classes = append(classes, sp.Class)
			}
			result := classOf(r, sp.Class)
			of[sp.Class] = append(of[sp.Class], distribution{i, "response", sp.Response, longestOf(result.Response)},
				distribution{i, "service", sp.Service, longestOf(result.Service)})
		}
	}
	return overlaidSection(classes, of, names, scheduled)
}

func overlaidSection(classes []string, of map[string][]distribution, names []string,
	scheduled bool) Section {
	sec := Section{ID: "spectra", Title: "Percentile spectra, overlaid"}
	left := max(0, len(classes)-maxClasses)
	for i, class := range classes[:len(classes)-left] {
		if f := overlaidClass(of[class], names, class, scheduled, fmt.Sprintf("spectrum-%d", i)); f != nil {
			sec.Parts = append(sec.Parts, Section{Figures: []*Figure{f}})
		}
	}
	if left > 0 {
		sec.Lead = fmt.Sprintf("%s more are with the records below.", figure.Plural(left, "operation"))
	}
	return sec
}

// overlaidClass draws one class of all sides. Response times are compared only where all runs had a schedule; of two
// sides the service times are there as well.
func overlaidClass(list []distribution, names []string, class string, scheduled bool, id string) *Figure {
	c := &chart.XY{
		Frame: chart.Frame{ID: id, Title: "Percentile spectrum of " + chart.Shorten(class, 40)},
		Y:     chart.Axis{Label: "service time of an operation (logarithmic)", Unit: chart.Nanoseconds, Log: true}, Height: 320,
	}
	main, note := "service", "Service times. Response times need a schedule (open loop). "
	if scheduled {
		c.Y.Label = "time of an operation (logarithmic)"
		main, note = "response", "Solid: response time, what a user feels. "
	}
	var counts []*measure.Histogram
	var largest []int64
	var heads, words []string
	total := int64(0)
	for _, d := range list {
		if d.n.Count() == 0 || d.time != main && (!scheduled || len(names) > maxBoth) {
			continue
		}
		counts, largest, heads = append(counts, d.n), append(largest, d.most), append(heads, names[d.side]+" "+d.time)
		total = max(total, d.n.Count())
		name, style := names[d.side], chart.Solid
		if d.time != main {
			name, style = name+", service", chart.Dashed
		}
		if d.side < maxOverlaid {
			x, y := spectrumLine(d.n, d.most)
			c.Series = append(c.Series, chart.Series{Name: name, X: x, Y: y, Colour: d.side, Style: style})
		}
		if d.time == main && d.n.Count() >= measure.MinCount(0.99) {
			words = append(words, fmt.Sprintf("%s: 99 %% of the answered operations within %s", names[d.side], duration(float64(min(d.n.Quantile(0.99), d.most)))))
		}
	}
	if len(c.Series) == 0 {
		return nil
	}
	if scheduled && len(names) <= maxBoth {
		note += "Dashed: service time. "
	}
	if len(names) > maxOverlaid {
		note += fmt.Sprintf("The first %d of %d records are drawn; the table has all. ", maxOverlaid, len(names))
	}
	spectrumAxes(c, &record.Run{}, total)
	c.Description = strings.Join(words, "; ") + "."
	return newFigure(c, note+"In the shaded part there are too few values to state a percentile with 95 % confidence.", spectrumTable(heads, counts, largest))
}

func classOf(s *runFiles, class string) record.ClassResult {
	if p := s.Run.Phase("measure"); p != nil && p.Class(class) != nil {
		return *p.Class(class)
	}
	return record.ClassResult{}
}

func longestOf(l *record.Latency) int64 {
	if l == nil {
		return measure.HighestValue
	}
	return l.Max
}

// sidesDisclosure lays beside each other how the sides were made: what differs from the defaults or between them, where
// they ran, the exact commands and the checksums.
func sidesDisclosure(sources []*Source, names []string) Section {
	sec := Section{ID: "vs-disclosure", Title: "Disclosure of the comparison", Lead: "Settings and environment of each side. The disclosure of each record is below its figures."}
	dirs := make([]string, len(sources))
	for i, s := range sources {
		dirs[i] = shellword.Quote(bounded(s.Dir))
	}
	sec.Parts = append(sec.Parts,
		Section{Title: "Compare again", Code: &Code{Label: "Command", Text: "plimsoll compare " + strings.Join(dirs, " ")}},
		Section{Title: "Settings that differ from their defaults or between the sides", Table: besideTable("Settings of all sides", "setting", names, sources, settingsOf, true)},
		Section{Title: "Environment of the load", Table: besideTable("Environments of all sides", "what", names, sources, surroundingsOf, false)})
	var sums strings.Builder
	for i, s := range sources {
		sec.Parts = append(sec.Parts, commandBlock("Exact command of "+names[i], s.command))
		for line := range strings.Lines(s.Sums) {
			fmt.Fprintf(&sums, "%s: %s\n", names[i], bounded(strings.TrimRight(line, "\n")))
		}
	}
	if sums.Len() > 0 {
		sec.Parts = append(sec.Parts, Section{Title: "Checksums (SHA-256) of all sides",
			Code: &Code{Label: "Checksums of all sides", Text: strings.TrimRight(sums.String(), "\n")}})
	}
	return sec
}

// settingsOf returns the settings without places of records. That of a study is its base.
func settingsOf(s *Source) map[string]string {
	asked := spec.Run{}
	m := map[string]string{}
	switch r := s.Result.(type) {
	case *record.Run:
		asked = r.Specification
	case *record.Study:
		asked = r.Base
		m["factors"] = factorText(r.Specification)
	}
	for key, value := range flat(asked) {
		if key != "out" && !strings.HasPrefix(key, "labels.") {
			m[key] = value
		}
	}
	return m
}

// surroundingsOf are the target and the machine as they were found.
func surroundingsOf(s *Source) map[string]string {
	m := map[string]string{}
	put := func(list []Fact, before string) {
		for _, f := range list {
			m[before+f.Name] = f.Value
		}
	}
	switch r := s.Result.(type) {
	case *record.Run:
		put(targetFacts(r), "Target: ")
		put(environmentFacts(r.Environment), "")
		m["Plimsoll"] = Version(r.Tool)
		for key, v := range r.ClientSettings {
			m["Client: "+key] = v
		}
		for key, v := range r.Target.Settings {
			m["Server: "+key] = v
		}
	case *record.Study:
		put(environmentFacts(r.Environment), "")
		m["Plimsoll"] = Version(r.Tool)
	}
	return m
}

// besideTable has a row for each name with the values of all sides, and marks those that differ; they come first. With
// defaults, rows in which all sides have the default are left out.
func besideTable(caption, what string, names []string, sources []*Source, of func(*Source) map[string]string,
	defaults bool) *Table {
	heads := []string{"", what}
	var was map[string]string
	if defaults {
		heads, was = append(heads, "default"), flat(defaultSpec())
		delete(was, "out")
	}
	t := &Table{Caption: caption, Quiet: true, Left: len(heads) + len(names), Header: append(heads, names...)}
	values, keys := make([]map[string]string, len(sources)), map[string]bool{}
	for i, s := range sources {
		values[i] = of(s)
		for key := range values[i] {
			keys[key] = true
		}
	}
	for key := range was {
		keys[key] = true
	}
	var same [][]string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		row := []string{"", key}
		if defaults {
			row = append(row, saidOr(was, key))
		}
		differ, changed := false, false
		for _, m := range values {
			v := saidOr(m, key)
			differ = differ || v != saidOr(values[0], key)
			changed = changed || v != saidOr(was, key)
			row = append(row, v)
		}
		switch {
		case differ:
			row[0] = "≠"
			t.Rows = append(t.Rows, row)
		case changed || !defaults:
			same = append(same, row)
		}
	}
	t.Rows = append(t.Rows, same...)
	if len(t.Rows) == 0 {
		return nil
	}
	t.Notes = []string{"≠ marks what differs between the sides."}
	return t
}

func saidOr(m map[string]string, key string) string {
	if v, ok := m[key]; ok {
		return v
	}
	return "not set"
}
