package judge

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// before is a history of records with one metric each, of which the last is new.
func before(values ...float64) *record.HistoryReport {
	g := record.HistoryGroup{Name: "workload a", Series: []record.HistorySeries{{Metric: "throughput", Unit: "1/s", Higher: true}}}
	for i, x := range values {
		g.Points = append(g.Points, record.HistoryPoint{Record: fmt.Sprint(i), N: 1, Values: map[string]float64{"throughput": x},
			Started: time.Unix(int64(i), 0)})
	}
	return &record.HistoryReport{Groups: []record.HistoryGroup{g}}
}

func TestGate(t *testing.T) {
	for name, c := range map[string]struct {
		values []float64
		change int // index of the last change, 0 for none
		want   record.Verdict
	}{
		"a fifth less":          {values: []float64{1000, 1010, 990, 1005, 995, 800}, want: record.Worse},
		"a fifth more":          {values: []float64{1000, 1010, 990, 1005, 995, 1200}, want: record.Better},
		"within the margin":     {values: []float64{1000, 1010, 990, 1005, 995, 1000, 1006, 994, 1002, 998, 993}, want: record.Equivalent},
		"nearly so, too few":    {values: []float64{1000, 1010, 990, 1005, 995, 985}, want: record.Inconclusive},
		"within the variation":  {values: []float64{1000, 1300, 800, 1100, 900, 850}, want: record.Inconclusive},
		"two before":            {values: []float64{1000, 1010, 500}, want: record.Inconclusive},
		"as after the change":   {values: []float64{1000, 1010, 990, 500, 505, 495, 502, 500}, change: 3, want: record.Equivalent},
		"worse than the change": {values: []float64{1000, 1010, 990, 500, 505, 495, 502, 400}, change: 3, want: record.Worse},
		"nothing before":        {values: []float64{1000}, want: record.Inconclusive},
	} {
		h := before(c.values...)
		if c.change > 0 {
			h.Groups[0].Series[0].Changes = []record.HistoryChange{{Index: c.change}}
		}
		g := Gate(h, fmt.Sprint(len(c.values)-1), 0.03)
		if g.Verdict != c.want {
			t.Errorf("%s: %s, want %s: %+v", name, g.Verdict, c.want, g.Metrics)
		}
		if few := len(c.values) <= minBefore; few != (len(g.Validity) > 0) {
			t.Errorf("%s: findings %v", name, g.Validity)
		}
	}
}

// Errors that were always zero: one that is not is worse, however small.
func TestGateOfErrors(t *testing.T) {
	h := before(0, 0, 0, 0, 0.001)
	h.Groups[0].Series[0].Higher = false
	if g := Gate(h, "4", 0.03); g.Verdict != record.Worse {
		t.Errorf("%s, want worse", g.Verdict)
	}
}

// A percentile without an answer is worse than those that have one, and says nothing beside too few of them.
func TestGateWithoutAnswer(t *testing.T) {
	for n, want := range map[int]record.Verdict{2: record.Inconclusive, 3: record.Worse} {
		h := before(slices.Repeat([]float64{10}, n+1)...)
		h.Groups[0].Series[0].Higher = false
		last := &h.Groups[0].Points[n]
		last.Values, last.NoAnswer = map[string]float64{}, []string{"throughput"}
		g := Gate(h, fmt.Sprint(n), 0.03)
		if g.Verdict != want || len(g.Metrics) != 1 || g.Metrics[0].Value != nil {
			t.Errorf("after %d records: %s, want %s: %+v", n, g.Verdict, want, g.Metrics)
		}
	}
}

// Searches that end at the highest rate that may be offered are evidence: a new line below them is worse, and one that
// is only known to be at least so high is never worse.
func TestGateOfBounds(t *testing.T) {
	for name, c := range map[string]struct {
		values []float64
		bounds []int
		want   record.Verdict
	}{
		"a line below those that hold at least":  {[]float64{5000, 5000, 5000, 5000, 3000}, []int{0, 1, 2, 3}, record.Worse},
		"all hold at least so much":              {[]float64{5000, 5000, 5000, 5000, 5000}, []int{0, 1, 2, 3, 4}, record.Inconclusive},
		"as high as those that hold at least":    {[]float64{5000, 5000, 5000, 5000, 7000}, []int{0, 1, 2, 3}, record.Inconclusive},
		"at least more than before":              {[]float64{3000, 3010, 2990, 3005, 5000}, []int{4}, record.Better},
		"at least less than before":              {[]float64{5000, 5010, 4990, 5005, 3000}, []int{4}, record.Inconclusive},
		"at least so much, after lines and none": {[]float64{5000, 5010, 4990, 9000, 5000}, []int{3, 4}, record.Inconclusive},
	} {
		h := before(c.values...)
		for _, i := range c.bounds {
			h.Groups[0].Points[i].AtLeast = []string{"throughput"}
		}
		g := Gate(h, fmt.Sprint(len(c.values)-1), 0.03)
		if g.Verdict != c.want || !hasFinding(g.Validity, "only-at-least", measure.Note) ||
			hasFinding(g.Validity, "few-records", measure.Warning) {
			t.Errorf("%s: %s, want %s: %+v %v", name, g.Verdict, c.want, g.Metrics, g.Validity)
		}
	}
}

// A metric that the new record lacks is not passed over: the others alone do not make it equivalent.
func TestGateOfAMissingMetric(t *testing.T) {
	values := []float64{1000, 1010, 990, 1005, 995, 1000, 1006, 994, 1002, 998, 993}
	h := before(values...)
	g := &h.Groups[0]
	g.Series = append(g.Series, record.HistorySeries{Metric: "kill:secondary.line", Unit: "1/s", Higher: true})
	for i := range g.Points[:len(values)-1] {
		g.Points[i].Values["kill:secondary.line"] = 800
	}
	got := Gate(h, fmt.Sprint(len(values)-1), 0.03)
	if got.Verdict != record.Inconclusive || len(got.Metrics) != 2 || !hasFinding(got.Validity, "metric-missing", measure.Warning) {
		t.Errorf("%s: %+v %v", got.Verdict, got.Metrics, got.Validity)
	}
}
