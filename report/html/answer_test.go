package html

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/html/chart"
	"github.com/plimsoll-bench/plimsoll/report/html/recordtest"
	"github.com/plimsoll-bench/plimsoll/spec"
)

func TestOnlyRunsOfDifferentRatesAreJoined(t *testing.T) {
	of := func(change func(*record.Run)) *record.Run {
		r := &record.Run{Scheduled: true}
		r.Specification.Load.Rate = 100
		change(r)
		return r
	}
	base := of(func(*record.Run) {})
	rate := of(func(r *record.Run) { r.Specification.Load.Rate, r.Specification.Workload.Seed = 200, 9 })
	if c := curveOf([]*record.Run{base, rate}); !c.joined || c.time != "response time" || c.what != "record" {
		t.Errorf("another rate: %+v", c)
	}
	for name, other := range map[string]*record.Run{
		"workload": of(func(r *record.Run) { r.Specification.Workload.Name = "b" }),
		"server":   of(func(r *record.Run) { r.Target.Version = "9" }),
		"closed":   of(func(r *record.Run) { r.Specification.Load.Rate, r.Scheduled = 0, false }),
	} {
		if c := curveOf([]*record.Run{base, other}); c.joined {
			t.Errorf("another %s: joined", name)
		}
	}
	points := []curvePoint{{"a", math.NaN(), 10, 1e6, 2e6}, {"b", math.NaN(), 20, 1e6, 3e6}}
	f := curveFigure(points, curve{id: "x", what: "record", time: "service time"})
	joined := curveFigure(points, curve{id: "x", what: "record", time: "service time", joined: true})
	if strings.Count(string(f.SVG), "<path") >= strings.Count(string(joined.SVG), "<path") {
		t.Error("a line joins them")
	}
	if !strings.Contains(string(f.SVG), "n = 2 records") || f.Numbers.Rows[0][1] != "-" {
		t.Errorf("two closed loops: %v %s", f.Numbers.Rows, f.SVG)
	}
}

func TestEvenScalingIsACurveOnALogarithmicAxis(t *testing.T) {
	x, y := evenly([]float64{1, 64}, 100, 1e9)
	if len(x) < 10 || x[0] != 1 || y[0] != 100 || y[len(y)-1] < 6399 || y[len(y)-1] > 6401 {
		t.Errorf("%v %v", x, y)
	}
}

func TestWordsFitWhatIsShown(t *testing.T) {
	s := recordtest.Study{Workers: []int{8, 16}, Blocks: 2}.Make()
	s.Base.Load.Rate = 0
	for i := range s.Comparisons {
		c := &s.Comparisons[i]
		c.Verdict, c.ValueLow, c.ValueHigh, c.BaseLow, c.BaseHigh = record.Inconclusive, nil, nil, nil, nil
	}
	for _, p := range report.Of(s).Findings {
		if strings.Contains(p.Text, "other") {
			t.Errorf("the text mentions others, but there are none: %s", p.Text)
		}
	}
	for _, f := range levelFigures(s, nil, "x") {
		if strings.Contains(f.Note, "whiskers") || strings.Contains(f.Title, "esponse") {
			t.Errorf("%s: %s", f.Title, f.Note)
		}
	}
}

// What is there to be pasted is whole, or not there: a long value that was cut would do something else.
func TestReproduceIsExact(t *testing.T) {
	long := "size-" + strings.Repeat("x", 3000)
	o := small()
	o.Change = func(s *spec.Run) { s.Labels = map[string]string{"purpose": long} }
	if page := pageOf(t, openAll(t, run(t, o))...); !strings.Contains(page, long) {
		t.Error("a long value was cut")
	}
	o.Change = func(s *spec.Run) { s.Labels = map[string]string{"purpose": strings.Repeat(long, 40)} }
	if page := pageOf(t, openAll(t, run(t, o))...); !strings.Contains(page, "It is not shown because it is long (1") || strings.Contains(page, "--file - &lt;&lt;") {
		t.Error("the page does not say that the specification is too long")
	}
}

func TestStudyDisclosesWhatTrialsFound(t *testing.T) {
	dir := study(t, recordtest.Study{Workers: []int{8, 16}, Blocks: 2})
	s, err := record.OpenStudy(dir)
	if err != nil {
		t.Fatal(err)
	}
	o := small()
	if _, err := o.Write(filepath.Join(dir, s.Trials[0].Record)); err != nil {
		t.Fatal(err)
	}
	page := pageOf(t, openAll(t, dir)...)
	for _, want := range []string{"Target, as trial 1 found it", "replica set of 3", "durable (w: 1, j: true)", "<td>storage.wiredTiger.cacheSizeGB</td>",
		s.Trials[0].Record + "/" + record.SumsFile} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
}

func TestGapsOfSamplesAreTold(t *testing.T) {
	c := &chart.XY{Series: []chart.Series{{Y: []float64{1, math.NaN(), 3}}, {Y: []float64{math.NaN(), math.NaN(), 3}}}}
	if got := sampledNote(c); !strings.HasPrefix(got, "2 of 3 bins have a sample") {
		t.Error(got)
	}
	c.Series[0].Y[1] = 2
	if got := sampledNote(c); got != "" {
		t.Error(got)
	}
}
