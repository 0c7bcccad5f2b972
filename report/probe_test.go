package report

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// probeForTest is a probe with everything in it.
func probeForTest() *record.Probe {
	latency := func(scale int64) *record.Latency {
		h := measure.NewHistogram()
		for i := range int64(1000) {
			h.Record(scale * (900 + i/5))
		}
		return record.NewLatency(h)
	}
	one, two := 1.0, 2.3
	step := func(profile, op string, threads, clients int) record.ProbeStep {
		return record.ProbeStep{Profile: profile, Operation: op, Threads: threads, Clients: clients, Block: 4096,
			Mode: "direct", Sync: "fdatasync", Seconds: 10, Operations: 10_000,
			Bytes: 40_960_000, Rate: 1000 * float64(max(threads, clients)), BytesRate: 4_096_000, Latency: latency(1000),
			Flushes: 5000, CPUSeconds: 0.5,
			Devices: []record.ProbeDevice{{Name: "loop0", Writes: 2300, WriteKB: 9200, Flushes: 1000, Queue: 0.5, Util: 40,
				FlushesPerSync: &one, WritesPerSync: &two}}}
	}
	commit := step(spec.ProbeJournal, "commit", 1, 4)
	commit.Flush, commit.Model = latency(500), &record.ProbeModel{Latency: 950_000, Rate: 4000, Error: 0.05}
	x := 9e6
	return &record.Probe{
		Head: record.Head{SchemaVersion: record.SchemaVersion, Kind: record.KindProbe, Status: record.Complete,
			Started:  time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC),
			Validity: []measure.Finding{{ID: "other-load", Severity: measure.Warning, Text: "somebody else"}}},
		Specification: record.ProbeSpec{Directory: "/data"},
		Storage: record.ProbeStorage{Filesystem: "xfs", Options: "rw,noatime", Bytes: 100 << 30, Free: 60 << 30, Direct: true,
			OffsetAlign: 512, AlignFrom: "statx", Preallocated: "fallocate",
			Devices: []record.ProbeBlock{{Name: "loop0", Kind: "loop", WriteCache: "write back", Bytes: 100 << 30},
				{Name: "sda", Kind: "disk", Above: []string{"loop0"}, Leaf: true, Rotational: true, Vendor: "ACME", Model: "x"}}},
		Steps: []record.ProbeStep{step(spec.ProbeRandom, "read", 1, 0), step(spec.ProbeRandom, "read", 2, 0), commit},
		Ramps: []record.ProbeRamp{{Operation: "read", Threads: 1, Gain: 0.1, Rate: 1000, Best: 1050},
			{Operation: "write", Gain: 0.1, Rate: 7}},
		Journal: &record.ProbeJournalResult{Flush: latency(500), Ceiling: 4000, Clients: 4, One: 500_000, Many: 1_000_000,
			Majority: &record.ProbeMajority{Members: 3, Needed: 2, One: 700_000, Many: 1_200_000, Decided: "peer 1"}},
		Checkpoint: &record.ProbeCheckpointResult{Checkpoints: 3, Dirty: 64 << 20, Took: 2e9, WriteTook: 5e8, SyncTook: 15e8,
			Inside: latency(5000), Outside: latency(1000), Stalled: 3e8, StallAfter: 1e8, Reached: 33e6, Needed: 1.1e6,
			Asked: 100, Done: 99},
		Sustained: &record.ProbeSustainedResult{Fell: true, At: 10e9, After: 5 << 30, Before: 500e6, Ceiling: 80e6,
			Variation: 0.02, Like: "burst credits"},
		Durability: []record.ProbeDurability{{Grade: "A", Verdict: record.Honest, Text: "100 syncs with new data caused 100 flushes of loop0", Covers: "the filesystem", Blind: "the device"}},
		Verdict:    record.Honest, Class: &record.ProbeClass{Name: "a class", Text: "journal flush p50 of 500 µs: like a class", Provenance: "a test"},
		Objectives: []measure.ObjectiveResult{{Objective: "flush.p99<10ms", Measured: &x, Limit: 1e7, Unit: "ns", Met: true},
			{Objective: "read.rate>9", Unit: "1/s", Unknown: true, Why: "nothing of it was measured"}},
	}
}

func TestProbe(t *testing.T) {
	p := probeForTest()
	for name, write := range map[string]func(*bytes.Buffer) error{
		"probe.md":    func(b *bytes.Buffer) error { return Write(b, p, "md") },
		"probe.csv":   func(b *bytes.Buffer) error { return probeCSV(b, p) },
		"probe.bench": func(b *bytes.Buffer) error { return probeBench(b, p) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), b.String()); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestProbeStack(t *testing.T) {
	s := record.ProbeStorage{Filesystem: "xfs", Devices: []record.ProbeBlock{{Name: "md0"},
		{Name: "sda", Above: []string{"md0"}}, {Name: "sdb", Above: []string{"md0"}}}}
	if got := probeStack(s); got != "xfs on md0 on sda + sdb" {
		t.Error(got)
	}
	if got := probeStack(record.ProbeStorage{}); got != "unknown filesystem" {
		t.Error(got)
	}
}

// The answer of a probe begins with its figure if it cannot be known whether flushes are real.
func TestProbeAnswerWithoutProof(t *testing.T) {
	p := probeForTest()
	p.Verdict = record.NotProvable
	const first, then = "j:true takes 500 µs, 4,000 commits/s; ", "whether flushes reach the disk is not provable here"
	if got := probeAnswer(p); !strings.HasPrefix(got, first+then) {
		t.Errorf("%q", got)
	}
}
