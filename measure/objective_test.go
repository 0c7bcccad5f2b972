package measure

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestParseObjectives(t *testing.T) {
	got, err := ParseObjectives("p99<20ms, errors<0.1%,rate>=1k,read.p99.9 <= 5ms,achieved>=99%,read-modify-write.service.max<1s,service.p50<1ms,")
	if err != nil {
		t.Fatal(err)
	}
	want := []Objective{
		{Text: "p99<20ms", Kind: "response", Metric: "p99", Op: "<", Limit: 20e6, Unit: UnitTime},
		{Text: "errors<0.1%", Kind: "response", Metric: "errors", Op: "<", Limit: 0.001, Unit: UnitShare},
		{Text: "rate>=1k", Kind: "response", Metric: "rate", Op: ">=", Limit: 1000, Unit: UnitRate},
		{Text: "read.p99.9 <= 5ms", Class: "read", Kind: "response", Metric: "p99.9", Op: "<=", Limit: 5e6, Unit: UnitTime},
		{Text: "achieved>=99%", Kind: "response", Metric: "achieved", Op: ">=", Limit: 0.99, Unit: UnitShare},
		{Text: "read-modify-write.service.max<1s", Class: "read-modify-write", Kind: "service", Metric: "max", Op: "<", Limit: 1e9, Unit: UnitTime},
		{Text: "service.p50<1ms", Kind: "service", Metric: "p50", Op: "<", Limit: 1e6, Unit: UnitTime},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Objective{})); diff != "" {
		t.Errorf("objectives (-want +got):\n%s", diff)
	}
	if none, err := ParseObjectives("  "); err != nil || none != nil {
		t.Errorf("no objectives: %v, %v", none, err)
	}
}

func TestObjectiveErrorsNameTheUnknownPart(t *testing.T) {
	for text, want := range map[string]string{
		"p99":                   "not of the form",
		"p99<20":                `"20" is not a time with a unit`,
		"p99<-1ms":              "not a time",
		"p99=5ms":               "never equal to a limit",
		"p100<5ms":              "not a percentile",
		"erors<1%":              `unknown metric "erors", did you mean errors?`,
		"errors<5":              "did you mean 5%?",
		"errors<x":              "not a share",
		"rate>fast":             "not a rate",
		"read.achieved>1%":      "for all operations together only",
		"read.service.errors<1": "is not a time",
		"errors<NaN":            "not a share",
		"<5":                    "not of the form",
	} {
		if _, err := ParseObjectives(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
}

func FuzzParseObjectives(f *testing.F) {
	for _, s := range []string{"p99<20ms,errors<0.1%", "a.b.service.p99.99>=1h", "rate>1e308M", "p0.5<1ns", "...<1", "p99<=<1", "errors<1e-300%"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		list, err := ParseObjectives(s)
		if err != nil {
			return
		}
		sum := NewSummary(testDims(true), "measure")
		for _, o := range list {
			if math.IsNaN(o.Limit) || o.Limit < 0 || math.IsInf(o.Limit, 0) {
				t.Errorf("%q has the limit %v", s, o.Limit)
			}
			if r := o.Evaluate(sum); r.Met && r.Unknown {
				t.Errorf("%q is met and unknown", s)
			}
			if again, err := ParseObjectives(o.Text); err != nil || len(again) != 1 || again[0].Limit != o.Limit {
				t.Errorf("%q is read as %q, which is read as %v, %v", s, o.Text, again, err)
			}
		}
	})
}

func evaluated(t *testing.T, s *Summary, text string) ObjectiveResult {
	t.Helper()
	list, err := ParseObjectives(text)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	return list[0].Evaluate(s)
}

func TestEvaluate(t *testing.T) {
	s := phase(t, 10, func(i int, iv *Interval) {
		succeed(iv, 9_990, int64(time.Millisecond))
		fail(iv, 1, 10)
		iv.Dropped = 0
	})
	for text, want := range map[string]struct {
		met, unknown, noAnswer bool
		measured               float64
	}{
		"p99<2ms":             {met: true, measured: 1001000},
		"p99<1ms":             {measured: 1001000},
		"service.p50<=1ms":    {met: true, measured: 1e6},
		"mean<1.1ms":          {noAnswer: true},
		"read.max>1s":         {noAnswer: true},
		"errors<=0.1%":        {met: true, measured: 0.001},
		"errors<0.1%":         {measured: 0.001},
		"not-found>0.05%":     {met: true, measured: 0.001},
		"rate>=9990":          {met: true, measured: 9990},
		"read.rate>=10000":    {measured: 9990},
		"achieved>=99%":       {met: true, measured: 0.999},
		"dropped<1%":          {met: true, measured: 0},
		"update.p50<1ms":      {unknown: true},
		"p99.9999<1s":         {noAnswer: true},
		"p99.9<2ms":           {met: true, measured: 1001000}, // as many failed as lie above it
		"update.errors<1%":    {unknown: true},
		"nothing.p50<1s":      {unknown: true},
		"update.rate>=0":      {met: true, measured: 0},
		"service.p99.99<10ms": {noAnswer: true},
		"p99.99>1ns":          {noAnswer: true}, // in both directions
	} {
		r := evaluated(t, s, text)
		if r.Met != want.met || r.Unknown != want.unknown || r.NoAnswer != want.noAnswer ||
			(r.Unknown || r.NoAnswer) != (r.Why != "") {
			t.Errorf("%s: %+v", text, r)
		} else if !want.unknown && !want.noAnswer && math.Abs(*r.Measured-want.measured) > 0.001*want.measured {
			t.Errorf("%s: measured %v, want %v", text, *r.Measured, want.measured)
		}
	}
	if r := evaluated(t, NewSummary(testDims(false), "measure"), "achieved>=99%"); !r.Unknown {
		t.Errorf("achieved without a schedule: %+v", r)
	}
	s = phase(t, 10, nil)
	if r := evaluated(t, s, "mean<1.1ms"); !r.Met || *r.Measured != 1001000 {
		t.Errorf("the mean of operations that all succeeded: %+v", r)
	}
}

// With 0.5 % of the operations slow and 0.6 % without an answer, the p99 of the answered operations is fast and the p99
// of the operations that were due is slow: they make 1.1 % together.
func TestLostOperationsMoveAPercentile(t *testing.T) {
	s := phase(t, 10, func(_ int, iv *Interval) {
		succeed(iv, 9_890, 1e6)
		c := &iv.Classes[0]
		c.Counts[0] += 50
		c.Service.RecordN(50e6, 50)
		c.Response.RecordN(50e6, 50)
		fail(iv, 2, 30)
		iv.Dropped = 30
	})
	if h := s.answered(); h.Quantile(0.99) > 2e6 {
		t.Fatalf("p99 of the answered operations: %d ns", h.Quantile(0.99))
	}
	for _, text := range []string{"p99<20ms", "service.p99<20ms"} {
		if r := evaluated(t, s, text); r.Met || r.Unknown || r.NoAnswer || math.Abs(*r.Measured-50e6) > 1e5 {
			t.Errorf("%s: %+v", text, r)
		}
	}
}

// The class of dropped and unsent operations is unknown: an objective of a class is decided only if it does not depend
// on it.
func TestObjectivesOfAClassWithUnsentOperations(t *testing.T) {
	with := func(slow, failed, unsent int64) *Summary {
		s := phase(t, 10, func(_ int, iv *Interval) {
			succeed(iv, 10_000-slow-failed, 1e6)
			c := &iv.Classes[0]
			c.Counts[0] += slow
			c.Response.RecordN(50e6, slow)
			fail(iv, 2, failed)
		})
		s.Unsent = unsent
		return s
	}
	for _, c := range []struct {
		text                 string
		slow, failed, unsent int64 // slow and failed per 10,000
		want                 ObjectiveResult
	}{
		{"read.p99<20ms", 0, 0, 500, ObjectiveResult{Met: true}},
		{"read.p99<20ms", 60, 0, 500, ObjectiveResult{Unknown: true}}, // 0.6 % are slow, and 0.5 % may be of the class
		{"read.p99<20ms", 0, 0, 1500, ObjectiveResult{Unknown: true}},
		{"read.p99<20ms", 120, 0, 1500, ObjectiveResult{}}, // slow enough without them
		{"read.p99<20ms", 0, 120, 10, ObjectiveResult{NoAnswer: true}},
		{"read.p99>20ms", 120, 0, 100, ObjectiveResult{Met: true}},
		{"read.p99>20ms", 120, 0, 1500, ObjectiveResult{Unknown: true}},
		{"read.p99>20ms", 0, 0, 1500, ObjectiveResult{}},
		{"read.mean<20ms", 0, 0, 1, ObjectiveResult{Unknown: true}},
		{"p99<20ms", 0, 0, 1500, ObjectiveResult{NoAnswer: true}},
	} {
		r := evaluated(t, with(c.slow, c.failed, c.unsent), c.text)
		if r.Met != c.want.Met || r.Unknown != c.want.Unknown || r.NoAnswer != c.want.NoAnswer {
			t.Errorf("%s with %d slow, %d failed, %d unsent: %+v", c.text, c.slow, c.failed, c.unsent, r)
		}
	}
}
