package judge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

var begin = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

// made is a study whose trials are made up: the throughput of trial i of a block is 1000 times a factor and noise.
func made(seed uint64, blocks int, noise float64, factors ...float64) *record.Study {
	rng := rand.New(rand.NewPCG(seed, 7))
	s := &record.Study{Head: record.Head{Status: record.Complete},
		Specification: spec.Study{Margin: 0.03, Confidence: 0.95}}
	for i := range factors {
		c := record.Configuration{ID: fmt.Sprintf("level=%d", i), Levels: map[string]string{"level": fmt.Sprint(i)}, Factor: "level"}
		if i == 0 {
			c = record.Configuration{ID: "baseline", Baseline: true, Levels: map[string]string{"level": "0"}}
		}
		s.Configurations = append(s.Configurations, c)
	}
	for b := 1; b <= blocks; b++ {
		for i, f := range factors {
			n := len(s.Trials) + 1
			started := begin.Add(time.Duration(n) * time.Minute)
			x := 1000 * f * math.Exp(noise*rng.NormFloat64())
			s.Trials = append(s.Trials, record.Trial{Number: n, Attempt: 1, Block: b, Configuration: s.Configurations[i].ID,
				Kind:   record.TrialCompared,
				Status: record.TrialDone, Started: &started, Record: fmt.Sprintf("trials/%04d", n), Seconds: 60,
				Values: map[string]float64{"throughput": x, "errors": 0, "read.mean": 16e9 / x, "read.p99": 80e9 / x}})
		}
	}
	return s
}

func verdict(s *record.Study, configuration, metric string) *record.Comparison {
	for i := range s.Comparisons {
		if c := &s.Comparisons[i]; c.Configuration == configuration && c.Metric == metric {
			return c
		}
	}
	return nil
}

func TestVerdicts(t *testing.T) {
	s := made(1, 10, 0.01, 1, 1.10, 0.90, 1.001, 1.02)
	Study(s)
	for _, c := range []struct {
		configuration, metric string
		want                  record.Verdict
	}{
		{"level=1", "throughput", record.Better}, {"level=1", "read.p99", record.Better},
		{"level=2", "throughput", record.Worse}, {"level=2", "read.mean", record.Worse},
		{"level=3", "throughput", record.Equivalent}, {"level=1", "errors", record.Equivalent},
	} {
		got := verdict(s, c.configuration, c.metric)
		if got == nil || got.Verdict != c.want {
			t.Errorf("%s %s: %+v, want %s", c.configuration, c.metric, got, c.want)
			continue
		}
		if got.N != 10 || got.NBase != 10 || got.Margin != 0.03 {
			t.Errorf("%+v has other numbers than the study", got)
		}
	}
	c := verdict(s, "level=1", "throughput")
	if c.Pairs != 10 || c.P == nil || c.Adjusted == nil || *c.Adjusted < *c.P || c.RankP == nil || *c.Low <= 1 ||
		*c.High < *c.Low || c.ValueLow == nil {
		t.Errorf("figures are missing: %+v", c)
	}
}

// A change that is certain but smaller than the margin is equivalent, and says so.
func TestCertainButSmall(t *testing.T) {
	s := made(3, 20, 0.001, 1, 1.01)
	Study(s)
	c := verdict(s, "level=1", "throughput")
	if c.Verdict != record.Equivalent || !strings.Contains(c.Note, "smaller than the margin") {
		t.Errorf("%+v", c)
	}
}

func TestInconclusiveSaysHowManyTrials(t *testing.T) {
	s := made(4, 4, 0.08, 1, 1.02)
	Study(s)
	c := verdict(s, "level=1", "throughput")
	if c.Verdict != record.Inconclusive || !strings.Contains(c.Note, "trials of each would find") {
		t.Errorf("%+v", c)
	}
}

func TestOneTrialTellsNothing(t *testing.T) {
	s := made(5, 1, 0.01, 1, 2)
	Study(s)
	c := verdict(s, "level=1", "throughput")
	if c.Verdict != record.Inconclusive || c.Ratio == nil || c.Low != nil || c.P != nil || !strings.Contains(c.Note, "one trial") {
		t.Errorf("%+v", c)
	}
	if !hasFinding(s.Validity, "few-trials", measure.Warning) {
		t.Errorf("%+v", s.Validity)
	}
}

func hasFinding(list []measure.Finding, id string, severity measure.Severity) bool {
	return slices.ContainsFunc(list, func(f measure.Finding) bool { return f.ID == id && f.Severity == severity })
}

func TestErrorsAppear(t *testing.T) {
	s := made(6, 8, 0.01, 1, 1)
	for i := range s.Trials {
		if s.Trials[i].Configuration != "baseline" {
			s.Trials[i].Values["errors"] = 0.01 + float64(i)/1e5
		}
	}
	Study(s)
	c := verdict(s, "level=1", "errors")
	if c.Verdict != record.Worse || c.Ratio != nil || c.Difference == nil || *c.Difference < 0.01 || c.Adjusted == nil {
		t.Errorf("%+v", c)
	}
}

// Failed and invalid trials count for nothing, and are named; a repetition stands for the trial that failed.
func TestTrialsThatDoNotCount(t *testing.T) {
	s := made(7, 6, 0.01, 1, 1.2)
	s.Trials[0].Status, s.Trials[0].Problem = record.TrialTimeout, "the deadline"
	s.Trials[3].Validity = []measure.Finding{{ID: "client-cpu", Severity: measure.Invalid}}
	s.Trials[5].Validity = []measure.Finding{{ID: "not-steady", Severity: measure.Warning}}
	again := s.Trials[6]
	s.Trials[6].Status = record.TrialFailed
	again.Attempt = 2
	s.Trials = append(s.Trials, again)
	Study(s)
	c := verdict(s, "level=1", "throughput")
	if c.N != 5 || c.NBase != 5 || c.Pairs != 4 {
		t.Errorf("n = %d, %d of the baseline, %d pairs; want 5, 5, 4", c.N, c.NBase, c.Pairs)
	}
	for id, severity := range map[string]measure.Severity{"failed-trials": measure.Warning, "invalid-trials": measure.Warning,
		"doubtful-trials": measure.Warning, "repeated-trials": measure.Note, "few-trials": measure.Note} {
		if !hasFinding(s.Validity, id, severity) {
			t.Errorf("no %s of %s in %+v", severity, id, s.Validity)
		}
	}
}

func TestNothingToCompareWith(t *testing.T) {
	s := made(8, 3, 0.01, 1, 1.2)
	for i := range s.Trials {
		if s.Trials[i].Configuration == "baseline" {
			s.Trials[i].Status = record.TrialFailed
		}
	}
	Study(s)
	c := verdict(s, "level=1", "throughput")
	if c == nil || c.Verdict != record.Inconclusive || !strings.Contains(c.Note, "no valid trial of the baseline") {
		t.Errorf("%+v", c)
	}
	if !hasFinding(s.Validity, "no-baseline", measure.Invalid) {
		t.Errorf("%+v", s.Validity)
	}
}

func TestObjectives(t *testing.T) {
	s := made(9, 6, 0.001, 1, 0.5)
	s.Specification.Objectives = []string{"read.p99<100ms", "rate>=900", "scan.p99<1s"}
	s.Trials[0].Status = record.TrialFailed
	Study(s)
	got := map[string]string{}
	for _, o := range s.Objectives {
		got[o.Configuration+" "+o.Objective] = fmt.Sprintf("%d/%d %v", o.Met, o.N, o.Holds)
	}
	want := map[string]string{
		"baseline read.p99<100ms": "5/6 false", "baseline rate>=900": "5/6 false", "baseline scan.p99<1s": "0/6 false",
		"level=1 read.p99<100ms": "0/6 false", "level=1 rate>=900": "0/6 false", "level=1 scan.p99<1s": "0/6 false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !hasFinding(s.Validity, "unknown-objective", measure.Warning) {
		t.Errorf("%+v", s.Validity)
	}
	s.Trials[0].Status = record.TrialDone
	Study(s)
	if o := s.Objectives[0]; !o.Holds || o.Met != 6 {
		t.Errorf("%+v should hold", o)
	}
}

func TestDrift(t *testing.T) {
	s := made(10, 12, 0.002, 1, 1.05)
	for i := range s.Trials {
		s.Trials[i].Values["throughput"] *= 1 - 0.06*float64(i)/float64(len(s.Trials))
	}
	Study(s)
	if s.Canary == nil || s.Canary.N != 12 || math.Abs(s.Canary.Drift+0.06) > 0.01 {
		t.Fatalf("%+v", s.Canary)
	}
	if !hasFinding(s.Validity, "drift", measure.Note) {
		t.Errorf("%+v", s.Validity)
	}
	if c := verdict(s, "level=1", "throughput"); c.Verdict != record.Better || math.Abs(*c.Ratio-1.05) > 0.01 {
		t.Errorf("the drift is not gone within blocks: %+v", c)
	}
	s.Specification.Order, s.Specification.Batch = "batched", []string{"level"}
	Study(s)
	if !hasFinding(s.Validity, "drift", measure.Invalid) || !hasFinding(s.Validity, "batched-order", measure.Warning) {
		t.Errorf("batched: %+v", s.Validity)
	}
	if c := verdict(s, "level=1", "throughput"); c.Pairs != 0 {
		t.Errorf("trials of batched order were paired: %+v", c)
	}
}

func TestJudgingTwiceChangesNothing(t *testing.T) {
	s := made(11, 6, 0.05, 1, 1.2, 0.7)
	s.Validity = []measure.Finding{{ID: "study-interrupted", Severity: measure.Warning, Text: "of another"}}
	s.Procedures = []record.ProcedureResult{{Name: "steady", Reason: "it still rose."}}
	Study(s)
	first := fmt.Sprintf("%+v", s.Validity)
	if !hasFinding(s.Validity, "study-interrupted", measure.Warning) || !hasFinding(s.Validity, "not-settled", measure.Warning) {
		t.Error(first)
	}
	Study(s)
	if second := fmt.Sprintf("%+v", s.Validity); first != second {
		t.Errorf("%s\n%s", first, second)
	}
}

// Whatever is in a study, judging it does not panic.
func TestStrangeStudies(t *testing.T) {
	empty := &record.Study{}
	Study(empty)
	if empty.Validity == nil {
		t.Error("the validity is missing, not empty")
	}
	s := made(12, 4, 0.01, 1, 1)
	s.Trials[1].Values["throughput"] = math.Inf(1)
	s.Trials[3].Values["throughput"] = -5
	s.Trials[5].Values = nil
	s.Specification.Margin, s.Specification.Confidence = -1, 7
	s.Specification.Objectives = []string{"nonsense"}
	Study(s)
	for _, c := range s.Comparisons {
		if c.Verdict == "" {
			t.Errorf("%+v has no verdict", c)
		}
	}
}

// A study with verdicts that may still grow uses half of what is left of its level, and says so; without its last trial
// it has no verdict.
func TestLooks(t *testing.T) {
	s := made(40, 6, 0.001, 1, 1.2)
	s.Trials[11].Status = record.TrialPlanned
	Study(s)
	if c := verdict(s, "level=1", "throughput"); len(s.Looks) != 0 || c.Verdict != record.Inconclusive || c.Ratio == nil ||
		!strings.Contains(c.Note, "preliminary: 1 trial is missing") {
		t.Errorf("before the last trial: %+v, %+v", s.Looks, c)
	}
	levels := func() (list []float64) {
		Study(s)
		Study(s) // the same look
		for _, l := range s.Looks {
			list = append(list, math.Round(l.Level*1e6)/1e6)
		}
		return list
	}
	s.Trials[11].Status, s.Trials[10].Status = record.TrialFailed, record.TrialLeft
	if got := levels(); !slices.Equal(got, []float64{0.025}) || s.Looks[0].Trials != 10 ||
		verdict(s, "level=1", "throughput").Verdict != record.Better {
		t.Errorf("with a failed trial: %v", got)
	}
	s.Trials[11].Status = record.TrialDone
	if got := levels(); !slices.Equal(got, []float64{0.025, 0.0125}) {
		t.Errorf("with a trial that was left out: %v", got)
	}
	s.Trials[10].Status = record.TrialDone
	if got := levels(); !slices.Equal(got, []float64{0.025, 0.0125, 0.0125}) {
		t.Errorf("complete: %v", got)
	}
}

// The verdicts of all metrics and configurations are one family.
func TestFamily(t *testing.T) {
	s := made(41, 6, 0.02, 1, 1.05, 1, 1)
	s.Specification.Metrics = []string{"throughput"}
	Study(s)
	alone := *verdict(s, "level=1", "throughput").Adjusted
	s.Specification.Metrics = []string{"throughput", "read.mean", "read.p99"}
	Study(s)
	c := verdict(s, "level=1", "throughput")
	if math.Abs(alone-3**c.P) > 1e-12 || math.Abs(*c.Adjusted-9**c.P) > 1e-12 {
		t.Errorf("p %v, %v of 3, %v of 9", *c.P, alone, *c.Adjusted)
	}
}

// Ten thousand trials are judged well within two seconds; make bench shows how fast.
func BenchmarkStudy(b *testing.B) {
	factors := make([]float64, 1000)
	for i := range factors {
		factors[i] = 1 + float64(i)/10000
	}
	s := made(1, 10, 0.02, factors...)
	b.ReportMetric(float64(len(s.Trials)), "trials")
	for b.Loop() {
		Study(s)
	}
}

func BenchmarkStudyOfFewConfigurations(b *testing.B) {
	s := made(1, 5000, 0.02, 1, 1.01)
	b.ReportMetric(float64(len(s.Trials)), "trials")
	for b.Loop() {
		Study(s)
	}
}
