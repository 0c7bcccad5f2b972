package report_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/suite/judge"
)

// Why statements were not measured is told in a few words, since the reasons stand far below.
func TestWhyNotMeasured(t *testing.T) {
	s := policySuite(t)
	want := "4 need what is not here, 3 for other reasons, 2 of levels left out"
	if facts := report.Of(s).Facts; !slices.Contains(facts, report.Fact{Name: "not measured", Value: want}) {
		t.Errorf("%q, want %q", facts, want)
	}
	sum, counts := 0, s.Record.Counts
	for _, word := range strings.Split(want, ", ") {
		n, err := strconv.Atoi(word[:1])
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	if counts[record.NotMeasured] != sum {
		t.Errorf("%d are not measured, and %d have a reason", counts[record.NotMeasured], sum)
	}
}

// The chance of a loss that a document asserts is held against rounds: two of them tell that something is lost, and
// not how often.
func TestChanceOfLoss(t *testing.T) {
	drill := func(name, level string, losses *record.Spread, ledger record.LedgerResult) judge.Part {
		d := &record.Drill{Head: record.Head{Kind: record.KindDrill, Status: record.Complete}, Verdict: record.Holds,
			Losses: losses, Outages: &record.Spread{Values: []float64{4e9}},
			Rounds: []record.DrillRound{{Number: 1, Ledger: &ledger}}}
		return judge.Part{Part: &record.Part{Name: name, Kind: record.KindDrill, Status: record.PartDone,
			Shows: []string{"loss"}, Level: level}, Drill: d}
	}
	none := slices.Repeat([]float64{0}, 17)
	s := suiteOf("write-concern", drill("w0", "w=0", nil, record.LedgerResult{Indeterminate: 1000, LossWindow: -1,
		Inserts: map[string]int64{record.WriteDropped: 150}}),
		drill("w1", "w=1", &record.Spread{Values: []float64{103, 117}, Max: 117}, record.LedgerResult{LossWindow: 195e6}),
		drill("j", "journal", &record.Spread{Values: none}, record.LedgerResult{LossWindow: -1}))
	for level, want := range map[string]struct {
		agreement record.Agreement
		found     string
	}{
		"w=0": {record.NotStated, "150 of 1,000 gone"}, "w=1": {record.Compatible, "2 of 2 rounds lost acknowledged writes: a probability of 16 % to 100 %"},
		"journal": {record.Agrees, "0 of 17 rounds lost acknowledged writes: a probability of 0 % to 20 %"},
	} {
		if got := statement(t, s, "loss", level, "loss"); got.Agreement != want.agreement || got.Found != want.found {
			t.Errorf("%s: %s, %q, want %s, %q", level, got.Agreement, got.Found, want.agreement, want.found)
		}
	}
	text := sectionText(t, s, "probability that a failure loses acknowledged writes")
	for _, want := range []string{"w1 | 2 | 2 | 16 % to 100 % | 117 | up to 195 ms before the fault took effect | none", "w0 | - | - | - | - | - | 150 of 1,000 gone"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if advice := sectionText(t, s, "best practices from what was measured here"); !strings.Contains(advice, "w1 | w=1 | do not rely on it if this failure can happen") {
		t.Errorf("the advice is\n%s", advice)
	}
}

// sectionText is the table of a section, a line for each row.
func sectionText(t *testing.T, s *report.Suite, title string) string {
	t.Helper()
	for _, x := range report.Of(s).Sections {
		if x.Title != title {
			continue
		}
		text := strings.Join(x.Lines, "\n") + "\n"
		for _, row := range x.Table.Rows {
			text += strings.Join(row, " | ") + "\n"
		}
		return text
	}
	t.Fatalf("no section %q", title)
	return ""
}

// What a suite advises follows from its own measurements: only from what is certain, with what else changes, and not
// to give up what protects.
func TestPracticesFromMeasurements(t *testing.T) {
	of := func(name, path string, levels ...recordtest.Level) judge.Part {
		study := recordtest.Sweeps("s", "a", recordtest.Factor{Name: name, Levels: levels})
		study.Specification.Factors[0].Path = path
		return judge.Part{Part: &record.Part{Name: "s", Kind: record.KindStudy, Status: record.PartDone}, Study: study}
	}
	level := func(name string, ops, update float64) recordtest.Level {
		return recordtest.Level{Name: name, Ratios: map[string]float64{"throughput": ops, "update.mean": update}}
	}
	base := level("base", 1, 1)
	unsure := recordtest.Level{Name: "unsure", Wide: 2, Ratios: map[string]float64{"throughput": 1.2}}
	for _, c := range []struct {
		part         judge.Part
		advice, rest string
	}{
		{of("stripe width", "lab.storage.stripe", base, level("2", 1.2, 0.8), level("4", 1.5, 0.7)), "prefer 4 to base (not compared with 2)", "4: ops/s +50.0 % [+45.6 %, +54.5 %]"},
		{of("client threads", "load.workers", base, level("256", 1.3, 2)), "256 has a higher throughput but longer times than base: choose which matters more", "update mean"},
		{of("device", "lab.storage.device", base, level("HDD", 0.5, 2), unsure), "keep base rather than HDD", "inconclusive: unsure"},
		{of("durability", "durability.name", base, level("w0", 3, 0.1)), "choose by what may be lost; the price is measured", "w0: ops/s"},
		{of("records", "workload.records", base, level("500M", 0.5, 2)), "plan for it: it changes the capacity", "500M: ops/s"},
		{of("device", "lab.storage.device", base, unsure), "none: the levels cannot be distinguished", "unsure: n = 6. Run more trials"},
		{of("length", "load.duration", base, level("long", 1.002, 1)), "runs may be this short", "long within a margin of 3"},
	} {
		text := sectionText(t, suiteOf("policy-storage", c.part), "best practices from what was measured here")
		if !strings.Contains(text, " | "+c.advice+" | ") || !strings.Contains(text, c.rest) {
			t.Errorf("want %q and %q in\n%s", c.advice, c.rest, text)
		}
	}
}

// A table of settings has what the document set, and what was set here.
func TestSettingsOfADocument(t *testing.T) {
	text := sectionText(t, policySuite(t), "table 5: Parameter Settings in the Baseline Testing")
	for _, want := range []string{"client threads | 128 | ", "durability | w 1, j 1 | durable", "here: as part client-b has it"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// The shortest and the longest of a few calls stand beside the median and the 90th percentile of many.
func TestShortestAndLongestCalls(t *testing.T) {
	study := recordtest.Sweeps("latency", "location", recordtest.Factor{Name: "write concern", Levels: []recordtest.Level{{Name: "w1"},
		{Name: "w0", Ratios: map[string]float64{"insert.mean": 0.97, "insert.p50": 0.5, "insert.p90": 5}}}})
	s := suiteOf("write-concern", judge.Part{Part: &record.Part{Name: "latency", Kind: record.KindStudy,
		Status: record.PartDone, Shows: []string{"write-concern"}}, Study: study})
	for metric, want := range map[string][2]string{"insert.min": {"insert.p50", string(record.Agrees)}, "insert.max": {"insert.p90", string(record.Disagrees)}} {
		if got := statement(t, s, "write-concern", "w=0", metric); got.Measure != want[0] || string(got.Agreement) != want[1] {
			t.Errorf("%s: %s in %s (%s), want %v", metric, got.Agreement, got.Measure, got.Why, want)
		}
	}
}

// Words about a range of numbers are held against what was measured of the range, and it says of which part; what a
// comparison has to be doubted for is said beside it also where it is certain.
func TestPartOfARange(t *testing.T) {
	both := map[string]float64{"throughput": 1.3, "read.mean": 1.2, "update.mean": 1.4}
	study := recordtest.Sweeps("s", "b", recordtest.Factor{Name: "client threads",
		Levels: []recordtest.Level{{Name: "128"}, {Name: "256", Ratios: both}}},
		recordtest.Factor{Name: "replica set and w", Levels: []recordtest.Level{{Name: "rs1"}, {Name: "rs3 w majority", Ratios: both}}})
	for i := range study.Comparisons {
		study.Comparisons[i].Note = "it ran in another batch"
	}
	s := suiteOf("policy-storage", judge.Part{Part: &record.Part{Name: "s", Kind: record.KindStudy,
		Status: record.PartDone, Shows: []string{"figure-3", "figure-13"}}, Study: study})
	got := statement(t, s, "figure-3", "32 → 256", "throughput")
	if got.Agreement != record.Agrees || !slices.Contains(got.Doubts, "measured here: 128 → 256") || !slices.Contains(got.Doubts, "it ran in another batch") {
		t.Errorf("%+v", got)
	}
	if got := statement(t, s, "figure-13", "rs=3, w=1 → rs=3, w=majority", "update.mean"); got.Agreement != record.NotMeasured {
		t.Errorf("levels that are no numbers have no part of a range: %+v", got)
	}
}

// A procedure that found no answer gives no advice.
func TestProceduresThatFoundNothing(t *testing.T) {
	study := recordtest.Sweeps("s", "a", recordtest.Factor{Name: "workload", Levels: []recordtest.Level{{Name: "a"}, {Name: "b"}}})
	study.Procedures = []record.ProcedureResult{{Name: "threads", Path: "load.workers", Chosen: 32,
		Reason: "still rising"}, {Name: "steady", Path: "load.duration", Chosen: 90, Settled: true, Reason: "flat"}}
	s := suiteOf("policy-storage", judge.Part{Part: &record.Part{Name: "s", Kind: record.KindStudy,
		Status: record.PartDone}, Study: study})
	text := sectionText(t, s, "best practices from what was measured here")
	for _, want := range []string{"load.workers | none: 32 is the best value that was tried, but the search found no answer | still rising", "load.duration | use 90.0 s | flat"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// Whether users noticed a failure stands beside what the document says, and without its length: that would be read as
// the document's equal. Nothing is said of a failure that did not come about.
func TestOutageBeside(t *testing.T) {
	drill := func(hit bool, outages ...float64) *record.Drill {
		return &record.Drill{Head: record.Head{Kind: record.KindDrill, Status: record.Complete}, Verdict: record.Holds,
			Outages: record.SpreadOf("ns", outages),
			Rounds: []record.DrillRound{{Number: 1, Faults: []record.DrillFault{{Fault: spec.ParseAction("power-off:host1"),
				Hit: hit}}, Ledger: &record.LedgerResult{LossWindow: -1}}}}
	}
	const notStruck = "the fault was not effective in every round"
	for _, x := range []struct {
		drill       *record.Drill
		agreement   record.Agreement
		found       string
		why, advice string // parts of them
	}{
		{drill(true, 6.3e9), record.Agrees, "noticed in 1 round; ", "", "expect an interruption"},
		{drill(true, 6e9, 7e9, 9e9), record.Agrees, "noticed in 3 rounds; ", "", "expect an interruption"},
		{drill(true, 2e6), record.Disagrees, "not noticed in 1 round; ", "", "users notice nothing"},
		{drill(false, 2e6), record.Undecided, "", notStruck, notStruck},
		{drill(true), record.Undecided, "", "no round has a measured outage", "no round has a measured outage"},
	} {
		part := judge.Part{Part: &record.Part{Name: "rs1-host", Kind: record.KindDrill, Status: record.PartDone,
			Shows: []string{"table-7"}, Level: "rs=1, host"}, Drill: x.drill}
		suite := suiteOf("policy-storage", part)
		got := statement(t, suite, "table-7", "rs=1, host", "outage")
		if got.Agreement != x.agreement || !strings.HasPrefix(got.Found, x.found) || x.found == "" && got.Found != "" ||
			!strings.Contains(got.Why, x.why) {
			t.Errorf("%s, %q, %q, want %s, %q, %q", got.Agreement, got.Found, got.Why, x.agreement, x.found, x.why)
		}
		if finding := report.Of(suite).Parts[0].Finding; strings.Contains(finding, "failure was ") != (x.found != "") ||
			strings.Contains(finding, " s ") {
			t.Errorf("found %q", finding)
		}
		if page := sectionText(t, suite, "best practices from what was measured here"); !strings.Contains(page, x.advice) {
			t.Errorf("no advice %q in\n%s", x.advice, page)
		}
	}
}
