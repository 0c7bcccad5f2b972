package judge_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
	"github.com/plimsoll-bench/plimsoll/study/judge"
)

// capacityAt writes a capacity whose first line is at a rate with an interval of a share around it.
func capacityAt(t *testing.T, dir string, rate, around float64, change func(*record.Capacity)) string {
	t.Helper()
	o := recordtest.Capacity{Events: []string{"kill:secondary"}}
	c := o.Record()
	for i := range c.Lines {
		l := &c.Lines[i]
		low, high := rate/(1+around), rate*(1+around)
		l.Rate, l.Low, l.High = rate, &low, &high
	}
	if change != nil {
		change(c)
	}
	w, err := record.Create[*record.Capacity](dir, *c.Specification)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Write(c); err != nil {
		t.Fatal(err)
	}
	return dir
}

func compareLines(t *testing.T, rate, around float64, change func(*record.Capacity)) *record.ComparisonReport {
	t.Helper()
	dir := t.TempDir()
	var sources []judge.Source
	for _, at := range []string{capacityAt(t, filepath.Join(dir, "a"), 3000, around, nil),
		capacityAt(t, filepath.Join(dir, "b"), rate, around, change)} {
		s, err := judge.Open(at)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, s)
	}
	r, err := judge.Compare(judge.Sides(sources, nil), judge.CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Two lines are compared by their intervals, and one search a side is no verdict.
func TestLinesAreComparedByTheirIntervals(t *testing.T) {
	for _, x := range []struct {
		rate, around float64
		verdict      record.Verdict
		note         string
	}{
		{2760, 0.02, record.Inconclusive, "the %s fell by 8.00 %%"},
		{3300, 0.02, record.Inconclusive, "the %s rose by 10.0 %%"},
		{2900, 0.05, record.Inconclusive, "the change is within the intervals"},
		{3010, 0.01, record.Inconclusive, "the change is within the margin"},
	} {
		r := compareLines(t, x.rate, x.around, nil)
		if len(r.Comparisons) != 2 {
			t.Fatalf("%d comparisons: %+v", len(r.Comparisons), r)
		}
		for i, metric := range []string{"line", "kill:secondary.line"} {
			c := r.Comparisons[i]
			note := x.note
			if strings.Contains(note, "%s") {
				note = fmt.Sprintf(note, judge.LineWords(metric))
			}
			if c.Metric != metric || c.Verdict != x.verdict || c.Note != note || *c.Low > x.rate/3000 ||
				*c.High < x.rate/3000 {
				t.Errorf("%v against 3000: %s is %s (%s), %v to %v", x.rate, c.Metric, c.Verdict, c.Note, *c.Low, *c.High)
			}
		}
	}
	r := compareLines(t, 2000, 0.02, func(c *record.Capacity) { c.Objectives = []string{"p99<50ms"} })
	if c := r.Comparisons[0]; c.Verdict != record.Inconclusive || !strings.Contains(fmt.Sprint(r.Validity), "not-comparable") {
		t.Errorf("lines of different objectives: %+v, %v", c, r.Validity)
	}
	r = compareLines(t, 2000, 0.02, func(c *record.Capacity) {
		c.Lines[0].Status, c.Lines[0].High = record.LineAtLeast, nil
	})
	if c := r.Comparisons[0]; c.Verdict != record.Inconclusive || !strings.Contains(c.Note, "at least 2,000") || c.Ratio != nil {
		t.Errorf("a line of unknown height: %+v", c)
	}
	for status, want := range map[record.LineStatus]string{
		record.LineUndecided: "the load line was not confirmed in %s", record.LineNone: "the load line holds at no rate in %s"} {
		r = compareLines(t, 2000, 0.02, func(c *record.Capacity) {
			for i := range c.Lines {
				c.Lines[i].Status = status
			}
		})
		c := r.Comparisons[0]
		if c.Note != fmt.Sprintf(want, r.Sides[1].Name) || measure.Worst(r.Validity) == measure.Invalid {
			t.Errorf("a line that is %s: %s, %v", status, c.Note, r.Validity)
		}
	}
}

// A history of capacities has their lines, and none of their steps.
func TestHistoryOfLines(t *testing.T) {
	dir := t.TempDir()
	for i := range 16 {
		rate := 3000 + float64(10*(i%3))
		if i >= 8 {
			rate *= 0.9
		}
		capacityAt(t, filepath.Join(dir, fmt.Sprintf("n%02d", i)), rate, 0.03, func(c *record.Capacity) {
			c.Started = c.Started.Add(time.Duration(i) * 24 * time.Hour)
		})
	}
	sources, skipped, err := judge.OpenAll(dir)
	if err != nil || len(skipped) > 0 || len(sources) != 16 {
		t.Fatalf("%d sources, %v, %v", len(sources), skipped, err)
	}
	h, err := judge.History(judge.HistorySides(sources, nil), judge.HistoryOptions{})
	if err != nil || len(h.Groups) != 1 || len(h.Groups[0].Series) != 2 {
		t.Fatalf("%+v, %v", h, err)
	}
	s := h.Groups[0].Series[0]
	if s.Metric != "line" || s.N != 16 || len(s.Changes) != 1 || s.Changes[0].Index != 8 ||
		s.Changes[0].Verdict != record.Worse {
		t.Errorf("%+v", s)
	}
	if g := judge.Gate(h, "n08", 0.03); len(g.Metrics) != 2 || g.Metrics[0].Metric != "line" {
		t.Errorf("%+v", g)
	}
}
