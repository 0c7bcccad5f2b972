package predict

import (
	"math"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/capacity"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/measure/limit"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// The line of a lab with two cores carries 1,000 operations per second; its cores were reduced.
func TestWhatIfLine(t *testing.T) {
	elasticity, low, high := 0.9, 950.0, 1050.0
	confirmed := &limit.Limit{Throughput: limit.Answer{Label: limit.CPU, Strength: limit.Confirmed},
		Elasticity: &elasticity}
	for name, tc := range map[string]struct {
		asked               string
		by                  *limit.Limit
		rate, least, most   float64
		refused, validities string
		open                bool // nothing is known above the line
	}{
		"as measured":                {asked: "cores=2", by: confirmed, rate: 1000, least: 950, most: 1050},
		"a little more":              {asked: "cores=2.5", by: confirmed, rate: 1000 * math.Pow(1.25, 0.9), least: 950, most: 1050 * 1.25},
		"a little less":              {asked: "cores=1.6", by: confirmed, rate: 1000 * math.Pow(0.8, 0.9), least: 950 * 0.8, most: 1050},
		"twice as many":              {asked: "cores=4", by: confirmed, most: 2100, validities: "beyond-measured"},
		"half as many":               {asked: "cores=1", by: confirmed, most: 1050 * math.Pow(0.75, 0.9), validities: "beyond-measured"},
		"what does not limit":        {asked: "cache=1GiB", by: confirmed, refused: "the limit is CPU"},
		"no change was measured":     {asked: "cores=4", by: &limit.Limit{Throughput: confirmed.Throughput}, refused: "--confirm"},
		"no limit is known":          {asked: "cores=4", refused: "--confirm"},
		"no end above":               {asked: "cores=2.5", by: confirmed, open: true, refused: "nothing is known above"},
		"one of two can be answered": {asked: "cores=2.5,members=5", by: confirmed, refused: "members"},
	} {
		l := &record.LoadLine{Name: spec.AllMembersUp, Status: record.LineFound, Rate: 1000, Low: &low,
			LimitedBy: tc.by}
		asked, err := parseWhatIf(tc.asked)
		if err != nil {
			t.Fatal(err)
		}
		if l.High = &high; tc.open {
			l.High = nil
		}
		w := &record.WhatIf{}
		(&Line{Dir: "found"}).answer(w, l, &capacity.Configured{Lab: &spec.Lab{Hosts: spec.Hosts{Cores: 2}}}, asked)
		if tc.refused != "" {
			if w.High != nil || !strings.Contains(strings.Join(w.Refused, "; "), tc.refused) {
				t.Errorf("%s: %v, at most %v", name, w.Refused, w.High)
			}
			continue
		}
		if len(w.Refused) > 0 || w.High == nil || math.Abs(*w.High-tc.most) > 1e-6 {
			t.Errorf("%s: refused %v, at most %v, want %v", name, w.Refused, w.High, tc.most)
			continue
		}
		if known := w.Throughput != nil; known != (tc.rate > 0) {
			t.Errorf("%s: predicted %v", name, w.Throughput)
		} else if known && (math.Abs(*w.Throughput-tc.rate) > 1e-6 || math.Abs(*w.Low-tc.least) > 1e-6) {
			t.Errorf("%s: %v from %v", name, *w.Throughput, *w.Low)
		}
		if found := len(w.Validity) > 0; found != (tc.validities != "") || found && w.Validity[0].ID != tc.validities {
			t.Errorf("%s: %v", name, w.Validity)
		}
	}
}

// An invalid capacity predicts nothing.
func TestWhatIfLineOfAnInvalidCapacity(t *testing.T) {
	c := &record.Capacity{Head: record.Head{Validity: []measure.Finding{{ID: "x", Severity: measure.Invalid}}}}
	if w, err := WhatIfLine(Line{"found", c}, "cores=4", record.Tool{}); err == nil || !strings.Contains(err.Error(), "invalid") {
		t.Errorf("%v, %v", w, err)
	}
}
