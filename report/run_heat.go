package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/report/chart"
	"github.com/plimsoll-bench/plimsoll/report/course"
)

// heatColumns is the largest number of columns of a heatmap.
const heatColumns = 120

// heat draws how often each time was seen when: what lines hide, two kinds of answers or a stall, shows in it.
func (t *timeline) heat() *Figure {
	h := &chart.Heat{
		Frame: chart.Frame{ID: "heat", Title: "Latency heatmap"}, What: "operations",
		X: chart.Axis{Label: "time since the start of the run", Unit: chart.Seconds, Low: t.bins[0].Start.Seconds(),
			High: t.bins[len(t.bins)-1].End.Seconds()},
		Y: chart.Axis{Label: "response time (logarithmic); darker: more operations", Unit: chart.Nanoseconds, Log: true},
	}
	if !t.s.Run.Scheduled {
		h.Y.Label = "service time (logarithmic); darker: more operations"
	}
	step := (len(t.bins) + heatColumns - 1) / heatColumns
	total := make([]int64, 0)
	n := int64(0)
	for from := 0; from < len(t.bins); from += step {
		to := min(from+step, len(t.bins))
		for band, count := range addBands(t.bins[from:to]) {
			if band == len(total) {
				total = append(total, 0)
			}
			if total[band] += count; count > 0 {
				low, high := course.Band(band)
				h.Cells = append(h.Cells, chart.Cell{Left: t.bins[from].Start.Seconds(), Right: t.bins[to-1].End.Seconds(),
					Low: low, High: high, Count: count})
				n += count
			}
		}
	}
	if n == 0 {
		return nil
	}
	h.X.Label += "; n = " + figure.Count(n)
	most, at := int64(0), 0
	for band, count := range total {
		if count > most {
			most, at = count, band
		}
	}
	low, high := course.Band(at)
	h.Description = fmt.Sprintf("How many operations took how long, over time. Most took between %s and %s.", duration(low), duration(high))
	for _, m := range t.track.Marks {
		h.Marks = append(h.Marks, chart.Mark{X: m.At, Text: m.Text, Kind: "event"})
	}
	return newFigure(h, "", heatTable(total, n))
}

func addBands(bins []course.Bin) []int64 {
	var sum []int64
	for i := range bins {
		for band, n := range bins[i].Bands {
			if band == len(sum) {
				sum = append(sum, 0)
			}
			sum[band] += n
		}
	}
	return sum
}

func heatTable(total []int64, n int64) *Table {
	t := &Table{Left: -1, Header: []string{"from", "to", "operations", "share"}}
	for band, count := range total {
		if count == 0 {
			continue
		}
		low, high := course.Band(band)
		t.Rows = append(t.Rows, []string{duration(low), duration(high), figure.Count(count),
			figure.Percent(float64(count) / float64(n))})
	}
	t.Notes = []string{"Each line is a row of the heatmap over all its time; the columns are the bins of the charts above."}
	return t
}

// rangeOf returns the range of the values that are not NaN, NaN if there are none.
func rangeOf(list []float64) (low, high float64) {
	list = slices.DeleteFunc(slices.Clone(list), math.IsNaN)
	if len(list) == 0 {
		return math.NaN(), math.NaN()
	}
	return slices.Min(list), slices.Max(list)
}
