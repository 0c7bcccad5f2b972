package recordtest

import (
	"fmt"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// History is a history with a change, a record that cannot be read and a group that is too short.
func History() *record.HistoryReport {
	h := &record.HistoryReport{SchemaVersion: record.SchemaVersion, Kind: record.KindHistory, Directory: "nightly",
		Skipped:  []record.SkippedRecord{{Record: "nightly/broken", Problem: "run.json is damaged"}},
		Validity: []measure.Finding{{ID: "left-out", Severity: measure.Warning, Text: "1 point of 12 does not count"}}}
	g := record.HistoryGroup{Name: "workload a, 1,000 records, 16 workers"}
	for i := range 12 {
		p := record.HistoryPoint{Record: fmt.Sprintf("night-%02d", i), Started: time.Date(2026, 3, 1+i, 2, 0, 0, 0, time.UTC), N: 1,
			Values: map[string]float64{"throughput": 1000 - float64(i/6)*100, "read.p99": 1e6}}
		if i == 3 {
			p.N, p.Why, p.Values = 0, "client-cpu", nil
		}
		g.Points = append(g.Points, p)
	}
	g.Series = []record.HistorySeries{
		{Metric: "throughput", Unit: "1/s", Higher: true, N: 11, Median: 950, Spread: 0.1, Latest: 900, Changes: []record.HistoryChange{
			{Index: 6, Record: "night-06", Started: g.Points[6].Started, Before: 1000, After: 900, Ratio: 0.9, P: 1e-6,
				Verdict:     record.Worse,
				Differences: []record.Difference{{What: "target.version", Values: []string{"8.0.3", "8.0.4"}}}}}},
		{Metric: "read.p99", Unit: "ns", N: 11, Median: 1e6, Latest: 1e6},
	}
	h.Groups = []record.HistoryGroup{g, {Name: "workload b", Points: g.Points[:1],
		Series: []record.HistorySeries{{Metric: "throughput", Unit: "1/s", N: 1, Median: 5, Latest: 5, Note: "1 point is too few"}}}}
	return h
}

// Sizing is a size with alternatives, a law, a model of memory and prices.
func Sizing() *record.Sizing {
	price := func(month float64) *record.SizePrice {
		return &record.SizePrice{Currency: "EUR", Month: month, PerRate: pointer(0.0124), PerMillion: pointer(0.00472),
			Date: "2026-11-01", Source: "a list"}
	}
	parts := &record.SizeDisk{Documents: 1 << 40, Overhead: 1 << 37, Journal: 300 << 20, Oplog: 46 << 30, Free: 1 << 38}
	answer := record.SizeAnswer{Type: "small", Nodes: 1050, Shards: 350, Copies: 3, Memory: 64 << 30, Cache: 31 << 30,
		Disk: 2 << 40, Parts: parts, Decides: "memory", Price: price(620)}
	other := answer
	other.Type, other.Nodes, other.Price = "large", 12, price(9600)
	return &record.Sizing{
		Need: &record.SizeNeed{Text: "ops=50000,p99<20ms", Operations: 50000, Objectives: []string{"p99<20ms"}}, Verdict: record.SizeAnswered,
		Answer: &answer, Alternatives: []record.SizeAnswer{other}, Refused: []record.SizeRefusal{{Type: "tiny|<b>", Why: "it has 2 cores"}},
		Workloads: []record.SizeWorkload{{Workload: "a (durable)", Source: "capacity", N: 3, Rate: 9990, Low: pointer(9900.0),
			High: pointer(10100.0), Nodes: 3, Copies: 3,
			Needed: pointer(15.1), NeededLow: pointer(14.9), NeededHigh: pointer(15.4), Assumption: "usl",
			Objectives: []record.SizeObjective{{Objective: "p99<20ms", Met: 2, N: 3, Unknown: 1, Worst: pointer(18.2e6),
				Unit: measure.UnitTime}},
			Scaling: &record.SizeScaling{Factor: "nodes", Points: []record.SizeScalePoint{{Size: 1, N: 3, Throughput: 1000,
				Low: pointer(990.0), High: pointer(1010.0)}, {Size: 4, N: 1, Throughput: 3600}},
				Law: &record.SizeLaw{Lambda: 1000, Sigma: 0.03, Kappa: 0.001, Error: 0.012, Peak: pointer(31.0),
					PeakLow: pointer(28.0)},
				Warnings: []string{"some sizes were measured once only"}},
			Memory: &record.SizeMemory{Distribution: "zipfian (theta 0.99)", DocBytes: 1168, Cache: 1 << 30, Hit: pointer(0.744),
				Misses: pointer(0.257), MissesMeasured: pointer(0.31), HitServer: pointer(0.981),
				Course: []record.SizeMemoryPoint{{Data: 1 << 29, Hit: 1},
					{Data: 1 << 31, Hit: 0.744, Misses: 0.257, Measured: true}}}},
			{Workload: "c", Source: "closed", N: 1, Rate: 12000, Nodes: 1, Copies: 1}},
		Multipliers: []record.SizeMultiplier{{Workload: "a", Base: 818.3, Value: 7120.1, NBase: 1, N: 1, Ratio: 8.701,
			BaseNodes: 3, Nodes: 26.1, Assumption: "linear"}},
		Reasons:  []string{"Memory decides: 350 shards of 3 copies."},
		Validity: []measure.Finding{{ID: "closed-loop", Severity: measure.Warning, Text: "reached, not offered"}},
	}
}

// Gate is a branch that is worse than the one it is compared with.
func Gate() *record.Gate {
	return &record.Gate{Record: "fix.1", Branch: "fix", Against: "main", Source: "nightly.yaml", Verdict: record.Worse,
		Tool: record.Tool{Version: "1.0.0"},
		Metrics: []record.GateMetric{
			{Group: "workload a <b>", Metric: "throughput", Unit: measure.UnitRate, Higher: true, Value: pointer(800.0), N: 5, Mean: pointer(1000.0),
				Low: pointer(950.0), High: pointer(1050.0), Ratio: pointer(0.8), Verdict: record.Worse,
				Course: []float64{990, 1010, 1000, 995, 1005}},
			{Group: "workload a <b>", Metric: "read.p99", Unit: measure.UnitTime, Value: pointer(2e6), N: 5, Mean: pointer(2e6), Low: pointer(1.5e6),
				High: pointer(2.5e6), Ratio: pointer(1.0), Verdict: record.Equivalent, Course: []float64{2e6, 2e6, 2e6, 2e6, 2e6}},
			{Group: "workload c", Metric: "throughput", Unit: measure.UnitRate, Higher: true, Value: pointer(700.0), Verdict: record.Inconclusive},
		},
		Validity: []measure.Finding{{ID: "few-records", Severity: measure.Warning, Text: "a metric has few records"}}}
}

// Doctor is a result of every severity.
func Doctor() *record.Doctor {
	return &record.Doctor{URI: "mongodb://db1:27017", Directory: "/data/db", Findings: []record.DoctorFinding{
		{Area: "storage", ID: "filesystem", Severity: record.DoctorCritical, Is: "ext4", Recommended: "XFS",
			Why: "WiredTiger's checkpoints stall on ext4", How: "create the filesystem with mkfs.xfs"},
		{Area: "system", ID: "huge-pages", Severity: record.DoctorWarning, Is: "never", Recommended: "always, with defer+madvise",
			Why: "MongoDB 8 allocates with tcmalloc by CPU"},
		{Area: "system", ID: "swappiness", Severity: record.DoctorAdvice, Is: "60", Recommended: "1", Why: "swapping is slower than the cache"},
		{Area: "system", ID: "clock", Severity: record.DoctorUnknown, Is: "not known", Recommended: "synchronized", Why: "logs are compared"},
		{Area: "system", ID: "limits", Severity: record.DoctorGood, Is: "64,000 open files", Recommended: "64,000 open files", Why: "connections are files"},
	}}
}
