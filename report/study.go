package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// studyCSV writes a study as one table: a line per trial, in the order of execution, with a column per metric, and a
// line per comparison after them. The column row says which of both a line is. Times are in microseconds.
func studyCSV(w io.Writer, s *record.Study) error {
	t := newSheet(s.Comparisons)
	for i := range s.Trials {
		t.addMetrics(slices.Sorted(maps.Keys(s.Trials[i].Values)))
	}
	t.levels = factorNames(s)
	levels := map[string]map[string]string{}
	for _, c := range s.Configurations {
		levels[c.ID] = c.Levels
	}
	if err := t.begin(w); err != nil {
		return err
	}
	for _, trial := range executed(s.Trials) {
		if err := t.trial(trial, levels[trial.Configuration]); err != nil {
			return err
		}
	}
	return t.comparisons(s.Comparisons, levels)
}

func factorNames(s *record.Study) []string {
	found := map[string]bool{}
	for _, c := range s.Configurations {
		for name := range c.Levels {
			found[name] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// sheet is a table of trials and comparisons.
type sheet struct {
	out     *csv.Writer
	header  []string
	place   map[string]int
	metrics []string
	known   map[string]bool
	levels  []string
}

func newSheet(list []record.Comparison) *sheet {
	t := &sheet{known: map[string]bool{}}
	for i := range list {
		t.addMetrics([]string{list[i].Metric})
	}
	return t
}

func (t *sheet) addMetrics(names []string) {
	for _, name := range names {
		if !t.known[name] {
			t.known[name] = true
			t.metrics = append(t.metrics, name)
		}
	}
}

func (t *sheet) begin(w io.Writer) error {
	t.out = csv.NewWriter(w)
	t.header = []string{"row", "number", "attempt", "block", "configuration", "kind", "status", "validity", "started", "seconds", "record", "problem"}
	for _, name := range t.levels {
		t.header = append(t.header, "level:"+name)
	}
	for _, name := range t.metrics {
		t.header = append(t.header, column(name))
	}
	t.header = append(t.header, "baseline", "metric", "unit", "n", "n_baseline", "pairs", "value", "value_low", "value_high", "base", "base_low",
		"base_high", "ratio", "ratio_low", "ratio_high", "p", "p_holm", "p_rank", "difference", "margin", "verdict", "note")
	t.place = map[string]int{}
	cells := make([]string, len(t.header))
	for i, name := range t.header {
		t.place[name] = i
		cells[i] = cell(name)
	}
	return t.out.Write(cells)
}

// column is the name of the column of a metric, with its unit.
func column(metric string) string {
	switch unitOf(metric) {
	case measure.UnitRate:
		return metric + "_per_s"
	case measure.UnitShare:
		return metric + "_share"
	}
	return metric + "_us"
}

func (t *sheet) line(cells map[string]string) error {
	row := make([]string, len(t.header))
	for name, text := range cells {
		if i, ok := t.place[name]; ok {
			row[i] = text
		}
	}
	return t.out.Write(row)
}

// cell makes a text harmless for programs that read tables: no control characters, and nothing that a spreadsheet
// would take for a formula.
func cell(s string) string {
	s = Clean(s)
	if s != "" && strings.ContainsRune("=+-@", rune(s[0])) {
		if _, err := strconv.ParseFloat(s, 64); err != nil {
			return "'" + s
		}
	}
	return s
}

func (t *sheet) trial(trial *record.Trial, levels map[string]string) error {
	cells := map[string]string{"row": "trial", "number": strconv.Itoa(trial.Number), "attempt": strconv.Itoa(trial.Attempt),
		"block": strconv.Itoa(trial.Block), "configuration": cell(trial.Configuration), "kind": cell(trial.Kind), "status": cell(string(trial.Status)),
		"record": cell(trial.Record), "problem": cell(trial.Problem)}
	if trial.Status == record.TrialDone {
		cells["validity"] = findingWords(trial.Validity)
	}
	if trial.Started != nil {
		cells["started"] = trial.Started.UTC().Format(time.RFC3339)
	}
	if trial.Seconds > 0 {
		cells["seconds"] = float(trial.Seconds)
	}
	for name, level := range levels {
		cells["level:"+name] = cell(level)
	}
	for name, x := range trial.Values {
		cells[column(name)] = float(scaled(x, unitOf(name)))
	}
	return t.line(cells)
}

// findingWords is the validity of a trial with its reasons.
func findingWords(list []measure.Finding) string {
	if len(list) == 0 {
		return "valid"
	}
	var ids []string
	for _, f := range list {
		ids = append(ids, f.ID)
	}
	return cell(string(measure.Worst(list)) + ": " + strings.Join(ids, " "))
}

func (t *sheet) comparisons(list []record.Comparison, levels map[string]map[string]string) error {
	for i := range list {
		c := &list[i]
		unit := map[string]string{measure.UnitTime: "us"}[c.Unit]
		if unit == "" {
			unit = c.Unit
		}
		cells := map[string]string{"row": "comparison", "configuration": cell(c.Configuration), "baseline": cell(c.Baseline), "metric": cell(c.Metric),
			"unit": cell(unit), "n": strconv.Itoa(c.N), "n_baseline": strconv.Itoa(c.NBase), "pairs": strconv.Itoa(c.Pairs), "margin": float(c.Margin),
			"verdict": cell(string(c.Verdict)), "note": cell(c.Note)}
		for name, x := range map[string]*float64{"value": c.Value, "value_low": c.ValueLow, "value_high": c.ValueHigh, "base": c.Base,
			"base_low": c.BaseLow, "base_high": c.BaseHigh, "difference": c.Difference} {
			if x != nil {
				cells[name] = float(scaled(*x, c.Unit))
			}
		}
		for name, x := range map[string]*float64{"ratio": c.Ratio, "ratio_low": c.Low, "ratio_high": c.High, "p": c.P, "p_holm": c.Adjusted, "p_rank": c.RankP} {
			if x != nil {
				cells[name] = float(*x)
			}
		}
		for name, level := range levels[c.Configuration] {
			cells["level:"+name] = cell(level)
		}
		if err := t.line(cells); err != nil {
			return err
		}
	}
	t.out.Flush()
	return t.out.Error()
}

func float(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// scaled is a value in the unit of tables: times in microseconds.
func scaled(x float64, unit string) float64 {
	if unit == measure.UnitTime {
		return x / 1e3
	}
	return x
}

// studyBench writes the trials that count in the format of Go benchmarks, so that benchstat compares configurations
// as a second opinion: benchstat -col /configuration FILE. A line is one trial; benchstat takes the median of those
// with the same name.
func studyBench(w io.Writer, s *record.Study) error {
	b := benchWriter{w: w}
	b.head(s.Environment)
	if measure.Worst(s.Validity) == measure.Invalid {
		b.printf("validity: invalid\n")
	}
	v := newStudyView(s)
	for _, id := range v.baselineFirst() { // benchstat compares with what comes first
		for _, t := range v.trials[id] {
			if countsFor(t) {
				b.trial("Study", t.Configuration, t.Values)
			}
		}
	}
	return b.err
}

// baselineFirst returns the configurations, the baseline before the others.
func (v *studyView) baselineFirst() []string {
	list := []string{v.baseline}
	for _, c := range v.study.Configurations {
		if c.ID != v.baseline {
			list = append(list, c.ID)
		}
	}
	return list
}

// benchWriter writes lines of benchmark results.
// (golang.org/design/14313-benchmark-format)
type benchWriter struct {
	w   io.Writer
	err error
}

func (b *benchWriter) printf(format string, args ...any) {
	if b.err == nil {
		_, b.err = fmt.Fprintf(b.w, format, args...)
	}
}

func (b *benchWriter) head(e record.Environment) {
	for _, line := range [][2]string{{"goos", e.OS}, {"goarch", e.Arch}, {"cpu", e.CPU}} {
		if v := strings.TrimSpace(Clean(line[1])); v != "" {
			b.printf("%s: %s\n", line[0], v)
		}
	}
	b.printf("Unit ok/s better=higher\n")
}

// trial writes the values of a trial, those of each operation class in a line of its own. Lines of results need a
// number of iterations, which is one: a trial.
func (b *benchWriter) trial(kind, configuration string, values map[string]float64) {
	lines := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		class, what := splitMetric(name)
		if class == "" {
			class = "all"
		}
		unit := word(Clean(what)) + "-ns"
		switch {
		case unitOf(name) == measure.UnitRate:
			unit = "ok/s"
		case unitOf(name) == measure.UnitShare:
			unit = word(Clean(what)) + "-share"
		case what == "mean":
			unit = "ns/op"
		}
		lines[class] = append(lines[class], strconv.FormatFloat(values[name], 'f', -1, 64)+" "+unit)
	}
	for _, class := range slices.Sorted(maps.Keys(lines)) {
		b.printf("Benchmark%s/configuration=%s/class=%s \t1\t%s\n", kind, word(Clean(configuration)), word(Clean(class)), strings.Join(lines[class], "\t"))
	}
}

// splitMetric takes the operation class off the name of a metric; p99.9 and service.p99 are of all operations.
func splitMetric(name string) (class, rest string) {
	first, rest, more := strings.Cut(name, ".")
	percentile := len(first) > 1 && first[0] == 'p' && strings.Trim(first[1:]+rest, "0123456789") == ""
	if !more || percentile || first == "service" || first == "response" {
		return "", name
	}
	return first, rest
}
