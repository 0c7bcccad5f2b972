package capacity

import (
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/workload/capture"
)

func unopened(string) (io.ReadCloser, error) { return nil, errors.New("no file is opened") }

func nearly(x, want float64) bool { return math.Abs(x-want) <= 0.02*math.Max(1, want) }

// The mix of a workload is what servers count: a read-modify-write is a find and an update.
func TestMixOf(t *testing.T) {
	for name, want := range map[string]Mix{
		"a": {"find": 0.5, "update": 0.5}, "b": {"find": 0.95, "update": 0.05}, "c": {"find": 1}, "d": {"find": 0.95, "insert": 0.05},
		"f": {"find": 1, "update": 0.5},
	} {
		got, err := MixOf(spec.Run{Workload: spec.Workload{Name: name, Records: 1000, Seed: 1}}, unopened)
		if err != nil || len(got) != len(want) {
			t.Fatalf("%s: %v, %v", name, got, err)
		}
		for kind := range want {
			if !nearly(got[kind], want[kind]) {
				t.Errorf("workload %s has %v of %s, want %v", name, got[kind], kind, want[kind])
			}
		}
	}
	for _, name := range []string{"person", "location", "catalog"} {
		mix, err := MixOf(spec.Run{Workload: spec.Workload{Name: name, Records: 1000, Seed: 1}}, unopened)
		if err != nil || mix.sum() < 0.9 {
			t.Errorf("%s: %v, %v", name, mix, err)
		}
	}
	if _, err := MixOf(spec.Run{Load: spec.Load{Replay: "x.recording"}}, unopened); err == nil {
		t.Error("a recording that cannot be opened has a mix")
	}
}

func lineOf(rate, low, high float64) *record.Capacity {
	c := &record.Capacity{Safe: "kill:secondary", Lines: []record.LoadLine{
		{Name: spec.AllMembersUp, Status: record.LineFound, Rate: 2 * rate},
		{Name: "kill:secondary", Status: record.LineFound, Rate: rate, Low: &low, High: &high}}}
	return c
}

func loadOf(pairs map[string]float64) *record.PresentLoad {
	p := &record.PresentLoad{From: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
	for _, rate := range pairs {
		p.Rate += rate
	}
	for kind, rate := range pairs {
		p.ByOperation = append(p.ByOperation, record.PresentOperation{Name: kind, Rate: rate, Share: rate / p.Rate})
	}
	return p
}

// The same operations are a share of the line whose interval is that of the line.
func TestPlaceTheSameOperations(t *testing.T) {
	p := loadOf(map[string]float64{"find": 700, "update": 700, "aggregate": 2})
	Place(p, lineOf(3100, 2945, 3255), Mix{"find": 0.5, "update": 0.5}, nil)
	if p.Line != "kill:secondary" || p.PerOperation != 1 || !nearly(*p.Share, 1402./3100) || *p.Apart > 0.002 || p.Problem != "" {
		t.Errorf("%+v", p)
	}
	if !nearly(*p.Low, 1400./3255) || !nearly(*p.High, 1400./2945) || *p.Low > *p.Share || *p.High < *p.Share {
		t.Errorf("from %v to %v", *p.Low, *p.High)
	}
	if p.ByOperation[2].Name != "aggregate" || *p.ByOperation[2].Measured != 0 {
		t.Errorf("%+v", p.ByOperation)
	}
}

// Operations of several requests are counted as servers do.
func TestPlaceOperationsOfSeveralRequests(t *testing.T) {
	p := loadOf(map[string]float64{"find": 1000, "update": 500})
	Place(p, lineOf(2000, 1900, 2100), Mix{"find": 1, "update": 0.5}, nil)
	if p.PerOperation != 1.5 || !nearly(*p.Share, 0.5) || *p.Apart > 1e-9 {
		t.Errorf("%v of the line, %v apart", *p.Share, *p.Apart)
	}
}

// Another mix has a share between those of its kinds, and a kind that was not measured has no upper end.
func TestPlaceOtherOperations(t *testing.T) {
	p := loadOf(map[string]float64{"find": 1800, "update": 200})
	Place(p, lineOf(4000, 4000, 4000), Mix{"find": 0.5, "update": 0.5}, nil)
	if !nearly(*p.Share, 0.5) || !nearly(*p.Apart, 0.4) || !nearly(*p.Low, 0.1) || !nearly(*p.High, 0.9) {
		t.Errorf("%v (%v to %v), apart %v", *p.Share, *p.Low, *p.High, *p.Apart)
	}
	p = loadOf(map[string]float64{"find": 800, "aggregate": 200})
	Place(p, lineOf(4000, 4000, 4000), Mix{"find": 1}, nil)
	if p.High != nil || !nearly(*p.Low, 0.2) || !nearly(*p.Apart, 0.2) {
		t.Errorf("%+v", p)
	}
	p = loadOf(map[string]float64{"find": 800})
	Place(p, lineOf(4000, 4000, 4000), nil, errors.New("gone"))
	if p.Share == nil || p.Apart != nil || p.High != nil || !strings.Contains(p.Problem, "gone") {
		t.Errorf("%+v", p)
	}
	p = loadOf(map[string]float64{"find": 800})
	if Place(p, &record.Capacity{}, Mix{"find": 1}, nil); p.Share != nil || p.Problem == "" {
		t.Errorf("%+v", p)
	}
	p = &record.PresentLoad{}
	if Place(p, lineOf(4000, 4000, 4000), Mix{"find": 1}, nil); *p.Share != 0 || p.Apart != nil || p.Problem != "" {
		t.Errorf("%+v", p)
	}
}

func TestGrowth(t *testing.T) {
	for text, months := range map[string]float64{"4%/month": 20.36, "4 % / month": 20.36, "100%/year": 13.82, "0.5%/day": 5.26,
		"1%/week": 18.46, "12.5%/quarter": 20.34} {
		g, err := ParseGrowth(text)
		if err != nil {
			t.Fatal(err)
		}
		p := loadOf(map[string]float64{"find": 450})
		Place(p, lineOf(1000, 900, 1100), Mix{"find": 1}, nil)
		g.Reach(p)
		got := float64(p.ReachedAt.Sub(p.From)) / float64(year/12)
		if math.Abs(got-months) > 0.02 || !p.ReachedEarly.Before(*p.ReachedAt) {
			t.Errorf("%s: reached after %v months (early %v), want %v", text, got, p.ReachedEarly, months)
		}
	}
	for _, text := range []string{"", "4", "4%", "4/month", "4%/fortnight", "x%/month", "-100%/year", "NaN%/month", "Inf%/month"} {
		if _, err := ParseGrowth(text); err == nil {
			t.Errorf("%q is a growth", text)
		}
	}
	p := loadOf(map[string]float64{"find": 1200})
	Place(p, lineOf(1000, 900, 1100), Mix{"find": 1}, nil)
	for text, reached := range map[string]bool{"0%/month": true, "4%/month": true} { // it is above the line now
		g, _ := ParseGrowth(text)
		if g.Reach(p); (p.ReachedAt != nil && p.ReachedAt.Equal(p.From)) != reached {
			t.Errorf("%s: %v", text, p.ReachedAt)
		}
	}
	p = loadOf(map[string]float64{"find": 100})
	Place(p, lineOf(1000, 900, 1100), Mix{"find": 1}, nil)
	for _, text := range []string{"0%/month", "-4%/month", "0.1%/year"} {
		g, _ := ParseGrowth(text)
		if g.Reach(p); p.ReachedAt != nil {
			t.Errorf("%s: reached at %v", text, p.ReachedAt)
		}
	}
}

func TestPresentOf(t *testing.T) {
	p := PresentOf(capture.Present{Period: time.Minute, Kinds: map[string]float64{"find": 750, "update": 250},
		Writes: time.Millisecond, Left: capture.Left{Commands: 12}, Servers: []string{"a", "b"}}, "mongodb://a/")
	if p.Rate != 1000 || p.ByOperation[0].Name != "find" || p.ByOperation[0].Share != 0.75 || p.Reads != nil ||
		*p.Writes != 1e6 || len(p.NotCounted) != 1 || p.Duration != 60e9 {
		t.Errorf("%+v", p)
	}
	if p = PresentOf(capture.Present{}, ""); p.Rate != 0 || len(p.ByOperation) > 0 {
		t.Errorf("%+v", p)
	}
}
