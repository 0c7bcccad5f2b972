package judge

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
	"github.com/plimsoll-bench/plimsoll/record"
)

// Side is one side of a comparison: one record, several records of the same thing, or a configuration of a study.
type Side struct {
	Name string // in tables
	// Point matches sides: of two studies, equal configurations are compared. The first side of a point is its baseline.
	Point  string
	Trials []Trial
	// Varied are the paths that its study changed on purpose.
	Varied []string
	// Study is the directory of its study. Configurations of the same Batch ran in the same blocks.
	Study, Batch string
	// Level is that of the last look at the study, 0 if it has no verdicts yet.
	Level float64
	// Until is true for a study until decided, whose intervals have the level of its last look.
	Until bool
	lines []record.LoadLine // of a capacity
}

// pairedWith reports whether the trials of two sides ran in the same blocks.
func (s *Side) pairedWith(o *Side) bool {
	return s.Study != "" && s.Study == o.Study && s.Batch == o.Batch
}

// Trial is one run of a side.
type Trial struct {
	Record   string // its directory
	Started  time.Time
	Block    int                // of its study, or 0
	Values   map[string]float64 // by metric
	NoAnswer []string           // metrics without an answer, see [NoAnswer]
	AtLeast  []string           // metrics that are only known to be at least their value
	Facts    Facts              // that should be equal
	Why      string             // it does not count, "" if it does
	Doubts   []string           // ids of its warnings
}

// counted returns the valid trials in the order of time.
func (s *Side) counted() []Trial {
	list := slices.DeleteFunc(slices.Clone(s.Trials), func(t Trial) bool { return t.Why != "" })
	slices.SortStableFunc(list, func(a, b Trial) int { return a.Started.Compare(b.Started) })
	return list
}

// CompareOptions configure [Compare].
type CompareOptions struct {
	// Metrics is by default throughput, errors, and per operation class mean and p99.
	Metrics []string
	// Margin is the smallest relevant change, as a share; Confidence is the level of all intervals. 0 is the default.
	Margin, Confidence float64
	// Varied are paths that differ on purpose, such as "durability".
	Varied []string
	// Force ignores differences in what must be equal.
	Force bool
	// Level is the level of the verdicts and of the intervals if it is one of several looks at growing sides; 0 is
	// 1 − Confidence.
	Level float64
	Tool  record.Tool
	// Names are those of the sides of [CompareProbes] in tables, instead of their directories.
	Names []string
	// disks compares probes.
	disks bool
}

// Compare compares each side with the first one of the same point. If sides differ in what must be equal, the values
// are shown without verdicts, and the validity has the finding "not-comparable", unless Force is set. It returns an
// error if there is nothing to compare.
func Compare(sides []Side, o CompareOptions) (*record.ComparisonReport, error) {
	for _, name := range o.Metrics {
		if _, err := ParseMetric(name); err != nil {
			return nil, err
		}
	}
	if err := checkVaried(o.Varied, sides); err != nil {
		return nil, err
	}
	if len(sides) < 2 {
		return nil, errors.New("a comparison needs at least two sides. Give a second record or study")
	}
	points := group(sides)
	if !slices.ContainsFunc(points, func(p []*Side) bool { return len(p) > 1 }) {
		return nil, fmt.Errorf("%s and %s have no configuration in common. Name those to compare, as in DIR#CONFIGURATION",
			sides[0].Name, sides[1].Name)
	}
	c := &comparing{o: o, rules: newRules(o.Margin, o.Confidence), report: &record.ComparisonReport{
		Head:        record.Head{SchemaVersion: record.SchemaVersion, Kind: record.KindComparison, Tool: o.Tool},
		Comparisons: []record.Comparison{}}}
	if o.Level > 0 {
		c.rules.level, c.rules.interval = o.Level, 1-o.Level
	}
	c.report.Confidence = c.rules.confidence
	if c.metrics, c.unknown = metricsOf(o.Metrics, sides); o.disks {
		c.metrics, c.unknown = diskUses, nil
	}
	for i := range sides {
		c.addSide(&sides[i])
	}
	c.report.Differences = c.differ(points)
	c.mixed = checkMixed(sides, o.Force)
	c.refused = !o.Force && (measure.Worst(c.mixed) == measure.Invalid ||
		slices.ContainsFunc(c.report.Differences, func(d record.Difference) bool { return d.Severity == measure.Invalid }))
	if ofLines(sides) {
		c.compareLines(points)
		c.report.Validity = append(c.checkDifferences(), checkSides(sides)...)
		c.report.Validity = append(append(c.report.Validity, checkUnmatched(points, sides)...), lineFindings())
		measure.SortFindings(c.report.Validity)
		return c.report, nil
	}
	c.compare(points)
	c.report.WouldTell = c.wouldTell(points)
	c.report.Validity = c.findings(sides, points)
	return c.report, nil
}

// checkVaried rejects paths that no side has, because a typing error would otherwise have no visible effect.
func checkVaried(varied []string, sides []Side) error {
	known := map[string]bool{}
	for i := range sides {
		for path := range sides[i].facts() {
			for at := path; at != ""; {
				known[at] = path != partial
				at = at[:max(0, strings.LastIndexByte(at, '.'))]
			}
		}
	}
	for _, v := range varied {
		if !known[v] {
			return fmt.Errorf("no side has %q%s (examples: durability, client, workload, load.rate, target.version, "+
				"environment.cpu)", v, nearest.DidYouMean(v, slices.Sorted(maps.Keys(known))))
		}
	}
	return nil
}

// comparing holds the state of [Compare].
type comparing struct {
	o       CompareOptions
	rules   rules
	metrics []Metric
	report  *record.ComparisonReport
	unknown []string // metrics that no trial has
	mixed   []measure.Finding
	refused bool
}

// group groups sides by point, in the order of the first one of each.
func group(sides []Side) [][]*Side {
	place := map[string]int{}
	var points [][]*Side
	for i := range sides {
		s := &sides[i]
		at, ok := place[s.Point]
		if !ok {
			at = len(points)
			place[s.Point] = at
			points = append(points, nil)
		}
		points[at] = append(points[at], s)
	}
	return points
}

// metricsOf returns the metrics to compare, and those that no trial has.
func metricsOf(asked []string, sides []Side) (metrics []Metric, unknown []string) {
	var values []map[string]float64
	for i := range sides {
		for _, t := range sides[i].counted() {
			values = append(values, t.Values)
		}
	}
	metrics = compared(asked, values)
	return metrics, unstated(metrics, values)
}

func (c *comparing) addSide(s *Side) {
	trials := s.counted()
	side := record.ComparisonSide{Name: s.Name, Records: []string{}, N: len(trials),
		TargetKind: s.facts()["target.kind"], Values: map[string][]float64{}}
	for _, t := range trials {
		if t.Record != "" {
			side.Records = append(side.Records, t.Record)
		}
		for _, m := range c.metrics {
			if x, ok := t.Values[m.Name]; ok {
				side.Values[m.Name] = append(side.Values[m.Name], x)
			}
		}
	}
	c.report.Sides = append(c.report.Sides, side)
}

// differ lists the differences between sides of the same point, each once over all points.
func (c *comparing) differ(points [][]*Side) []record.Difference {
	all := []record.Difference{}
	seen := map[string]bool{}
	said, target := len(c.o.Varied) > 0, false
	for _, p := range points {
		facts := make([]Facts, 0, len(p))
		varied := slices.Clone(c.o.Varied)
		for _, s := range p {
			facts = append(facts, s.facts())
			if s.Study != "" && s.Study == p[0].Study {
				varied = slices.Concat(varied, s.Varied, p[0].Varied)
				said = said || len(s.Varied)+len(p[0].Varied) > 0
			}
		}
		target = target || !ofLabs(facts)
		for _, d := range differences(facts, varied) {
			key := d.What + "\x00" + strings.Join(d.Values, "\x00")
			if !seen[key] {
				seen[key] = true
				all = append(all, d)
			}
		}
	}
	if !said {
		ask(all, target)
	}
	return worstFirst(all)
}

// facts returns those of the first valid trial. Differences of the others are reported by checkMixed.
func (s *Side) facts() Facts {
	if trials := s.counted(); len(trials) > 0 {
		return trials[0].Facts
	}
	if len(s.Trials) > 0 {
		return s.Trials[0].Facts
	}
	return nil
}

// variants returns the distinct facts of the trials of a side, at most eight. There should be one.
func (s *Side) variants() []Facts {
	var different []Facts
	for _, t := range s.counted() {
		if t.Facts != nil && !slices.ContainsFunc(different, func(f Facts) bool { return same(f, t.Facts) }) {
			different = append(different, t.Facts)
		}
		if len(different) == 8 {
			break
		}
	}
	return different
}

// same reports whether two trials have the same facts, except those that differ from run to run.
func same(a, b Facts) bool {
	if len(a) != len(b) {
		return false
	}
	for path, v := range a {
		if w, ok := b[path]; !ok || v != w && weigh(path).severity() != measure.Note {
			return false
		}
	}
	return true
}

// compare compares all points. All verdicts are one family.
func (c *comparing) compare(points [][]*Side) {
	var all []*cell
	for _, p := range points {
		for _, s := range p[1:] {
			base, value, silent := p[0].blocks(s)
			if c.refused {
				silent = "the sides differ in what must be equal, see the differences"
			}
			if s.pairedWith(p[0]) {
				if c.rules.level = min(c.rules.level, s.Level); s.Until && s.Level > 0 {
					c.rules.interval = 1 - c.rules.level
				}
			}
			for _, m := range c.metrics {
				one := newCell(m, observed(base, m.Name), observed(value, m.Name), silent, c.rules)
				one.Configuration, one.Baseline = s.Name, p[0].Name
				withoutAnswer(one, base, value, func(t placed) []string { return t.NoAnswer })
				if one.N+one.NBase > 0 {
					all = append(all, one)
				}
			}
		}
	}
	decide(all, c.rules)
	for _, one := range all {
		c.report.Comparisons = append(c.report.Comparisons, one.Comparison)
	}
}

// placed is a trial with its block and its weight in that.
type placed struct {
	Trial
	block  int
	weight float64
}

// blocks divides the trials of two sides into blocks: those of their study, or those in which they alternate. silent is
// why there can be no verdict.
func (s *Side) blocks(other *Side) (base, value []placed, silent string) {
	paired := other.pairedWith(s)
	var all []placed
	for _, t := range s.counted() {
		all = append(all, placed{t, t.Block, -1})
	}
	first := len(all)
	for _, t := range other.counted() {
		all = append(all, placed{t, t.Block, 1})
	}
	switch {
	case paired && other.Level == 0:
		silent = "preliminary: trials are missing. There is no verdict before the planned number of trials"
	case !paired:
		if alternate(all, first) < trialsForVerdict {
			silent = notInterleaved
		}
	}
	return all[:first], all[first:], silent
}

// notInterleaved is why sides that did not alternate have no verdict.
var notInterleaved = fmt.Sprintf("no verdict: not interleaved. A verdict needs %d blocks of four trials that alternate, such as "+
	"A B B A; plimsoll ab, or plimsoll disk DIR-A DIR-B, makes them", trialsForVerdict)

// alternate sets the blocks in which trials alternate in time between those before and those from the index first on,
// and returns their number.
func alternate(all []placed, first int) (blocks int) {
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return all[a].Started.Compare(all[b].Started) })
	second := make([]bool, len(all))
	for k, i := range order {
		second[k] = i >= first
	}
	block, weights := stats.Alternations(second)
	for k, i := range order {
		all[i].block, all[i].weight = block[k], weights[k]
		blocks = max(blocks, block[k])
	}
	return blocks
}

// observed returns the values of trials in a metric.
func observed(trials []placed, metric string) []observation {
	list := make([]observation, 0, len(trials))
	for _, t := range trials {
		if x, ok := t.Values[metric]; ok {
			list = append(list, observation{x, t.block, t.weight})
		}
	}
	return list
}
