package report

import (
	"math"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/chart"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
)

func svg(f *Figure) string { return chart.Both(f.Chart) }

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
	if strings.Count(svg(f), "<path") >= strings.Count(svg(joined), "<path") {
		t.Error("a line joins them")
	}
	if !strings.Contains(svg(f), "n = 2 records") || strings.Contains(svg(f), "/s offered") {
		t.Errorf("two closed loops: %s", svg(f))
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
	for _, p := range Of(s).Findings {
		if strings.Contains(p.Text, "other") {
			t.Errorf("the text mentions others, but there are none: %s", p.Text)
		}
	}
	for _, f := range levelFigures(newStudyView(s), nil, "x") {
		if strings.Contains(f.Note, "whiskers") || strings.Contains(f.Chart.About().Title, "esponse") {
			t.Errorf("%s: %s", f.Chart.About().Title, f.Note)
		}
	}
}

func TestGapsOfSamplesAreTold(t *testing.T) {
	c := &chart.XY{Series: []chart.Series{{Y: []float64{1, math.NaN(), 3}}, {Y: []float64{math.NaN(), math.NaN(), 3}}}}
	if got := sampledNote(c, "bin"); !strings.HasPrefix(got, "2 of 3 bins have a sample") {
		t.Error(got)
	}
	c.Series[0].Y[1] = 2
	if got := sampledNote(c, "bin"); got != "" {
		t.Error(got)
	}
}

func TestTextCannotEndItsDocument(t *testing.T) {
	code := reproduce("plimsoll run --file -", exactSpec(map[string]string{"a": "END\nrm -rf x\nENDD"}).text)
	if !strings.HasSuffix(code.Text, "\nENDDD") || !strings.Contains(code.Text, "<<'ENDDD'") {
		t.Errorf("the text can end the document: %s", code.Text)
	}
}
