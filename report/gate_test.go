package report

import (
	"io"
	"testing"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

func sampleGate() *record.Gate {
	return &record.Gate{Record: "fix.1", Branch: "fix", Against: "main", Source: "nightly.yaml", Verdict: record.Worse,
		Tool: record.Tool{Version: "1.0.0"},
		Metrics: []record.GateMetric{
			{Group: "workload a <b>", Metric: "throughput", Unit: measure.UnitRate, Higher: true, Value: num(800), N: 5, Mean: num(1000),
				Low: num(950), High: num(1050), Ratio: num(0.8), Verdict: record.Worse,
				Course: []float64{990, 1010, 1000, 995, 1005}},
			{Group: "workload a <b>", Metric: "read.p99", Unit: measure.UnitTime, Value: num(2e6), N: 5, Mean: num(2e6), Low: num(1.5e6),
				High: num(2.5e6), Ratio: num(1), Verdict: record.Equivalent, Course: []float64{2e6, 2e6, 2e6, 2e6, 2e6}},
			{Group: "workload c", Metric: "throughput", Unit: measure.UnitRate, Higher: true, Value: num(700), Verdict: record.Inconclusive},
		},
		Validity: []measure.Finding{{ID: "few-records", Severity: measure.Warning, Text: "a metric has few records"}}}
}

func TestGateGolden(t *testing.T) {
	for name, write := range map[string]func(io.Writer, *record.Gate) error{"ci.md": GateComment, "ci.junit.xml": JUnit, "ci.sarif.json": SARIF} {
		golden(t, name, func(w io.Writer, _ *record.Run) error { return write(w, sampleGate()) }, nil)
	}
}

func TestBacktestGolden(t *testing.T) {
	b := &record.Backtest{Inner: record.BacktestCount{Levels: 2, Refused: 1, Median: num(0.11)},
		Outer: record.BacktestCount{Levels: 1, Held: 1, Median: num(0.188)}, Validity: []measure.Finding{},
		Factors: []record.BacktestFactor{{Source: "threads", Factor: "workers", Model: "usl", Why: "usl misses left-out levels by 7 %", Error: num(0.07),
			Parameters: []record.BacktestParameter{{Name: "parallel", Value: 0.002}},
			Models:     []record.BacktestModel{{Name: "usl", Formula: "N/X = a + b·N", Basis: "a book", Error: 0.07}},
			Points: []record.BacktestPoint{
				{Level: "16", Size: 16, Beyond: true, N: 3, Measured: 1600, Model: "usl", High: num(1900), Held: true},
				{Level: "8", Size: 8, N: 3, Measured: 900, Model: "usl", Predicted: num(800), Low: num(700), High: num(850),
					Error: num(-0.11)},
				{Level: "2", Size: 2, N: 3, Measured: 120, Refused: "too far"}}}}}
	golden(t, "backtest.md", func(w io.Writer, _ *record.Run) error { return Write(w, b, "md") }, nil)
}

func TestWhatIfGolden(t *testing.T) {
	w := &record.WhatIf{Asked: "cores=16,disk=nvme", Throughput: num(12000), Low: num(9000), High: num(16000), Same: []string{"workers=8"},
		Changes: []record.WhatIfChange{{Key: "cores", From: "8", To: "16", Basis: "amdahl", Ratio: num(1.6), Low: num(1.3), High: num(1.9),
			Why: "amdahl misses left-out levels by 4 %"},
			{Key: "disk", From: "sata-ssd", To: "nvme", Basis: "measured", Ratio: num(1.5), Low: num(1.4), High: num(1.6), Why: "n = 3"}},
		Nearest: record.WhatIfPoint{Study: "my-study", Configuration: "cores=8", N: 3, Throughput: 5000}, Validity: []measure.Finding{}}
	golden(t, "what-if.md", func(o io.Writer, _ *record.Run) error { return Write(o, w, "md") }, nil)
	w.Throughput, w.Low = nil, nil
	w.Changes[0] = record.WhatIfChange{Key: "cores", From: "8", To: "16", Basis: "amdahl", High: num(1.9), Beyond: true,
		Why: "amdahl misses left-out levels by 4 %"}
	golden(t, "what-if-beyond.md", func(o io.Writer, _ *record.Run) error { return Write(o, w, "md") }, nil)
	w.High, w.Refused = nil, []string{"w: no study varied it"}
	golden(t, "what-if-refused.md", func(o io.Writer, _ *record.Run) error { return Write(o, w, "md") }, nil)
}

func TestSimulationGolden(t *testing.T) {
	p99 := int64(30e6)
	s := &record.Simulation{Deployment: spec.Deployment{Shards: 333, Members: 3}, Validity: []measure.Finding{},
		Checks: []record.SimulationCheck{
			{Setup: "16 workers", Metric: record.CheckThroughput, Simulated: 557, Measured: 579, Error: -0.038, Limit: 0.1,
				Holds: true},
			{Setup: "16 workers", Metric: record.CheckP99, Simulated: 95e6, Measured: 72e6, Error: 0.32, Limit: 0.25}},
		LeftOut: []string{"r-2: it is invalid"},
		Load: &record.SimulationLoad{Rate: 185_000, Mean: 20e6, P50: 18e6, P99: 29e6, P99Low: 25e6, P99High: 40e6,
			Journal: 0.99,
			CPU:     0.02, Misses: 0.2, Lag: 5e6},
		Failures: &record.SimulationFailures{Seconds: 86400, Failures: 300, Outages: 100, Majority: 1, Down: 200, Away: 9000,
			Longest: 31, Available: 0.999993, P99: &p99}}
	s.Failures.Cold = &record.SimulationCold{Outages: 12, Seconds: 900, Longest: 80, Operations: 123_456, Waiting: true}
	s.Load.Checkpoints = 0.1
	s.Load.Slower = &record.SimulationSlower{Grows: 0.2, Majority: 7e9, Limited: 0.8, Target: 10e9}
	golden(t, "simulation-more.md", func(o io.Writer, _ *record.Run) error { return Write(o, s, "md") }, nil)
	s.Load.Slower, s.Failures.Cold, s.Load.Checkpoints = nil, nil, 0
	golden(t, "simulation.md", func(o io.Writer, _ *record.Run) error { return Write(o, s, "md") }, nil)
	s.Load, s.Failures = nil, nil
	s.Refused = []string{"load: the simulation does not reproduce these records", "failures: kill: two drills of it are needed"}
	golden(t, "simulation-refused.md", func(o io.Writer, _ *record.Run) error { return Write(o, s, "md") }, nil)
	s.Load = &record.SimulationLoad{Rate: 28_000, Mean: 8e6, Journal: 0.9, CPU: 0.5}
	s.Refused, s.LeftOut = nil, []string{"figure 2, client threads: only drawn"}
	s.Document = &record.SimulationDocument{Name: "d", Title: "A document", Rule: "Every second level calibrates.",
		Hardware:   []record.SimulationFact{{Says: "cores of a host", Value: "20"}},
		Parameters: []record.SimulationFact{{Says: "sync of the journal", Value: "2 ms"}},
		Calibrated: []record.SimulationCheck{{Setup: "figure 6, workload a, 8C", Metric: record.CheckReadMean, Simulated: 643e3,
			Measured: 640e3, Error: 0.005, Limit: 0.25, Holds: true}}}
	golden(t, "simulation-document.md", func(o io.Writer, _ *record.Run) error { return Write(o, s, "md") }, nil)
}
