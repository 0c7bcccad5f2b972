package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study/judge"
)

// judgedStudy is a study of two factors of which the values are made up without any chance: trial by trial a little
// more or less.
func judgedStudy() *record.Study {
	start := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	s := &record.Study{
		Head: record.Head{SchemaVersion: record.SchemaVersion, Kind: record.KindStudy, Status: record.Complete,
			Started: start},
		Specification: spec.Study{Name: "threads and durability", Margin: 0.03, Confidence: 0.95, Objectives: []string{"read.p99<20ms"},
			Factors: []spec.Factor{
				{Path: "load.workers", Levels: []spec.Level{{Name: "8"}, {Name: "16"}, {Name: "32"}}},
				{Path: "durability.name", Name: "durability", Exploratory: true, Levels: []spec.Level{{Name: "durable"}, {Name: "balanced"}}}}},
		Configurations: []record.Configuration{
			{ID: "baseline", Baseline: true, Levels: map[string]string{"workers": "16", "durability": "durable"}},
			{ID: "workers=8", Factor: "workers", Levels: map[string]string{"workers": "8", "durability": "durable"}},
			{ID: "workers=32", Factor: "workers", Levels: map[string]string{"workers": "32", "durability": "durable"}},
			{ID: "durability=balanced", Factor: "durability", Exploratory: true, Levels: map[string]string{"workers": "16", "durability": "balanced"}}},
		Procedures: []record.ProcedureResult{{Name: "steady", Path: "load.duration", Rule: "the shortest duration after which nothing changes any more",
			Reason: "the throughput still rose by 4 % at 60 s", Chosen: 60,
			Points: []record.ProcedurePoint{{Value: 30, N: 2, Throughput: 950}, {Value: 60, N: 2, Throughput: 1000, Note: "still rising"}}}},
	}
	factor := map[string]float64{"baseline": 1, "workers=8": 0.8, "workers=32": 1.01, "durability=balanced": 12}
	for block := 1; block <= 6; block++ {
		for i, c := range s.Configurations {
			n := len(s.Trials) + 1
			began := start.Add(time.Duration(n) * 70 * time.Second)
			x := 1000 * factor[c.ID] * math.Exp(0.01*math.Sin(float64(n*n)+float64(i)))
			s.Trials = append(s.Trials, record.Trial{Number: n, Attempt: 1, Block: block, Configuration: c.ID,
				Kind: record.TrialCompared, Status: record.TrialDone,
				Record: fmt.Sprintf("trials/%04d", n), Started: &began, Seconds: 61.2,
				Values: map[string]float64{"throughput": x, "errors": 0, "read.mean": 8e9 / x, "read.p99": 17e9 / x, "read.errors": 0}})
		}
	}
	s.Trials[5].Status, s.Trials[5].Problem, s.Trials[5].Values = record.TrialTimeout, "ended by its deadline of 3m", nil
	s.Trials[9].Validity = []measure.Finding{{ID: "client-cpu", Severity: measure.Invalid, Text: "the client was the bottleneck"}}
	judge.Study(s)
	return s
}

func goldenText(t *testing.T, name string, print func(io.Writer) error) {
	t.Helper()
	var b bytes.Buffer
	if err := print(&b); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", "text", name+".golden")
	if *update {
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("text changed; if it should, run with -update (-want +got):\n%s", diff)
	}
}

func TestTextOfStudies(t *testing.T) {
	goldenText(t, "study", func(w io.Writer) error { return printResult(w, judgedStudy(), verbose) })
	running := judgedStudy()
	running.Status, running.Configurations = record.Running, running.Configurations[:1]
	running.Trials = running.Trials[:1]
	judge.Study(running)
	goldenText(t, "study-begun", func(w io.Writer) error { return printResult(w, running, verbose) })
}

// A search for the capacity alone compares nothing, and says so in all its words.
func TestTextOfASearch(t *testing.T) {
	s := judgedStudy()
	s.Specification.Factors, s.Specification.Name = nil, "limit"
	s.Configurations, s.Procedures = s.Configurations[:1], nil
	s.Trials = []record.Trial{{Number: 1, Attempt: 1, Configuration: "baseline", Kind: record.TrialSearch,
		Status: record.TrialDone}}
	p99 := 12e6
	s.Capacity = &record.CapacityResult{Objectives: []string{"p99<20ms"}, Rate: 900, Confirmed: true, Reason: "three fresh trials held",
		Steps: []record.CapacityStep{{Phase: "confirm", Offered: 900, Achieved: 899, P99: &p99, Holds: true}}}
	judge.Study(s)
	goldenText(t, "study-search", func(w io.Writer) error { return printResult(w, s, verbose) })
	if code := exitCode(ending(s.Conclude())); code != exitSuccess {
		t.Errorf("a confirmed capacity exits %d", code)
	}
}

// Whatever names a record holds, nothing but printable text reaches the terminal.
func TestTextOfHostileStudies(t *testing.T) {
	s := judgedStudy()
	s.Specification.Name = "\x1b]0;owned\x07\x1b[2J"
	s.Configurations[1].Levels["workers"] = "8\r\x1b[31m\u202e"
	s.Trials[1].Configuration, s.Trials[5].Problem = "a\nb", "\x9b1m\x00"
	s.Validity = append(s.Validity, measure.Finding{ID: "x\x1b", Severity: "\x07", Text: "a\tb\x08"})
	var b bytes.Buffer
	if err := printResult(&b, s, verbose); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if i := strings.IndexFunc(strings.TrimSuffix(line, "\n"), func(r rune) bool {
			return unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
		}); i >= 0 {
			t.Errorf("%q", line)
		}
	}
}

func TestExitOfStudies(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*record.Study)
		want   int
	}{
		"fine":             {func(*record.Study) {}, exitSuccess},
		"objective":        {func(s *record.Study) { s.Objectives[0].Holds = false }, exitObjective},
		"exploratory only": {func(s *record.Study) { s.Objectives[3].Holds = false }, exitSuccess},
		"capacity":         {func(s *record.Study) { s.Capacity = &record.CapacityResult{Rate: 900, Confirmed: true} }, exitSuccess},
		"not confirmed":    {func(s *record.Study) { s.Capacity = &record.CapacityResult{Rate: 900} }, exitObjective},
		"no capacity":      {func(s *record.Study) { s.Capacity = &record.CapacityResult{} }, exitObjective},
		"invalid": {func(s *record.Study) { s.Validity[0].Severity, s.Objectives[0].Holds = measure.Invalid, false },
			exitInvalid},
		"interrupted": {func(s *record.Study) { s.Status, s.Validity[0].Severity = record.Interrupted, measure.Invalid },
			exitInterrupted},
		"killed": {func(s *record.Study) { s.Status = record.Killed }, exitInterrupted},
		"failed": {func(s *record.Study) { s.Status = record.Failed }, exitFailure},
	} {
		s := judgedStudy()
		for i := range s.Objectives {
			s.Objectives[i].Holds = true
		}
		c.change(s)
		if got := exitCode(ending(s.Conclude())); got != c.want {
			t.Errorf("%s: exit code %d, want %d", name, got, c.want)
		}
	}
}
