package judge

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
	"github.com/plimsoll-bench/plimsoll/record"
)

// HistoryOptions configure [History].
type HistoryOptions struct {
	// Metrics is by default throughput, errors, and per operation class mean and p99.
	Metrics []string
	// Margin is the smallest relevant change, as a share; 0 is [defaultMargin].
	Margin float64
	Tool   record.Tool
}

// minHistory is the smallest number of points for finding changes; see [stats.ChangePoints].
const minHistory = 10

// OpenAll reads the records and studies in directories, each once and as one source. Those of a single directory have
// their names in it.
func OpenAll(dirs ...string) (sources []Source, skipped []record.SkippedRecord, err error) {
	var paths []string
	for _, dir := range dirs {
		runs, studies, err := find(dir)
		if err != nil {
			return nil, nil, err
		}
		for _, path := range append(runs, studies...) {
			if path = filepath.Clean(path); !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	for _, path := range paths {
		s, err := Open(path)
		if err != nil {
			skipped = append(skipped, record.SkippedRecord{Record: path, Problem: err.Error()})
			continue
		}
		if rel, err := filepath.Rel(dirs[0], path); err == nil && len(dirs) == 1 {
			s.Name = rel
		}
		sources = append(sources, s)
	}
	return sources, skipped, nil
}

// HistorySides turns each record, and each configuration of each study, into a side.
func HistorySides(sources []Source, metrics []string) []Side {
	var sides []Side
	for i := range sources {
		s := &sources[i]
		if s.Study == nil {
			side := s.side(metrics)
			if s.Capacity != nil {
				side = s.capacity()
			}
			sides = append(sides, side)
			continue
		}
		for _, c := range s.Study.Configurations {
			side := s.configuration(c.ID, metrics)
			side.Name = s.Name + "#" + c.ID
			sides = append(sides, side)
		}
	}
	return sides
}

// History groups sides that are equal in what must be equal, orders them by time, and finds where their results change.
// Each side is one point: a record, or the trials of one configuration of a study. The order of sides does not matter.
func History(sides []Side, o HistoryOptions) (*record.HistoryReport, error) {
	for _, name := range o.Metrics {
		if _, err := ParseMetric(name); err != nil {
			return nil, err
		}
	}
	h := &record.HistoryReport{SchemaVersion: record.SchemaVersion, Kind: record.KindHistory, Tool: o.Tool,
		Groups: []record.HistoryGroup{}, Validity: []measure.Finding{}}
	r := newRules(o.Margin, 0)
	members := map[string][]*Side{}
	for i := range sides {
		key := sides[i].key()
		members[key] = append(members[key], &sides[i])
	}
	var groups []*points
	for _, key := range slices.Sorted(maps.Keys(members)) {
		g := newPoints(members[key], o.Metrics, r)
		groups = append(groups, g)
		for i := range g.series {
			if g.series[i].N >= minHistory {
				r.tests++
			}
		}
	}
	for _, g := range groups {
		for i := range g.series {
			g.findChanges(&g.series[i], r)
			g.Series = append(g.Series, g.series[i].HistorySeries)
		}
		h.Groups = append(h.Groups, g.HistoryGroup)
	}
	slices.SortStableFunc(h.Groups, func(a, b record.HistoryGroup) int {
		return cmp.Compare(len(b.Points), len(a.Points))
	})
	name(h.Groups)
	h.Validity = append(h.Validity, checkHistory(h)...)
	return h, nil
}

// identifying reports whether a fact distinguishes groups. Versions, settings and the state of the machine may change
// within a group; if they change where the results do, the change names them.
func identifying(path string) bool {
	first, _, _ := strings.Cut(path, ".")
	return weigh(path).severity() == measure.Invalid || first == "load" || path == "target.kind" || path == "target.topology"
}

func (s *Side) key() string {
	facts := s.facts()
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(facts)) {
		if identifying(path) {
			fmt.Fprintf(&b, "%s\x00%s\x00", path, facts[path])
		}
	}
	return b.String()
}

// start returns the first trial of a side.
func (s *Side) start() (t Trial) {
	for i, x := range s.Trials {
		if i == 0 || x.Started.Before(t.Started) {
			t = x
		}
	}
	return t
}

// series is the course of a metric, and the points that its values belong to.
type series struct {
	record.HistorySeries
	values []float64
	at     []int
}

// points are those of equal tests, in the order of time.
type points struct {
	record.HistoryGroup
	sides  []*Side
	series []series
}

func newPoints(sides []*Side, asked []string, r rules) *points {
	slices.SortStableFunc(sides, func(a, b *Side) int {
		return cmp.Or(a.start().Started.Compare(b.start().Started), cmp.Compare(a.Name, b.Name))
	})
	var values []map[string]float64
	for _, s := range sides {
		for _, t := range s.counted() {
			values = append(values, t.Values)
		}
	}
	metrics := compared(asked, values)
	g := &points{sides: sides, HistoryGroup: record.HistoryGroup{Common: common(sides), Series: []record.HistorySeries{}}}
	for _, s := range sides {
		g.Points = append(g.Points, newPoint(s, metrics, r))
	}
	for _, m := range metrics {
		if s, bounds := newSeries(m, g.Points); s.N+bounds > 0 {
			g.series = append(g.series, s)
		}
	}
	return g
}

// common returns the facts that all sides share.
func common(sides []*Side) map[string]string {
	shared := maps.Clone(sides[0].facts())
	delete(shared, partial)
	for _, s := range sides[1:] {
		facts := s.facts()
		maps.DeleteFunc(shared, func(path, v string) bool { return facts[path] != v })
	}
	return shared
}

func newPoint(s *Side, metrics []Metric, r rules) record.HistoryPoint {
	trials := s.counted()
	p := record.HistoryPoint{Record: s.Name, Started: s.start().Started, N: len(trials), Values: map[string]float64{}}
	if len(trials) == 0 {
		p.Why = "no valid trial"
		if len(s.Trials) > 0 {
			p.Why = s.Trials[0].Why
		}
	}
	for _, m := range metrics {
		if slices.ContainsFunc(trials, func(t Trial) bool { return slices.Contains(t.NoAnswer, m.Name) }) {
			p.NoAnswer = append(p.NoAnswer, m.Name)
			continue
		}
		if x, _, _ := typical(m, figuresOf(trials, m.Name), r); x != nil {
			p.Values[m.Name] = *x
		}
		if slices.ContainsFunc(trials, func(t Trial) bool { return slices.Contains(t.AtLeast, m.Name) }) {
			p.AtLeast = append(p.AtLeast, m.Name)
		}
	}
	return p
}

func figuresOf(trials []Trial, metric string) []float64 {
	var xs []float64
	for _, t := range trials {
		if x, ok := t.Values[metric]; ok {
			xs = append(xs, x)
		}
	}
	return xs
}

// newSeries returns the course of a metric. Values that are only known to be at least so high are not in it: bounds is
// their number.
func newSeries(m Metric, points []record.HistoryPoint) (s series, bounds int) {
	s = series{HistorySeries: record.HistorySeries{Metric: m.Name, Unit: m.Unit, Higher: m.Higher,
		Changes: []record.HistoryChange{}}}
	for i, p := range points {
		x, ok := p.Values[m.Name]
		switch {
		case ok && slices.Contains(p.AtLeast, m.Name): // no change is known from it
			bounds++
		case ok:
			s.values, s.at = append(s.values, x), append(s.at, i)
		}
	}
	if s.N = len(s.values); s.N == 0 {
		return s, bounds
	}
	s.Median, s.Latest = measure.Median(s.values), s.values[len(s.values)-1]
	if s.Median != 0 {
		s.Spread = (slices.Max(s.values) - slices.Min(s.values)) / s.Median
	}
	return s, bounds
}

// findChanges finds the changes of one metric of a group, which is one of r.tests that are judged together.
func (g *points) findChanges(s *series, r rules) {
	if s.N < minHistory {
		s.Note = fmt.Sprintf("too short to find changes: %s of at least %d", plural(s.N, "point"), minHistory)
		return
	}
	found := stats.ChangePoints(s.values, stats.ChangeOptions{Magnitude: r.margin, Histories: r.tests})
	for k, c := range found {
		from, to := 0, len(s.values)
		if k > 0 {
			from = found[k-1].Index
		}
		if k+1 < len(found) {
			to = found[k+1].Index
		}
		change := newChange(s.Higher, s.values[from:c.Index], s.values[c.Index:to], c.P)
		before, after := s.at[c.Index-1], s.at[c.Index]
		change.Index, change.Record, change.Started = after, g.Points[after].Record, g.Points[after].Started
		change.Differences = differences([]Facts{g.sides[before].facts(), g.sides[after].facts()}, nil)
		s.Changes = append(s.Changes, change)
	}
}

func newChange(higher bool, before, after []float64, p float64) record.HistoryChange {
	c := record.HistoryChange{Before: measure.Median(before), After: measure.Median(after), P: p, Verdict: record.Worse}
	if c.Before != 0 {
		c.Ratio = c.After / c.Before
	}
	if (c.After > c.Before) == higher {
		c.Verdict = record.Better
	}
	return c
}

// counted is [figure.Plural] for a number that is text.
func counted(n, noun string) string {
	if n == "1" {
		return "1 " + noun
	}
	return n + " " + noun + "s"
}

// name gives the groups short, distinct names.
func name(groups []record.HistoryGroup) {
	taken := map[string]int{}
	for i := range groups {
		c := groups[i].Common
		parts := []string{"workload " + c["workload.name"]}
		if n := c["data.records"]; n != "" {
			parts = append(parts, counted(n, "record"))
		}
		if w := c["load.workers"]; w != "" {
			parts = append(parts, counted(w, "worker"))
		}
		if rate := c["load.rate"]; rate != "" {
			parts = append(parts, rate+"/s")
		}
		for _, path := range []string{"durability.name", "client", "target.kind"} {
			if v := c[path]; v != "" {
				parts = append(parts, cmp.Or(record.NotMongoDB(v), v))
			}
		}
		text := strings.Join(parts, ", ")
		if taken[text]++; taken[text] > 1 {
			text += fmt.Sprintf(" (%d)", taken[text])
		}
		groups[i].Name = text
	}
}

func checkHistory(h *record.HistoryReport) []measure.Finding {
	var all []measure.Finding
	left, total, longest := 0, 0, 0
	for _, g := range h.Groups {
		longest = max(longest, len(g.Points))
		for _, p := range g.Points {
			total++
			if p.Why != "" {
				left++
			}
		}
	}
	if left > 0 {
		all = append(all, finding("left-out", measure.Warning, "%s of %d skipped because they are invalid or failed. The reasons "+
			"are shown", plural(left, "point"), total)...)
	}
	if longest < minHistory {
		all = append(all, finding("short-history", measure.Note, "the longest group has %s. Finding changes needs %d",
			figure.Plural(longest, "record"), minHistory)...)
	}
	return all
}
