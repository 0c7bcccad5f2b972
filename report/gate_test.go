package report

import (
	"io"
	"testing"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
)

func TestGateGolden(t *testing.T) {
	for name, write := range map[string]func(io.Writer, *record.Gate) error{"ci.md": GateComment, "ci.junit.xml": JUnit, "ci.sarif.json": SARIF} {
		golden(t, name, func(w io.Writer, _ *record.Run) error { return write(w, recordtest.Gate()) }, nil)
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

func TestFailuresGolden(t *testing.T) {
	f := &record.Failures{Asked: "shards=333,ops=300k,kill=200,power-off=10", Target: "lab:three", Shards: 333, Members: 3, Rate: 300_000,
		Kinds: []record.FailuresKind{{Action: "kill", Number: 200, Drills: 3, Rounds: 15, Outage: 11.1e9, Away: 20e9},
			{Action: "power-off", Number: 10, Drills: 2, Rounds: 4, Outage: 20.3e9, Away: 90e9}},
		Checks: []record.FailuresCheck{{Record: "d-1", Setup: "kill of a primary, 3 members, election after 10 s",
			Measured: 11.1e9, Others: 11.2e9, Error: 0.009, Limit: 0.1, Holds: true}},
		LeftOut: []string{"d-4, round 2: redundancy did not return"},
		Year: &record.FailuresYear{Years: 100, Failures: 210.3, Outages: 70.2, Majority: 0.6,
			Down:    record.FailuresRange{Median: 810, Low: 680, High: 960},
			Longest: record.FailuresRange{Median: 21.5, Low: 20.3, High: 21.5},
			Away:    5000, Available: 0.99999992, Operations: 729_729},
		Validity: []measure.Finding{{ID: "shards-independent", Severity: measure.Warning, Text: "the 333 shards share nothing"}}}
	golden(t, "failures.md", func(o io.Writer, _ *record.Run) error { return Write(o, f, "md") }, nil)
	f.Year, f.Validity, f.Kinds[1].Drills, f.Kinds[1].Rounds = nil, nil, 0, 0
	f.Refused = []string{"power-off: two drills of it are needed"}
	golden(t, "failures-refused.md", func(o io.Writer, _ *record.Run) error { return Write(o, f, "md") }, nil)
}
