package html

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/shellword"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/html/chart"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Side is a record that is compared: its directory, and what the page calls it.
type Side struct{ Name, Dir string }

// Comparer compares records with the first of them. Pages judge nothing, so the caller provides it.
type Comparer func(sides []Side) (*record.ComparisonReport, error)

func comparable(sources []*Source) bool {
	for _, s := range sources {
		if s.Run == nil && s.Study == nil {
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
		return nil, visible(err.Error())
	}
	Tidy(c)
	src := &Source{Comparison: c}
	d := report.Of(c)
	p.put(Answer{ID: "vs-answer", Document: d}, report.Capitalised(d.Title), comparisonSections(src, d, "vs-"))
	if s := overlaid(sources, names); len(s.Blocks) > 0 {
		p.Sections = slices.Insert(p.Sections, 1, s) // behind the ratios
	}
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
		if s.Run == nil {
			return Section{}
		}
		scheduled = scheduled && s.Run.Scheduled
		for _, sp := range spectraOf(s.Course) {
			if sp.Part {
				continue
			}
			if of[sp.Class] == nil {
				classes = append(classes, sp.Class)
			}
			result := classOf(s, sp.Class)
			of[sp.Class] = append(of[sp.Class], distribution{i, "response", sp.Response, longestOf(result.Response)},
				distribution{i, "service", sp.Service, longestOf(result.Service)})
		}
	}
	return overlaidSection("vs-", classes, of, names, scheduled)
}

func overlaidSection(prefix string, classes []string, of map[string][]distribution, names []string,
	scheduled bool) Section {
	sec := Section{ID: prefix + "spectra", Title: "Percentile spectra, overlaid"}
	left := max(0, len(classes)-maxClasses)
	for i, class := range classes[:len(classes)-left] {
		if f := overlaidClass(of[class], names, class, scheduled, fmt.Sprintf("%sspectrum-%d", prefix, i)); f != nil {
			sec.Blocks = append(sec.Blocks, Block{Figure: f})
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

func classOf(s *Source, class string) record.ClassResult {
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
		dirs[i] = shellword.Quote(visible(s.Dir))
	}
	sec.Blocks = append(sec.Blocks,
		Block{Heading: "Compare again", Code: &Code{Label: "Command", Text: "plimsoll compare " + strings.Join(dirs, " ")}},
		Block{Heading: "Settings that differ from their defaults or between the sides", Table: besideTable("Settings of all sides", "setting", names, sources, settingsOf, true)},
		Block{Heading: "Environment of the load", Table: besideTable("Environments of all sides", "what", names, sources, surroundingsOf, false)})
	var sums strings.Builder
	for i, s := range sources {
		b := commandBlock(s.command)
		b.Heading = "Exact command of " + names[i]
		if b.Code != nil {
			b.Code.Label = b.Heading
		}
		sec.Blocks = append(sec.Blocks, b)
		for line := range strings.Lines(s.Sums) {
			fmt.Fprintf(&sums, "%s: %s\n", names[i], visible(strings.TrimRight(line, "\n")))
		}
	}
	if sums.Len() > 0 {
		sec.Blocks = append(sec.Blocks, Block{Heading: "Checksums (SHA-256) of all sides",
			Code: &Code{Label: "Checksums of all sides", Text: strings.TrimRight(sums.String(), "\n")}})
	}
	return sec
}

// settingsOf returns the settings without places of records. That of a study is its base.
func settingsOf(s *Source) map[string]string {
	asked := spec.Run{}
	switch {
	case s.Run != nil:
		asked = s.Run.Specification
	case s.Study != nil:
		asked = s.Study.Base
	}
	m := flat(asked)
	delete(m, "out")
	for key := range m {
		if strings.HasPrefix(key, "labels.") {
			delete(m, key)
		}
	}
	if s.Study != nil {
		m["factors"] = report.FactorText(s.Study.Specification)
	}
	return m
}

// surroundingsOf are the target and the machine as they were found.
func surroundingsOf(s *Source) map[string]string {
	m := map[string]string{}
	put := func(list []report.Fact, before string) {
		for _, f := range list {
			m[before+f.Name] = f.Value
		}
	}
	switch {
	case s.Run != nil:
		put(targetFacts(s.Run), "Target: ")
		put(environmentFacts(s.Run.Environment), "")
		m["Plimsoll"] = report.Version(s.Run.Tool)
		for key, v := range s.Run.ClientSettings {
			m["Client: "+key] = v
		}
		for key, v := range s.Run.Target.Settings {
			m["Server: "+key] = v
		}
	case s.Study != nil:
		put(environmentFacts(s.Study.Environment), "")
		m["Plimsoll"] = report.Version(s.Study.Tool)
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
	t := &Table{Caption: caption, Quiet: true, Columns: columns(len(heads)+len(names), append(heads, names...)...)}
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
