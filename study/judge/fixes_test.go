package judge

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Two pairs claim nothing, however little they differ; three may. Trials without blocks never do.
func TestVerdictsNeedThreePairs(t *testing.T) {
	for blocks, want := range map[int]record.Verdict{2: record.Inconclusive, 3: record.Better} {
		s := made(30, blocks, 1e-5, 1, 1.5)
		Study(s)
		c := verdict(s, "level=1", "throughput")
		if c.Verdict != want || c.Pairs != blocks || (blocks == 2) != strings.Contains(c.Note, "needs at least 3 blocks with trials of both") {
			t.Errorf("%d blocks: %+v", blocks, c)
		}
		for i := range s.Trials {
			s.Trials[i].Block = 0
		}
		Study(s)
		c = verdict(s, "level=1", "throughput")
		if c.Verdict != record.Inconclusive || c.Pairs != 0 || !strings.Contains(c.Note, "needs at least 3 blocks") {
			t.Errorf("%d trials a side: %+v", blocks, c)
		}
	}
}

// In batched order comparisons within a batch are paired, as the plan promises, and those between batches are not, even
// where their blocks have the same numbers.
func TestBatchesArePairedWithin(t *testing.T) {
	s := made(31, 6, 0.002, 1, 1.1, 1, 1.1)
	s.Specification.Order, s.Specification.Batch = spec.OrderBatched, []string{"engine"}
	for i := range s.Configurations {
		s.Configurations[i].Levels["engine"] = string("aabb"[i])
	}
	for i := range s.Trials { // the second batch ran a day later
		if later := s.Trials[i].Started.Add(24 * time.Hour); i%4 > 1 {
			s.Trials[i].Started = &later
		}
	}
	Study(s)
	within, between := verdict(s, "level=1", "throughput"), verdict(s, "level=2", "throughput")
	if within.Pairs != 6 || strings.Contains(within.Note, "batch") {
		t.Errorf("within a batch: %+v", within)
	}
	if between.Pairs != 0 || !strings.Contains(between.Note, "another batch") || between.Verdict != record.Inconclusive ||
		between.Low != nil || between.P != nil {
		t.Errorf("between batches: %+v", between)
	}
	dir := t.TempDir()
	keepStudy(t, dir, s)
	var sources []Source
	for _, id := range []string{"baseline", "level=1", "level=2"} {
		source, err := Open(dir + "#" + id)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, source)
	}
	r, err := Compare(Sides(sources, []string{"throughput"}), CompareOptions{Metrics: []string{"throughput"}})
	if err != nil {
		t.Fatal(err)
	}
	var pairs []int
	for _, c := range r.Comparisons {
		pairs = append(pairs, c.Pairs)
	}
	if !slices.Equal(pairs, []int{6, 0}) {
		t.Errorf("pairs %v, want 6 within the batch and none between", pairs)
	}
}

// An objective that trials cannot state is neither held nor missed, unless the greatest time of all proves it.
func TestObjectivesThatNobodyCanState(t *testing.T) {
	s := made(32, 3, 0.001, 1)
	s.Specification.Objectives = []string{"read.p99.99<100ms"}
	Study(s)
	o := &s.Objectives[0]
	if o.Holds || o.Missed() || o.Unknown != 3 || o.Met != 0 || o.N != 3 || !hasFinding(s.Validity, "unknown-objective", measure.Warning) {
		t.Errorf("nothing is known: %+v, %+v", o, s.Validity)
	}
	for i := range s.Trials {
		s.Trials[i].Values["read.max"] = 90e6
	}
	Study(s)
	if o = &s.Objectives[0]; !o.Holds || o.Unknown != 0 || hasFinding(s.Validity, "unknown-objective", measure.Warning) {
		t.Errorf("the maximum proves it: %+v", o)
	}
	s.Trials[1].Values["read.max"] = 200e6
	Study(s)
	if o = &s.Objectives[0]; o.Holds || o.Missed() || o.Unknown != 1 || o.Met != 2 {
		t.Errorf("a maximum above the limit proves nothing: %+v", o)
	}
	s.Trials[0].Status = record.TrialFailed
	Study(s)
	if o = &s.Objectives[0]; !o.Missed() {
		t.Errorf("a trial that failed did not meet it: %+v", o)
	}
}

// What proves an objective is kept where the percentile cannot be stated, and only there.
func TestMaximumIsKeptWhereItMayProve(t *testing.T) {
	r, p99 := measured(), int64(5e6)
	class := r.Phase("measure").Class("read")
	asked := spec.Study{Objectives: []string{"read.p99<1s", "read.errors<1%"}}
	class.Response.Unclassed, class.Response.P99 = 0, nil
	if names := Metrics(asked, r); !slices.Contains(names, "read.max") {
		t.Errorf("%v", names)
	}
	class.Response.Unclassed = 1 // the one that was never sent waited longer than any
	if names := Metrics(asked, r); slices.Contains(names, "read.max") {
		t.Errorf("%v", names)
	}
	class.Response.Unclassed, class.Response.P99 = 0, &p99
	if names := Metrics(asked, r); slices.Contains(names, "read.max") || slices.Contains(names, "read.errors.max") {
		t.Errorf("%v", names)
	}
}

// A study that only searches has no objectives that a configuration could miss, and tells of a search without a result.
func TestSearchesAlone(t *testing.T) {
	s := made(33, 0, 0, 1)
	s.Specification.Objectives = []string{"p99<1s"}
	s.Trials = []record.Trial{{Number: 1, Attempt: 1, Configuration: "baseline", Kind: record.TrialSearch,
		Status: record.TrialDone}}
	for _, c := range []struct {
		capacity record.CapacityResult
		finding  string
	}{
		{record.CapacityResult{Rate: 900, Confirmed: true}, ""},
		{record.CapacityResult{Rate: 900, Reason: "one of three did not hold."}, "not-confirmed"},
		{record.CapacityResult{Reason: "not even 5/s held"}, "no-capacity"},
	} {
		s.Capacity = &c.capacity
		Study(s)
		if len(s.Objectives) != 0 {
			t.Errorf("%+v: %+v", c.capacity, s.Objectives)
		}
		if len(s.Validity) > 0 != (c.finding != "") || c.finding != "" && !hasFinding(s.Validity, c.finding,
			measure.Warning) {
			t.Errorf("%+v: %+v", c.capacity, s.Validity)
		}
	}
}

// Where the values beside a change differ the other way, a note says why.
func TestValuesThatContradictTheChange(t *testing.T) {
	// Within each block it is slower by 1 %, but the medians are of different blocks.
	s := made(34, 3, 0, 1, 1)
	for i, x := range []float64{100, 99, 200, 220, 300, 240} {
		s.Trials[i].Values["read.mean"] = x
	}
	Study(s)
	c := verdict(s, "level=1", "read.mean")
	if *c.Ratio >= 1 || *c.Value <= *c.Base || !strings.Contains(c.Note, "opposite direction") {
		t.Errorf("ratio %v, %v against %v: %s", *c.Ratio, *c.Value, *c.Base, c.Note)
	}
	if c = verdict(s, "level=1", "throughput"); strings.Contains(c.Note, "opposite direction") || math.Abs(*c.Ratio-1) > 1e-9 {
		t.Errorf("%+v", c)
	}
}
