package report

import (
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

func numeral(x float64) *float64 { return &x }

// change is a comparison of B with A.
func change(metric string, verdict record.Verdict, ratio, low, high float64) record.Comparison {
	c := record.Comparison{Configuration: "runs/B", Baseline: "runs/A", Metric: metric, Unit: measure.UnitTime, N: 14, NBase: 14,
		Pairs: 14, Verdict: verdict, Ratio: numeral(ratio), Low: numeral(low), High: numeral(high), Margin: 0.03}
	if metric == "throughput" || metric == "journal" || metric == "random-reads" {
		c.Unit, c.Higher = measure.UnitRate, true
	}
	if low == 0 {
		c.Low, c.High = nil, nil
	}
	return c
}

func sidesOf(n int, list ...record.Comparison) *record.ComparisonReport {
	return &record.ComparisonReport{Sides: []record.ComparisonSide{{Name: "runs/A", N: n}, {Name: "runs/B", N: n}},
		Comparisons: list, Confidence: 0.95}
}

// The first line of a comparison answers which side is faster, or says why it cannot.
func TestComparedAnswer(t *testing.T) {
	apart := sidesOf(1, change("throughput", record.Inconclusive, 0.8, 0, 0))
	apart.WouldTell = "plimsoll ab runs/A runs/B"
	many := sidesOf(6, change("throughput", record.Inconclusive, 0.8, 0, 0))
	many.WouldTell = "plimsoll run -f runs/B --repeat 5"
	refused := sidesOf(6, change("throughput", record.Inconclusive, 0.8, 0, 0))
	refused.Validity = []measure.Finding{{ID: "not-comparable", Severity: measure.Invalid}}
	refused.Differences = []record.Difference{{What: "durability.name", Severity: measure.Invalid}, {What: "target.version",
		Severity: measure.Warning}, {What: "target.address", Severity: measure.Note}}
	errors := change("errors", record.Worse, 0, 0, 0)
	errors.Ratio, errors.Unit, errors.Difference = nil, measure.UnitShare, numeral(0.02)
	line := func(metric string, p float64, note string) record.Comparison {
		c := change(metric, record.Inconclusive, 0.92, 0, 0)
		c.Note, c.Adjusted = note, &p
		return c
	}
	for want, r := range map[string]*record.ComparisonReport{
		"cannot tell from one search each: the load line fell by 8 %; the line while kill:secondary rose by 9 % from A to B": sidesOf(1,
			line("line", 0.01, "the load line fell by 8 %"), line("kill:secondary.line", 0.01, "the line while kill:secondary rose by 9 %"),
			line("index-build.line", 0.4, "the change is within the intervals")),
		"cannot tell from one search each: the load line is only known to be at least 200 in A": sidesOf(1,
			line("line", 0.4, "the load line is only known to be at least 200 in A")),
		"cannot tell from one search each: the line while kill:secondary is not known": sidesOf(1, line("kill:secondary.line", 0.4, "")),
		"B is 12 % slower than A (p99 of reads; 95 % interval 8 to 16 %), 14 runs each": sidesOf(14,
			change("throughput", record.Equivalent, 1, 0.99, 1.01), change("read.p99", record.Worse, 1.12, 1.08, 1.16)),
		"B is 12 % slower than A (throughput; 95 % interval 8 to 16 %), 14 runs each": sidesOf(14,
			change("throughput", record.Worse, 0.88, 0.84, 0.92), change("read.p99", record.Inconclusive, 1.12, 0.8, 1.6)),
		"B is 4.5 % faster than A (mean of queries; 95 % interval 3 to 6 %), 14 runs each": sidesOf(14,
			change("query.mean", record.Better, 0.955, 0.94, 0.97)),
		"B is 20 % slower than A (throughput; 95 % interval 19.7 to 20.3 %), 14 runs each": sidesOf(14,
			change("throughput", record.Worse, 0.8, 0.797, 0.803)),
		"B is 3.10 times as slow as A (service p99; 95 % interval 2.80 to 3.40 times), 14 runs each": sidesOf(14,
			change("service.p99", record.Worse, 3.1, 2.8, 3.4)),
		"B is 2.50 times as fast as A (p99; 95 % interval 2.00 to 4.00 times), 14 runs each": sidesOf(14,
			change("p99", record.Better, 0.4, 0.25, 0.5)),
		"B is 20 % slower (p99; 95 % interval 10 to 30 %) but 10 % faster (throughput; 95 % interval 5 to 15 %) than A, 14 runs each": sidesOf(14,
			change("throughput", record.Better, 1.1, 1.05, 1.15), change("p99", record.Worse, 1.2, 1.1, 1.3)),
		"B is worse by 2.00 pp than A (errors), 14 runs each": sidesOf(14, errors),
		"no difference: B is within 3 % of A (throughput, p99), 14 runs each": sidesOf(14,
			change("throughput", record.Equivalent, 1, 0.99, 1.01), change("p99", record.Equivalent, 1, 0.98, 1.02)),
		"cannot tell: B is between 2 % slower and 5 % faster (throughput), 14 runs each": sidesOf(14,
			change("throughput", record.Inconclusive, 1.01, 0.98, 1.05)),
		"cannot tell: one run on a side; B was 20 % slower (throughput), 1 run each":                           apart,
		"cannot tell: the sides did not run in turn often enough; B was 20 % slower (throughput), 6 runs each": many,
		"A and B cannot be compared: they differ in durability.name, target.version":                           refused,
		"B is better for the journal (2.50 times as fast; 95 % interval 2.00 to 3.00 times), worse for checkpoints (20 % slower; 95 % interval 10 to 30 %), no difference for random reads, 14 probes each": sidesOf(14,
			change("journal", record.Better, 2.5, 2, 3), change("checkpoint", record.Worse, 1.2, 1.1, 1.3),
			change("random-reads", record.Equivalent, 1, 0.99, 1.01)),
		"B is worse for the journal (2.00 times as slow; 95 % interval 1.67 to 2.50 times), cannot tell for random reads, checkpoints not measured, 14 probes each": sidesOf(14,
			change("journal", record.Worse, 0.4999, 0.4, 0.6), change("random-reads", record.Inconclusive, 1.1, 0.9, 1.3)),
	} {
		if got := strings.ReplaceAll(comparedAnswer(r), "; no difference", ", no difference"); normal(got) != normal(want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
	if next := comparedNext(apart); next.Command != "plimsoll ab runs/A runs/B" || next.Why == "" {
		t.Errorf("next is %+v", next)
	}
	apart.Sides = append(apart.Sides, apart.Sides[0])
	if got := comparedAnswer(apart); got != "" {
		t.Errorf("three sides: %q", got)
	}
}

func normal(s string) string { return strings.ReplaceAll(s, ";", ",") }

// A study that ran until it could tell answers with the names of its sides, or says how long it tried.
func TestDecidedAnswer(t *testing.T) {
	ended := time.Date(2026, 1, 1, 0, 15, 4, 0, time.UTC)
	s := &record.Study{Head: record.Head{Status: record.Complete, Started: ended.Add(-15 * time.Minute), Ended: &ended},
		Specification: spec.Study{UntilDecided: true, Confidence: 0.95},
		Configurations: []record.Configuration{{ID: "baseline", Baseline: true, Levels: map[string]string{"side": "A"}},
			{ID: "side=B", Levels: map[string]string{"side": "B"}}},
		Comparisons: []record.Comparison{change("read.p99", record.Worse, 1.12, 1.08, 1.16)}}
	if got := decidedAnswer(s); got != "B is 12 % slower than A (p99 of reads; 95 % interval 8 to 16 %), 14 trials each" {
		t.Error(got)
	}
	s.Comparisons[0] = change("p99", record.Inconclusive, 1.02, 0.99, 1.05)
	if got := decidedAnswer(s); got != "cannot tell after 15 minutes: B is between 1 % faster and 5 % slower (p99), 14 trials each" {
		t.Error(got)
	}
	s.Status = record.Interrupted
	if got := decidedAnswer(s); !strings.HasPrefix(got, "cannot tell: it is not complete") {
		t.Error(got)
	}
	s.Specification.UntilDecided = false
	if got := decidedAnswer(s); got != "" {
		t.Error(got)
	}
	s.Configurations = s.Configurations[:1]
	for i, x := range []float64{1000, 1200, 900} {
		s.Trials = append(s.Trials, record.Trial{Number: i + 1, Kind: record.TrialCompared, Status: record.TrialDone,
			Values: map[string]float64{"throughput": x}})
	}
	if got := decidedAnswer(s); got != "1,000 ok/s, from 900 to 1,200 in 3 runs" {
		t.Error(got)
	}
}
