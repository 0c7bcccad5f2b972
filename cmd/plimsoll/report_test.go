package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/html"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// The terminal and the page tell the same in the same words.
func TestPageAndTerminalSayTheSame(t *testing.T) {
	yes, no := true, false
	runs := []record.Run{
		{},
		{Specification: spec.Run{Durability: spec.Durability{Name: "durable", ReadConcern: "majority", ReadPreference: "nearest"}}, Head: record.Head{Status: record.Complete}},
		{Specification: spec.Run{Durability: spec.Durability{Name: "balanced", W: "majority", Journal: &yes}}, Fill: &record.FillResult{Records: 1e5, Inserted: 1e5, Seconds: 12.5}},
		{Specification: spec.Run{Durability: spec.Durability{W: "2", Journal: &no}}, Fill: &record.FillResult{Records: 10, Skipped: true, Counted: 9}},
		{Specification: spec.Run{Durability: spec.Durability{Journal: &yes}}, Fill: &record.FillResult{Records: 10, Counted: 10}},
		{Specification: spec.Run{Durability: spec.Durability{Name: "throughput"}}, ClientSettings: map[string]string{"client": "driver"}},
		{Target: record.Target{Address: "mongodb://h/", Kind: "mongod", Version: "8.0", Topology: "replica set of 3", Settings: map[string]string{"defaultWriteConcern.w": "majority"}},
			Specification: spec.Run{Workload: spec.Workload{Name: "a", Mode: "ycsb", Params: map[string]string{"b": "2", "a": "1"}}}},
		{Target: record.Target{Address: "embedded:x", Kind: "embedded"}, Specification: spec.Run{Workload: spec.Workload{Name: "ycsb-a", Mode: "ycsb", Seed: 7},
			Load: spec.Load{Rate: 5000, Arrivals: "poisson", Warmup: spec.Duration(time.Minute)}}},
		{Specification: spec.Run{Load: spec.Load{Pace: 10, Stages: []spec.Stage{{Duration: 1}, {Duration: 2}}}}, Target: record.Target{Kind: "null"}, Fill: &record.FillResult{}},
		{Specification: spec.Run{Load: spec.Load{Clients: 2}}, Clients: make([]record.ClientShare, 2)},
	}
	for i := range runs {
		r := &runs[i]
		p := &record.PhaseResult{Phase: "measure", Workers: 1 + i*15, Seconds: 61.5}
		r.Phases = []record.PhaseResult{*p}
		lines := printedLines(t, r)
		for what, pair := range map[string][2]string{
			"headline":   {lines["workload"], html.Headline(r)},
			"load":       {lines["load"], html.Load(r, p)},
			"durability": {lines["durability"], html.Durability(r)},
			"data":       {lines["data"], html.Data(r)},
		} {
			if pair[0] != pair[1] {
				t.Errorf("run %d: the %s is %q in the terminal and %q in the page", i, what, pair[0], pair[1])
			}
		}
	}
}

// printedLines are the lines that the terminal prints about a run, by their first words; the headline by "workload".
func printedLines(t *testing.T, r *record.Run) map[string]string {
	t.Helper()
	var b bytes.Buffer
	if err := writeText(&b, r); err != nil {
		t.Fatal(err)
	}
	lines := map[string]string{}
	for _, line := range strings.Split(b.String(), "\n") {
		name, text, _ := strings.Cut(line, " ")
		if name == "workload" {
			lines[name] = line
		} else if name != "" {
			lines[name] = strings.TrimSpace(text)
		}
	}
	return lines
}
