package main

import (
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/html"
)

// The terminal and the page tell the same in the same words.
func TestPageAndTerminalSayTheSame(t *testing.T) {
	yes, no := true, false
	runs := []record.Run{
		{},
		{Specification: record.RunSpec{Durability: record.DurabilitySpec{Name: "durable", ReadConcern: "majority", ReadPreference: "nearest"}}, Status: record.Complete},
		{Specification: record.RunSpec{Durability: record.DurabilitySpec{Name: "balanced", W: "majority", Journal: &yes}}, Fill: &record.FillResult{Records: 1e5, Inserted: 1e5, Seconds: 12.5}},
		{Specification: record.RunSpec{Durability: record.DurabilitySpec{W: "2", Journal: &no}}, Fill: &record.FillResult{Records: 10, Skipped: true, Counted: 9}},
		{Specification: record.RunSpec{Durability: record.DurabilitySpec{Journal: &yes}}, Fill: &record.FillResult{Records: 10, Counted: 10}},
		{Specification: record.RunSpec{Durability: record.DurabilitySpec{Name: "throughput"}}, ClientSettings: map[string]string{"client": "driver"}},
		{Target: record.Target{Address: "mongodb://h/", Kind: "mongod", Version: "8.0", Topology: "replica set of 3", Settings: map[string]string{"defaultWriteConcern.w": "majority"}},
			Specification: record.RunSpec{Workload: record.WorkloadSpec{Name: "a", Mode: "ycsb", Params: map[string]string{"b": "2", "a": "1"}}}},
		{Target: record.Target{Address: "embedded:x", Kind: "embedded"}, Specification: record.RunSpec{Workload: record.WorkloadSpec{Name: "ycsb-a", Mode: "ycsb", Seed: 7},
			Load: record.LoadSpec{Rate: 5000, Arrivals: "poisson", Warmup: record.Duration(time.Minute)}}},
		{Specification: record.RunSpec{Load: record.LoadSpec{Pace: 10, Stages: []record.StageSpec{{Duration: 1}, {Duration: 2}}}}, Target: record.Target{Kind: "null"}, Fill: &record.FillResult{}},
	}
	for i := range runs {
		r := &runs[i]
		p := &record.PhaseResult{Workers: 1 + i*15, Seconds: 61.5}
		for what, pair := range map[string][2]string{
			"headline":   {headline(r), html.Headline(r)},
			"load":       {describeLoad(r, p), html.Load(r, p)},
			"durability": {describeDurability(r), html.Durability(r)},
			"data":       {describeData(r), html.Data(r)},
		} {
			if pair[0] != pair[1] {
				t.Errorf("run %d: the %s is %q in the terminal and %q in the page", i, what, pair[0], pair[1])
			}
		}
	}
}
