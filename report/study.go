package report

import (
	"cmp"
	"encoding/csv"
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
	levels := map[string]map[string]string{}
	var factors []string
	for _, c := range s.Configurations {
		levels[c.ID] = c.Levels
		factors = slices.AppendSeq(factors, maps.Keys(c.Levels))
	}
	slices.Sort(factors)
	var lines []map[string]string
	metrics := comparedMetrics(s.Comparisons)
	for _, trial := range executed(s.Trials) {
		metrics = append(metrics, slices.Sorted(maps.Keys(trial.Values))...)
		lines = append(lines, trialLine(trial, levels[trial.Configuration]))
	}
	return writeSheet(w, slices.Compact(factors), metrics, append(lines, comparisonLines(s.Comparisons, levels)...))
}

func comparedMetrics(list []record.Comparison) (names []string) {
	for i := range list {
		names = append(names, list[i].Metric)
	}
	return names
}

// writeSheet writes lines of trials and comparisons as a table. Each factor and metric has a column; metrics of
// comparisons come first.
func writeSheet(w io.Writer, factors, metrics []string, lines []map[string]string) error {
	header := []string{"row", "number", "attempt", "block", "configuration", "kind", "status", "validity", "started", "seconds", "record", "problem"}
	for _, name := range factors {
		header = append(header, "level:"+name)
	}
	seen := map[string]bool{}
	for _, name := range metrics {
		if !seen[name] {
			seen[name] = true
			header = append(header, column(name))
		}
	}
	header = append(header, "baseline", "metric", "unit", "n", "n_baseline", "pairs", "value", "value_low", "value_high", "base", "base_low",
		"base_high", "ratio", "ratio_low", "ratio_high", "p", "p_holm", "p_rank", "difference", "margin", "verdict", "note")
	rows := make([][]string, len(lines)+1)
	for _, name := range header {
		rows[0] = append(rows[0], cell(name))
		for i, line := range lines {
			rows[i+1] = append(rows[i+1], line[name])
		}
	}
	return csv.NewWriter(w).WriteAll(rows)
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

func trialLine(trial *record.Trial, levels map[string]string) map[string]string {
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
	return cells
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

func comparisonLines(list []record.Comparison, levels map[string]map[string]string) (lines []map[string]string) {
	for i := range list {
		c := &list[i]
		unit := c.Unit
		if unit == measure.UnitTime {
			unit = "us"
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
		lines = append(lines, cells)
	}
	return lines
}

func float(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// floatOr is a number of a table, empty if it is not known.
func floatOr(x *float64) string {
	if x == nil {
		return ""
	}
	return float(*x)
}

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
	b.head(s.Environment, s.Validity)
	b.printf("Unit ok/s better=higher\n")
	v := newStudyView(s)
	ids := []string{v.baseline} // benchstat compares with what comes first
	for _, c := range s.Configurations {
		if c.ID != v.baseline {
			ids = append(ids, c.ID)
		}
	}
	for _, id := range ids {
		for _, t := range v.trials[id] {
			if countsFor(t) {
				b.trial("Study", t.Configuration, t.Values)
			}
		}
	}
	return b.err
}

// trial writes the values of a trial, those of each operation class in a line of its own. Lines of results need a
// number of iterations, which is one: a trial.
func (b *benchWriter) trial(kind, configuration string, values map[string]float64) {
	lines := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		class, what := splitMetric(name)
		class = cmp.Or(class, "all")
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
