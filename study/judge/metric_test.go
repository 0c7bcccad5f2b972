package judge

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

func ptr[T any](v T) *T { return &v }

func measured() *record.Run {
	latency := func(ns int64) *record.Latency {
		return &record.Latency{Count: 5000, Mean: float64(ns) * 1.2, P50: ptr(ns), P99: ptr(5 * ns), Max: 100 * ns,
			Unclassed: 10}
	}
	all := func(ns int64) *record.Latency { // ten were never sent, more than lie above p99.9 of 5000
		l := latency(ns)
		l.Lost, l.Unclassed = 10, 0
		return l
	}
	return &record.Run{
		Head: record.Head{SchemaVersion: record.SchemaVersion, Kind: record.KindRun, Status: record.Complete, Started: begin,
			Environment: record.Environment{OS: "linux", Arch: "amd64", CPU: "Some CPU", Cores: 4, MemoryBytes: 8 << 30},
			Tool:        record.Tool{Name: "plimsoll", Version: "1.0.0"}}, Scheduled: true,
		Specification: spec.Run{Target: "mongodb://db/", Client: "wire", Workload: spec.Workload{Name: "a", Records: 1000},
			Load: spec.Load{Workers: 16}, Durability: spec.Durability{Name: "durable"}},
		Course:     record.Course{Unsent: 10},
		Objectives: []measure.ObjectiveResult{{Objective: "read.p99.5<20ms", Measured: ptr(7e6), Unit: "ns"}},
		Phases: []record.PhaseResult{{
			Phase: "measure", Seconds: 60, Offered: 10_000, Dropped: 90, Counts: measure.Tally{Attempted: 9900, Succeeded: 9800,
				Failed: 100, NotFound: 50},
			Ended: measure.Tally{Succeeded: 9700}, Rates: record.Rates{Achieved: 161.7},
			All: record.ClassResult{Response: all(1e6), Service: all(5e5)},
			Classes: []record.ClassResult{
				{Name: "read-modify-write", Rate: 80, Counts: measure.Tally{Attempted: 5000, Succeeded: 4950},
					Response: latency(2e6), Service: latency(1e6)},
				{Name: "rmw-read", Part: true, Rate: 80, Response: latency(1e6)},
				{Name: "read", Rate: 80, Counts: measure.Tally{Attempted: 4900, Succeeded: 4850, NotFound: 50},
					Response: &record.Latency{Count: 20, Mean: 5e5, Max: 9e5, Unclassed: 10}},
			},
		}},
	}
}

func TestValues(t *testing.T) {
	metrics := []string{"throughput", "errors", "not-found", "dropped", "achieved", "mean", "p50", "p99", "p99.9", "service.p99", "max", "response.p50",
		"read.throughput", "read.errors", "read.mean", "read.p99", "read.p99.5", "read-modify-write.service.p99.9", "read-modify-write.p90", "scan.p99"}
	got := Values(measured(), metrics)
	want := map[string]float64{
		"throughput": 161.7, "errors": 0.02, "not-found": 0.005, "dropped": 0.009, "achieved": 0.97, "mean": 1.2e6, "p50": 1e6, "p99": 5e6,
		"service.p99": 2.5e6, "response.p50": 1e6,
		"read.throughput": 80, "read.errors": 50.0 / 4900, "read.mean": 5e5, "read.p99.5": 7e6,
	} // ten operations were never sent, more than lie above p99.9 of 5000, and longer than any maximum
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := Values(&record.Run{}, metrics); len(got) != 0 {
		t.Errorf("nothing was measured, and yet %v", got)
	}
}

// A percentile with fewer answers than it needs is no value, misses objectives, and leaves a comparison without a
// verdict.
func TestMetricsWithoutAnswer(t *testing.T) {
	r := measured()
	l := r.Phases[0].All.Response
	l.Lost, l.P99 = 100, nil
	metrics := []string{"p50", "p99", "p99.9", "mean", "max", "throughput", "errors", "read-modify-write.p99", "read.mean"}
	r.Phases[0].Classes[0].Response.Lost = 50
	if diff := cmp.Diff([]string{"p99", "p99.9", "mean", "max"}, NoAnswer(r, metrics[:7])); diff != "" {
		t.Error(diff)
	}
	values := Values(r, metrics)
	for name, want := range map[string]bool{"p50": true, "p99": false, "mean": true, "max": false} {
		if _, ok := values[name]; ok != want {
			t.Errorf("%s is a value: %v, want %v", name, ok, want)
		}
	}
	trial := &record.Trial{Values: values, NoAnswer: NoAnswer(r, metrics)}
	for text, want := range map[string][2]bool{"p99<20ms": {false, true}, "mean<20ms": {false, true}, "p50<20ms": {true, true}} {
		parsed, err := measure.ParseObjectives(text)
		if err != nil {
			t.Fatal(err)
		}
		if holds, known := objectiveOf(trial, parsed[0]); [2]bool{holds, known} != want {
			t.Errorf("%s holds: %v, known: %v", text, holds, known)
		}
	}
	rules := newRules(0.03, 0.95)
	base := []observation{{1, 1, -1}, {1.001, 2, -1}, {1.002, 3, -1}, {1.001, 4, -1}}
	same := []observation{{1, 1, 1}, {1.001, 2, 1}, {1.002, 3, 1}, {1.001, 4, 1}}
	one := newCell(parseMetric("p99"), base, same, "", rules)
	noAnswer := func(of []string) []string { return of }
	withoutAnswer(one, [][]string{nil, nil}, [][]string{{"p99"}, {"p50"}}, noAnswer)
	decide([]*cell{one}, rules)
	if one.Verdict != record.Inconclusive || !strings.Contains(one.Note, "no answer in 0 trials of the baseline and in 1 trial") {
		t.Errorf("%s: %s", one.Verdict, one.Note)
	}
}

// The processor time of an operation is that of all hosts of the lab, and of nothing else.
func TestProcessorTimeOfHosts(t *testing.T) {
	r := measured()
	r.Series = []record.Series{
		{Source: "host:three/host1", Name: "cpu.used", PerOperation: ptr(0.002)}, {Source: "host:three/host2", Name: "cpu.used", PerOperation: ptr(0.0005)},
		{Source: "host:three/host1", Name: "disk.writes", PerOperation: ptr(3.0)}, {Source: "host:other", Name: "cpu.used", PerOperation: ptr(9.0)},
		{Source: "client", Name: "cpu.used", PerOperation: ptr(9.0)}, {Source: "service", Name: "cpu.used", PerOperation: ptr(9.0)},
	}
	if got := Values(r, []string{"cpu"}); len(got) != 0 {
		t.Errorf("without a lab there are no hosts, but got %v", got)
	}
	r.Lab = &record.Lab{Name: "three"}
	if got := Values(r, []string{"cpu"})["cpu"]; got != 2.5e6 {
		t.Errorf("one operation took %v ns, want 2.5 ms", got)
	}
	for _, wrong := range []string{"read.cpu", "service.cpu"} {
		if _, err := ParseMetric(wrong); err == nil {
			t.Errorf("%s is taken for a metric", wrong)
		}
	}
}

func TestMetricsOfATrial(t *testing.T) {
	asked := spec.Study{Objectives: []string{"read.p99<20ms", "rate>5k, scan.service.p99.9<1s"}, Run: spec.Run{Objectives: []string{"errors<1%"}}}
	want := []string{"throughput", "errors", "read-modify-write.mean", "read-modify-write.p99", "read.mean", "read.p99",
		"read-modify-write.errors", "read.errors", "scan.service.p99.9"}
	if diff := cmp.Diff(want, Metrics(asked, measured())); diff != "" {
		t.Error(diff)
	}
	asked.Metrics = []string{"p50"}
	if diff := cmp.Diff([]string{"p50", "read.p99", "throughput", "scan.service.p99.9", "errors"}, Metrics(asked, measured())); diff != "" {
		t.Error(diff)
	}
}

func TestParseMetric(t *testing.T) {
	for name, want := range map[string]Metric{
		"throughput":       {Kind: "response", Figure: "throughput", Unit: "1/s", Higher: true},
		"read.p99.9":       {Class: "read", Kind: "response", Figure: "p99.9", Unit: "ns"},
		"service.mean":     {Kind: "service", Figure: "mean", Unit: "ns"},
		"a.b.service.p50":  {Class: "a.b", Kind: "service", Figure: "p50", Unit: "ns"},
		"read.errors":      {Class: "read", Kind: "response", Figure: "errors", Unit: "share"},
		"achieved":         {Kind: "response", Figure: "achieved", Unit: "share", Higher: true},
		"read.response.p9": {Class: "read", Kind: "response", Figure: "p9", Unit: "ns"},
	} {
		want.Name = name
		got, err := ParseMetric(name)
		if got != want || (err != nil) != (want.Figure == "p9") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for name, says := range map[string]string{"troughput": "throughput", "read.p98": "known", "": "known", "service.errors": "not a time",
		"read.dropped": "all operations together", "read.": "known"} {
		if _, err := ParseMetric(name); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: got error %v, want %q", name, err, says)
		}
	}
}

func FuzzParseMetric(f *testing.F) {
	for _, name := range []string{"throughput", "read.service.p99.9", "..p99", "service", "\x00.mean"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		m, err := ParseMetric(name)
		if err == nil && m.Name != name {
			t.Errorf("%q became %+v", name, m)
		}
		Values(measured(), []string{name})
	})
}
