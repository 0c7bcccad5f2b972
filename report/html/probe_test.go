package html

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// The page of a probe has its verdict, all charts and tables, and names in it stay text.
func TestProbePage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "probe")
	w, err := record.CreateProbe(dir, &record.Probe{Specification: record.ProbeSpec{Directory: "/data/<script>alert(1)</script>"}, Started: time.Unix(1e9, 0), Command: []string{"plimsoll", "disk"}})
	if err != nil {
		t.Fatal(err)
	}
	h := measure.NewHistogram()
	for i := range int64(2000) {
		h.Record(1e6 + i*500)
	}
	text, err := h.Encode()
	if err != nil {
		t.Fatal(err)
	}
	latency := record.NewLatency(h)
	add := func(s record.ProbeStep) {
		s.Latency, s.Flush, s.Rate, s.Seconds, s.Operations = latency, latency, 1000*float64(s.Threads), 10, 10000
		s.Histograms = map[string]string{"flush": text}
		w.Probe.Steps = append(w.Probe.Steps, s)
	}
	for _, n := range []int{1, 2, 4} {
		add(record.ProbeStep{Profile: record.ProbeRandom, Operation: "read", Threads: n})
		add(record.ProbeStep{Profile: record.ProbeJournal, Operation: "commit", Threads: 1, Clients: n, Model: &record.ProbeModel{Latency: 2e6}})
	}
	add(record.ProbeStep{Profile: record.ProbeCheckpoint, Threads: 1})
	add(record.ProbeStep{Profile: record.ProbeSustained, Threads: 1})
	for i := range int64(10) {
		for _, step := range []int{6, 7} {
			if err := w.Second(record.ProbeSecond{Step: step, At: i * 1e9, Length: 1e9, Bytes: 1e6 * (10 - i), Operations: 100, P99: 1e6 + i, Checkpoint: i == 3}); err != nil {
				t.Fatal(err)
			}
		}
	}
	probeResults(w.Probe, latency)
	if err := w.Finish(record.Complete, "", time.Unix(2e9, 0)); err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := Write(&page, []*Source{s}, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"lying", "Operations per second over threads", "Latency over threads", "Commit latency over clients", "Share of flushes that take longer",
		"Bytes per second over time", "Commit latency over time", "fell for good", "flush accounting", "w:majority", "plimsoll disk"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("%q is not on the page", want)
		}
	}
	if strings.Contains(page.String(), "<script>alert") {
		t.Error("a name became a script")
	}
	if err := Write(&page, []*Source{s, s}, Options{}); err != nil {
		t.Errorf("two probes on a page: %v", err)
	}
}

// probeResults fills in what the steps of a probe would say together.
func probeResults(p *record.Probe, latency *record.Latency) {
	p.Journal = &record.ProbeJournalResult{Flush: latency, Ceiling: 5000, Clients: 4, One: 1e6, Many: 2e6, Majority: &record.ProbeMajority{Members: 3, Needed: 2, One: 1e6, Many: 3e6, Decided: "peer 1"}}
	p.Checkpoint = &record.ProbeCheckpointResult{Checkpoints: 1, Inside: latency, Outside: latency}
	p.Sustained = &record.ProbeSustainedResult{Fell: true, At: 5e9, Before: 9e6, Ceiling: 3e6, Like: "write cache"}
	p.Ramps = []record.ProbeRamp{{Operation: "read", Threads: 2, Rate: 2000}}
	p.Durability = []record.ProbeDurability{{Grade: "A", Verdict: record.Lying, Text: "no flush", Covers: "all", Blind: "nothing"}}
	p.Verdict = record.Lying
}
