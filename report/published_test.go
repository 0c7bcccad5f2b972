package report

import (
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// threadsStudy repeats the third figure of policy-storage: client threads in workload B, against 128.
func threadsStudy(baseline string) *record.Study {
	s := &record.Study{Specification: spec.Study{Name: "threads", Published: "policy-storage/figure-3", Factors: []spec.Factor{
		{Name: "Client threads", Path: "load.workers", Levels: []spec.Level{{Name: "128"}, {Name: "192"}, {Name: "224"}}}}}}
	s.Base.Workload.Name = "ycsb-b"
	for _, level := range []string{"128", "192", "224"} {
		c := record.Configuration{ID: "threads=" + level, Factor: "Client threads", Levels: map[string]string{"Client threads": level}}
		if level == baseline {
			c.ID, c.Factor, c.Baseline = "baseline", "", true
		}
		s.Configurations = append(s.Configurations, c)
	}
	for _, metric := range []string{"throughput", "update.mean"} {
		for _, c := range s.Configurations {
			if !c.Baseline {
				s.Comparisons = append(s.Comparisons, record.Comparison{Configuration: c.ID, Baseline: "baseline", Metric: metric,
					Unit: "1/s", Higher: true, N: 5, NBase: 5,
					Value: num(90), Base: num(100), Ratio: num(0.9), Low: num(0.88), High: num(0.92), Verdict: record.Worse})
			}
		}
	}
	return s
}

func TestPublishedFiguresStandBesideMeasuredOnesAsRatios(t *testing.T) {
	var b strings.Builder
	if err := Write(&b, threadsStudy("128"), "md"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"published: Client threads, figure 3 of MongoDB on VMware vSAN 6.6 All-Flash", "each against its own baseline (128 in the document)",
		"| 192 | ops/s | -10.0 % | \\[-12.0 %, -8.0 %\\] | 5 | +20.2 % | 143,696 ops/s of 119,554 ops/s | figure 3, text",
		"| 224 | update mean | -10.0 % | \\[-12.0 %, -8.0 %\\] | 5 | ", "only drawn", "above +75.4 %", "in words: ops/s rises",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

func TestPublishedFiguresWithAnotherBaseline(t *testing.T) {
	list, err := publishedBeside(threadsStudy("192"))
	if err != nil || len(list) != 1 || list[0].Other != "192" {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, r := range list[0].Rows {
		if r.Comparison != nil {
			t.Errorf("%s at %s is compared with a ratio of something else", r.Metric, r.Level)
		}
	}
	if s := list[0].section(); !strings.Contains(strings.Join(s.Lines, " "), "the study's baseline is 192") {
		t.Errorf("%q", s.Lines)
	}
}

func TestPublishedFiguresThatAreNotThere(t *testing.T) {
	s := threadsStudy("128")
	for ref, want := range map[string]string{"policy-storage/figure-99": "no sweep", "nothing": "no published document", "failover": "nothing about the factors"} {
		s.Specification.Published = ref
		var b strings.Builder
		if err := Write(&b, s, "md"); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("%s: %v, no %q", ref, err, want)
		}
	}
	s.Specification.Published = ""
	if list, err := publishedBeside(s); err != nil || list != nil {
		t.Errorf("%v, %v", list, err)
	}
}
