package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
	"github.com/plimsoll-bench/plimsoll/spec"
)

func num(x float64) *float64 { return &x }

// sampleStudy has everything that a study can have: procedures, capacity, two factors, one of them exploratory, trials
// that failed, timed out, were repeated or do not count, a canary, objectives and findings.
func sampleStudy() *record.Study {
	start := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	s := &record.Study{
		Head: record.Head{SchemaVersion: record.SchemaVersion, Kind: record.KindStudy, Status: record.Interrupted,
			Problem: "ended by Ctrl-C", Started: start,
			Environment: record.Environment{OS: "linux", Arch: "amd64", CPU: "Some CPU @ 2.40GHz"},
			Validity: []measure.Finding{{ID: "failed-trials", Severity: measure.Warning, Text: "2 trials of 9 failed"},
				{ID: "outliers", Severity: measure.Note, Text: "one"}}},
		Specification: spec.Study{Name: "threads and durability", Factors: []spec.Factor{
			{Path: "load.workers", Levels: []spec.Level{{Name: "8"}, {Name: "16"}, {Name: "32"}}},
			{Name: "durability", Exploratory: true, Levels: []spec.Level{{Name: "throughput"}, {Name: "durable"}}},
		}},
		Configurations: []record.Configuration{
			{ID: "baseline", Baseline: true, Levels: map[string]string{"workers": "16", "durability": "durable"}},
			{ID: "workers=32", Factor: "workers", Levels: map[string]string{"workers": "32", "durability": "durable"}},
			{ID: "workers=8", Factor: "workers", Levels: map[string]string{"workers": "8", "durability": "durable"}},
			{ID: "durability=throughput", Factor: "durability", Exploratory: true, Levels: map[string]string{"workers": "16", "durability": "throughput"}},
		},
		Procedures: []record.ProcedureResult{{Name: "threads", Path: "load.workers", Rule: "the fewest workers that reach 95 % of the best", Reason: "32 gain 1.2 %",
			Chosen: 16, Settled: true, Points: []record.ProcedurePoint{{Value: 8, N: 3, Throughput: 8100, Low: num(8000),
				High: num(8200), P99: num(2e6)},
				{Value: 16, N: 3, Throughput: 12000, P99: num(3e6), Note: "knee"}}}},
		Capacity: &record.CapacityResult{Objectives: []string{"p99<20ms"}, Rate: 9000, Confirmed: true, Low: num(8950), Reason: "three fresh trials held",
			Steps: []record.CapacityStep{{Phase: "ramp", Offered: 9000, Achieved: 8999, P99: num(15e6), Holds: true},
				{Phase: "bisect", Offered: 12000, Achieved: 11000, P99: num(1.5e9), Errors: 0.01, Missed: "p99<20ms: 1.50 s"}}},
		Canary: &record.CanaryResult{Metric: "throughput", N: 8, Drift: -0.042, P: num(0.0123), Spread: 0.061},
		Objectives: []record.ConfigurationObjective{{Configuration: "baseline", Objective: "p99<20ms", Met: 6, N: 6, Holds: true},
			{Configuration: "workers=32", Objective: "p99<20ms", Met: 4, N: 6}, {Configuration: "durability=throughput", Objective: "p99<20ms", Exploratory: true}},
	}
	for i, c := range s.Configurations {
		began := start.Add(time.Duration(i) * time.Minute)
		s.Trials = append(s.Trials, record.Trial{Number: i + 1, Attempt: 1, Block: 1, Configuration: c.ID,
			Kind: record.TrialCompared, Status: record.TrialDone,
			Started: &began, Seconds: 61.5, Record: fmt.Sprintf("trials/%04d", i+1),
			Values: map[string]float64{"throughput": 12000 + float64(i), "read.mean": 1.3e6, "read.p99": 3e6, "errors": 0}})
	}
	s.Trials[1].Validity = []measure.Finding{{ID: "client-cpu", Severity: measure.Invalid}}
	s.Trials[2].Status, s.Trials[2].Problem, s.Trials[2].Values = record.TrialTimeout, "ended by its deadline of 3m0s", nil
	again := s.Trials[2]
	began := start.Add(10 * time.Minute)
	again.Attempt, again.Started, again.Status, again.Problem, again.Values = 2, &began, record.TrialDone, "",
		map[string]float64{"throughput": 8100, "errors": 0.001}
	s.Trials = append(s.Trials, again, record.Trial{Number: 5, Attempt: 1, Block: 2, Configuration: "workers=8",
		Kind: record.TrialCompared, Status: record.TrialPlanned},
		record.Trial{Number: 6, Attempt: 1, Configuration: "baseline", Kind: record.TrialCanary, Status: record.TrialFailed,
			Problem: "the target went away", Started: &began})
	sampleComparisons(s)
	return s
}

// sampleComparisons adds a comparison of each kind.
func sampleComparisons(s *record.Study) {
	base := record.Comparison{Baseline: "baseline", Margin: 0.03, N: 6, NBase: 6}
	add := func(id, metric, unit string, higher bool, change func(*record.Comparison)) {
		c := base
		c.Configuration, c.Metric, c.Unit, c.Higher = id, metric, unit, higher
		change(&c)
		s.Comparisons = append(s.Comparisons, c)
	}
	for _, id := range []string{"workers=32", "workers=8", "durability=throughput"} {
		add(id, "throughput", "1/s", true, func(c *record.Comparison) {
			c.Pairs, c.Base, c.Value, c.Ratio, c.Low, c.High = 6, num(12000), num(12150), num(1.0125), num(0.99), num(1.035)
			c.P, c.Adjusted, c.RankP, c.Verdict, c.Note = num(0.2), num(0.4), num(0.31), record.Inconclusive, "about 14 trials of each would find a change of 3.00 %"
			if id == "durability=throughput" {
				c.Value, c.Ratio, c.Low, c.High, c.P, c.Adjusted, c.RankP = num(300000), num(25), num(23), num(27), num(1e-9),
					num(3e-9), num(0.002)
				c.Verdict, c.Note = record.Better, ""
			}
		})
		add(id, "errors", "share", false, func(c *record.Comparison) {
			c.Base, c.Value, c.Difference, c.RankP, c.Adjusted, c.Verdict = num(0), num(0.0012), num(0.0012), num(0.002),
				num(0.006), record.Worse
		})
		add(id, "read.p99", "ns", false, func(c *record.Comparison) {
			c.N, c.Base, c.Verdict, c.Note = 0, num(3e6), record.Inconclusive, "the configuration does not have it"
		})
	}
}

func sampleComparison() *record.ComparisonReport {
	s := sampleStudy()
	r := &record.ComparisonReport{Head: record.Head{SchemaVersion: record.SchemaVersion, Kind: record.KindComparison,
		Validity: []measure.Finding{{ID: "not-comparable", Severity: measure.Invalid, Text: "the sides differ"}}},
		Sides: []record.ComparisonSide{
			{Name: "old", Records: []string{"old/1", "old/2", "old/3", "old/4"}, N: 4,
				Values: map[string][]float64{"throughput": {1000, 1010, 990, 1005}, "read.p99": {1e6, 2e6}}},
			{Name: "new", Records: []string{"new"}, N: 1, Values: map[string][]float64{"throughput": {2000}}}},
		Differences: []record.Difference{{What: "durability.name", Values: []string{"durable", "balanced"}, Severity: measure.Invalid, Why: "safer is slower"},
			{What: "load.workers", Values: []string{"8", "16"}, Severity: measure.Note}},
	}
	for _, c := range s.Comparisons[:3] {
		c.Configuration, c.Baseline = "new", "old"
		r.Comparisons = append(r.Comparisons, c)
	}
	return r
}

// outputs are all that is written about studies, comparisons, histories and single runs.
func outputs() map[string]func(io.Writer) error {
	return map[string]func(io.Writer) error{
		"study.md":        func(w io.Writer) error { return Write(w, sampleStudy(), "md") },
		"study.csv":       func(w io.Writer) error { return studyCSV(w, sampleStudy()) },
		"study.gobench":   func(w io.Writer) error { return studyBench(w, sampleStudy()) },
		"compare.md":      func(w io.Writer) error { return Write(w, sampleComparison(), "md") },
		"compare.csv":     func(w io.Writer) error { return compareCSV(w, sampleComparison()) },
		"compare.gobench": func(w io.Writer) error { return compareBench(w, sampleComparison()) },
		"study-plan.md":   func(w io.Writer) error { return Write(w, samplePlan(), "md") },
		"suite-plan.md":   func(w io.Writer) error { return Write(w, sampleSuitePlan(), "md") },
		"study-status.md": func(w io.Writer) error { return Write(w, &Progress{Record: sampleStudy(), Dir: "a b"}, "md") },
		"history.md":      func(w io.Writer) error { return Write(w, recordtest.History(), "md") },
		"history.csv":     func(w io.Writer) error { return historyCSV(w, recordtest.History()) },
		"sample.md":       func(w io.Writer) error { return Write(w, sample(), "md") },
		"sample-nothing.md": func(w io.Writer) error {
			return Write(w, &record.Run{Head: record.Head{Status: record.Failed, Problem: "the disk is full"}}, "md")
		},
	}
}

func TestGoldenOutputs(t *testing.T) {
	for name, write := range outputs() {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			sameAsGolden(t, name, b.Bytes())
			if err := write(&failing{room: 5}); err == nil {
				t.Error("no error although nothing could be written")
			}
		})
	}
}

// Every line of a table has as many cells, and each trial and comparison has its line.
func TestStudyCSV(t *testing.T) {
	var b bytes.Buffer
	if err := studyCSV(&b, sampleStudy()); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := func(row []string, name string) string { return row[slices.Index(rows[0], name)] }
	if len(rows) != 1+7+9 || at(rows[1], "row") != "trial" || at(rows[1], "read.p99_us") != "3000" || at(rows[1], "level:workers") != "16" {
		t.Errorf("%d rows, the first of them %q", len(rows), rows[1])
	}
	if last := rows[8]; at(last, "row") != "comparison" || at(last, "ratio") != "1.0125" || at(last, "verdict") != "inconclusive" {
		t.Errorf("%q", last)
	}
}

func TestStudyGoBench(t *testing.T) {
	var b bytes.Buffer
	if err := studyBench(&b, sampleStudy()); err != nil {
		t.Fatal(err)
	}
	results := 0
	for line := range strings.Lines(b.String()) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "Unit ") || configuration.MatchString(line):
		case result.MatchString(line):
			results++
		default:
			t.Errorf("%q is no line of benchmark results", line)
		}
	}
	if results != 5 { // three trials count, of which one has no reads
		t.Errorf("%d results:\n%s", results, b.String())
	}
}

// hostile is what names could be made of to spoil what they are printed into.
const hostile = "a|b\n# head\r<img src=x onerror=alert(1)>\x1b[31mred\x07 `code` @someone [x](http://evil/) =1+1 \u202egnp.exe \xff\t&amp; **b**"

func hostileStudy() *record.Study {
	s := sampleStudy()
	s.Specification.Name, s.Problem = hostile, hostile
	s.Specification.Factors[0].Name = hostile
	for i := range s.Configurations {
		c := &s.Configurations[i]
		c.ID, c.Levels = hostile+fmt.Sprint(i), map[string]string{hostile: hostile}
		c.Factor = hostile
	}
	for i := range s.Trials {
		t := &s.Trials[i]
		t.Configuration, t.Problem, t.Record = "="+hostile, "+"+hostile, "@"+hostile
		t.Kind, t.Status = hostile, record.TrialStatus(hostile)
		if t.Values != nil {
			t.Values[hostile+".p99"] = 1e6
		}
	}
	for i := range s.Comparisons {
		c := &s.Comparisons[i]
		c.Configuration, c.Baseline, c.Metric, c.Note, c.Verdict = hostile, hostile, hostile+".mean", hostile,
			record.Verdict(hostile)
	}
	s.Validity = append(s.Validity, measure.Finding{ID: hostile, Text: hostile, Severity: measure.Severity(hostile)})
	s.Trials[0].Validity = s.Validity
	s.Procedures[0].Name, s.Procedures[0].Reason, s.Procedures[0].Path = hostile, hostile, hostile
	s.Environment.CPU = hostile
	return s
}

func TestHostileNamesSpoilNothing(t *testing.T) {
	var md, table, bench bytes.Buffer
	s := hostileStudy()
	for b, err := range map[*bytes.Buffer]error{&md: Write(&md, s, "md"), &table: studyCSV(&table, s),
		&bench: studyBench(&bench, s)} {
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			line = strings.TrimSuffix(line, "\n")
			if i := strings.IndexFunc(line, func(r rune) bool {
				return unicode.IsControl(r) && r != '\t' || r == '\u202e'
			}); i >= 0 {
				t.Fatalf("a control character got through: %q", line)
			}
		}
	}
	checkMarkdown(t, md.String())
	rows, err := csv.NewReader(&table).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		for _, c := range row {
			if c != "" && strings.ContainsRune("=+@", rune(c[0])) {
				t.Errorf("a spreadsheet takes %q for a formula", c)
			}
		}
	}
	for line := range strings.Lines(bench.String()) {
		if strings.HasPrefix(line, "Benchmark") && !result.MatchString(strings.TrimSuffix(line, "\n")) {
			t.Errorf("%q is no line of benchmark results", line)
		}
	}
}

func TestHostileComparisonsAndRunsSpoilNothing(t *testing.T) {
	c, h, r := sampleComparison(), recordtest.History(), sample()
	for i := range c.Sides {
		c.Sides[i].Name, c.Sides[i].Records = hostile, []string{hostile, hostile}
	}
	for i := range c.Comparisons {
		c.Comparisons[i].Baseline, c.Comparisons[i].Configuration, c.Comparisons[i].Note = hostile, hostile, hostile
	}
	c.Differences = append(c.Differences, record.Difference{What: hostile, Values: []string{hostile, hostile, hostile},
		Why: hostile})
	h.Directory, h.Groups[0].Name, h.Skipped[0].Problem, h.Groups[0].Points[3].Why = hostile, hostile, hostile, hostile
	h.Groups[0].Series[0].Changes[0].Differences[0].Values = []string{hostile}
	r.Target.Address, r.Problem, r.Command = hostile, hostile, []string{hostile}
	r.Target.Settings = map[string]string{hostile: hostile}
	r.Phases[1].Failures = []measure.FailureCount{{Failure: measure.Failure{Class: hostile, Reason: hostile},
		Example: hostile}}
	r.Phases[1].Classes[0].Name = hostile
	r.Validity[0].Text = hostile
	for name, write := range map[string]func(io.Writer) error{
		"comparison": func(w io.Writer) error { return Write(w, c, "md") },
		"history":    func(w io.Writer) error { return Write(w, h, "md") },
		"run":        func(w io.Writer) error { return Write(w, r, "md") },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		if i := strings.IndexFunc(b.String(), func(r rune) bool {
			return unicode.IsControl(r) && r != '\n' || r == '\u202e'
		}); i >= 0 {
			t.Errorf("%s: a control character got through at %d", name, i)
		}
		checkMarkdown(t, b.String())
	}
	for name, write := range map[string]func(io.Writer) error{
		"comparison": func(w io.Writer) error { return compareCSV(w, c) },
		"history":    func(w io.Writer) error { return historyCSV(w, h) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		if _, err := csv.NewReader(&b).ReadAll(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// checkMarkdown makes sure that no text opened markup of its own, and that all lines of a table have as many cells.
func checkMarkdown(t *testing.T, text string) {
	t.Helper()
	cells := 0
	for line := range strings.Lines(text) {
		if strings.Contains(line, "<img") || strings.Contains(line, " @some") || strings.Contains(line, " [x](") ||
			strings.Contains(line, " `code") {
			t.Errorf("markup got through: %q", line)
		}
		if strings.HasPrefix(line, "# ") {
			t.Errorf("a heading got through: %q", line)
		}
		if !strings.HasPrefix(line, "|") {
			cells = 0
			continue
		}
		n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
		if cells != 0 && n != cells {
			t.Errorf("%d cells, but the table has %d columns: %q", n, cells, line)
		}
		cells = n
	}
}

func TestCleanKeepsWhatIsHarmless(t *testing.T) {
	for text, want := range map[string]string{"Größe 3 µs – ✓": "Größe 3 µs – ✓", "a\nb": "a b", "\x1b[2J": "\uFFFD[2J", "\xff": "\uFFFD", "": ""} {
		if got := Clean(text); got != want {
			t.Errorf("Clean(%q) = %q, want %q", text, got, want)
		}
	}
}

func FuzzEscape(f *testing.F) {
	f.Add(hostile)
	f.Add("1. list")
	f.Fuzz(func(t *testing.T, text string) {
		var b bytes.Buffer
		s := sampleStudy()
		s.Configurations[1].Levels["workers"], s.Trials[1].Problem, s.Specification.Name = text, text, text
		if err := Write(&b, s, "md"); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if strings.HasPrefix(line, "|") && !strings.HasSuffix(line, "|\n") {
				t.Errorf("%q breaks a table: %q", text, line)
			}
		}
		b.Reset()
		if err := studyCSV(&b, s); err != nil {
			t.Fatal(err)
		}
		if _, err := csv.NewReader(&b).ReadAll(); err != nil {
			t.Errorf("%q breaks the table: %v", text, err)
		}
	})
}

// A study of ten thousand trials is written without listing each in text for people.
func TestLargeStudy(t *testing.T) {
	s := sampleStudy()
	for i := range 10_000 {
		c := s.Trials[0]
		c.Number = 100 + i
		s.Trials = append(s.Trials, c)
	}
	var b bytes.Buffer
	if err := Write(&b, s, "md"); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "\n"); n > 200 || !strings.Contains(b.String(), "--format csv") {
		t.Errorf("%d lines of Markdown", n)
	}
}
