package report

import (
	"io"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// sampleSize has everything that a size can have.
func sampleSize() *record.Sizing {
	price := func(month float64) *record.SizePrice {
		return &record.SizePrice{Currency: "EUR", Month: month, PerRate: num(0.0124), PerMillion: num(0.00472),
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
		Workloads: []record.SizeWorkload{{Workload: "a (durable)", Source: "capacity", N: 3, Rate: 9990, Low: num(9900),
			High: num(10100), Nodes: 3, Copies: 3,
			Needed: num(15.1), NeededLow: num(14.9), NeededHigh: num(15.4), Assumption: "usl",
			Objectives: []record.SizeObjective{{Objective: "p99<20ms", Met: 2, N: 3, Unknown: 1, Worst: num(18.2e6),
				Unit: measure.UnitTime}},
			Scaling: &record.SizeScaling{Factor: "nodes", Points: []record.SizeScalePoint{{Size: 1, N: 3, Throughput: 1000,
				Low: num(990), High: num(1010)}, {Size: 4, N: 1, Throughput: 3600}},
				Law:      &record.SizeLaw{Lambda: 1000, Sigma: 0.03, Kappa: 0.001, Error: 0.012, Peak: num(31), PeakLow: num(28)},
				Warnings: []string{"some sizes were measured once only"}},
			Memory: &record.SizeMemory{Distribution: "zipfian (theta 0.99)", DocBytes: 1168, Cache: 1 << 30, Hit: num(0.744),
				Misses: num(0.257), MissesMeasured: num(0.31), HitServer: num(0.981),
				Course: []record.SizeMemoryPoint{{Data: 1 << 29, Hit: 1},
					{Data: 1 << 31, Hit: 0.744, Misses: 0.257, Measured: true}}}},
			{Workload: "c", Source: "closed", N: 1, Rate: 12000, Nodes: 1, Copies: 1}},
		Multipliers: []record.SizeMultiplier{{Workload: "a", Base: 818.3, Value: 7120.1, NBase: 1, N: 1, Ratio: 8.701,
			BaseNodes: 3, Nodes: 26.1, Assumption: "linear"}},
		Reasons:  []string{"Memory decides: 350 shards of 3 copies."},
		Validity: []measure.Finding{{ID: "closed-loop", Severity: measure.Warning, Text: "reached, not offered"}},
	}
}

func TestSizeGolden(t *testing.T) {
	golden(t, "size.md", func(w io.Writer, _ *record.Run) error { return Write(w, sampleSize(), "md") }, nil)
}

func TestMoney(t *testing.T) {
	for x, want := range map[float64]string{1260: "1,260 EUR", 412.5: "412.50 EUR", 0.129: "0.13 EUR", 12.999: "13 EUR", 0: "0 EUR"} {
		if got := money(x, "EUR"); got != want {
			t.Errorf("%v is written %s, want %s", x, got, want)
		}
	}
}

func TestSizeTitles(t *testing.T) {
	s := sampleSize()
	for want, change := range map[string]func(){
		"ops=50000,p99<20ms: 1,050 nodes of type small (350 shards of 3 copies), 64.0 GiB of memory, 2.00 TiB of disk each, 620 EUR per month": func() {},
		"ops=50000,p99<20ms: at most 1,051 nodes (350 shards of 3 copies and 1 spare), memory unknown, 2.00 TiB of disk each; measured with 1/40.0 of the documents of a node": func() {
			a := s.Answer
			a.AtMost, a.Nodes, a.Spare, a.Memory, a.DataFactor, a.Type, a.Price = true, 1051, 1, 0, 40, "", nil
		},
		"ops=50000,p99<20ms: 2 nodes (1 shard of one copy and 1 spare), 64.0 GiB of memory, 2.00 TiB of disk each": func() {
			a := s.Answer
			a.Nodes, a.Shards, a.Copies, a.Spare, a.DataFactor, a.Type, a.Price = 2, 1, 1, 1, 9, "", nil
		},
		"ops=50000,p99<20ms: this cannot be met with what was measured": func() { s.Verdict = record.SizeImpossible },
		"ops=50000,p99<20ms: these records cannot decide":               func() { s.Verdict = record.SizeUnknown },
		"nodes that match another deployment": func() {
			s.Verdict, s.Need, s.Answer = record.SizeAnswered, nil, nil
		},
	} {
		s = sampleSize()
		change()
		if got := sizeTitle(s); got != want {
			t.Errorf("the title is %q, want %q", got, want)
		}
	}
	s = &record.Sizing{Verdict: record.SizeUnknown, Reasons: []string{"nothing"}}
	if list := Of(s).Sections; len(list) != 1 || strings.Join(list[0].Lines, "") != "nothing" {
		t.Errorf("a size without an answer has the sections %+v", list)
	}
}
