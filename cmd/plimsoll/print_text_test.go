package main

import (
	"flag"
	"io"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func ptr[T any](v T) *T { return &v }

// troubled is a result in which everything happened that the text has a place for.
func troubled() *record.Run {
	latency := func(ns int64) *record.Latency {
		return &record.Latency{Count: 5000, Mean: float64(ns) * 1.2, Min: ns / 2, P50: ptr(ns), P90: ptr(2 * ns),
			P95: ptr(3 * ns),
			P99: ptr(5 * ns), P999: ptr(20 * ns), Max: 100 * ns}
	}
	return &record.Run{
		Head: record.Head{Status: record.Interrupted, Validity: []measure.Finding{
			{ID: "failures", Severity: measure.Warning, Text: "3.01 % of the operations did not succeed, so latencies are those of the lucky ones; see the failures and remove their cause"},
			{ID: "too-short", Severity: measure.Note, Text: "60 s is too short to tell"},
		}}, Scheduled: true,
		Specification: spec.Run{
			Out:      "records/one",
			Workload: spec.Workload{Name: "f", Mode: "core", Seed: 7, Params: map[string]string{"theta": "1.1", "fieldlength": "20"}},
			Load: spec.Load{Rate: 5000, Arrivals: "poisson", Late: "drop", Warmup: spec.Duration(10 * time.Second),
				Stages: []spec.Stage{{Duration: spec.Duration(time.Minute), Rate: 9000}}},
			Durability: spec.Durability{Name: "durable", W: "majority", ReadConcern: "majority"},
		},
		Target:         record.Target{Address: "mongodb://user@db1,db2/", Kind: "mongod", Version: "8.0.4", Topology: "replica set"},
		ClientSettings: map[string]string{"client": "driver"},
		Fill:           &record.FillResult{Records: 100_000, Inserted: 40_000, Present: 60_000, Counted: 100_000, Seconds: 2},
		Course:         record.Course{Dropped: 12, Unsent: 3},
		Phases: []record.PhaseResult{{
			Phase: "measure", Seconds: 60, Workers: 64, Offered: 300_000, InFlight: ptr(12.3),
			Counts: measure.Tally{Attempted: 299_000, Succeeded: 290_000, Failed: 8_000, Indeterminate: 1_000},
			Rates: record.Rates{Offered: 5000, Attempted: 4983, Achieved: 4833, Failed: 133, Indeterminate: 16.7,
				Documents: 9666, Bytes: 11e6},
			Classes: []record.ClassResult{
				{Name: "read-modify-write", Counts: measure.Tally{Succeeded: 140_000}, Rate: 2333, Response: latency(3e6), Service: latency(2e6)},
				{Name: "rmw-read", Part: true, Counts: measure.Tally{Succeeded: 141_000}, Rate: 2350, Response: latency(12e5),
					Service: latency(9e5)},
				{Name: "read", Counts: measure.Tally{Succeeded: 150_000}, Rate: 2500, Response: latency(1e6), Service: latency(8e5)},
				{Name: "scan", Counts: measure.Tally{Attempted: 10, NotFound: 10}},
			},
			Failures: []measure.FailureCount{
				{Failure: measure.Failure{Class: "read-modify-write", Outcome: "not-applied", Reason: "server", Code: 10107, CodeName: "NotWritablePrimary"},
					Count: 8000, First: 31 * time.Second, Last: 42 * time.Second, Example: "not primary"},
				{Failure: measure.Failure{Class: "read", Outcome: "failed", Reason: "network"}, Count: 1000,
					First: 30 * time.Second, Last: 31 * time.Second},
			},
			Lateness: latency(20_000),
			Client:   record.ClientResult{CPUPerOperation: 28_000, CPUShare: 0.071},
		}},
		Objectives: []measure.ObjectiveResult{
			{Objective: "p99<20ms", Measured: ptr(15e6), Limit: 20e6, Unit: measure.UnitTime, Met: true},
			{Objective: "errors<0.1%", Measured: ptr(0.03), Limit: 0.001, Unit: measure.UnitShare},
			{Objective: "scan.p99.9<1s", Limit: 1e9, Unit: measure.UnitTime, Unknown: true, Why: "too few samples"},
		},
	}
}

func TestTextOfResults(t *testing.T) {
	nothing := &record.Run{Head: record.Head{Status: record.Failed, Problem: "the disk is full"},
		Target:        record.Target{Address: "embedded:data", Kind: "embedded"},
		Specification: spec.Run{Workload: spec.Workload{Name: "a"}}}
	invalid := troubled()
	invalid.Status, invalid.Validity[0].Severity, invalid.Objectives, invalid.Scheduled = record.Complete, measure.Invalid,
		nil, false
	invalid.Specification.Load = spec.Load{}
	invalid.Specification.Durability = spec.Durability{}
	service := troubled()
	service.Phases[0].Service = &record.ServiceResult{CPUSeconds: 61.2, CPUPerOperation: 204_000, MemoryBytes: 48 << 20}
	for name, r := range map[string]*record.Run{"troubled": troubled(), "nothing": nothing, "invalid": invalid, "service": service} {
		goldenText(t, name, func(w io.Writer) error { return printResult(w, r, verbose) })
	}
}
