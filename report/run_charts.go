package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/chart"
	"github.com/plimsoll-bench/plimsoll/report/course"
)

// percentileTicks are places on the axis of a spectrum, 1/(1−p).
var percentileTicks = []chart.Tick{
	{At: 1, Text: "0 %"}, {At: 2, Text: "50 %"}, {At: 10, Text: "90 %"}, {At: 100, Text: "99 %"}, {At: 1e3, Text: "99.9 %"},
	{At: 1e4, Text: "99.99 %"}, {At: 1e5, Text: "99.999 %"}, {At: 1e6, Text: "99.9999 %"}, {At: 1e7, Text: "7 nines"}, {At: 1e8, Text: "8 nines"},
}

// maxClasses is the largest number of operation classes in a chart.
const maxClasses = 4

// spectrum draws the whole distribution of each class: the axis that shows the tail.
func spectrum(s *runFiles, p *record.PhaseResult) *Figure {
	c := &chart.XY{
		Frame: chart.Frame{ID: "spectrum", Title: "Percentile spectrum"},
		Y:     chart.Axis{Label: "time of an operation (logarithmic)", Unit: chart.Nanoseconds, Log: true}, Height: 320,
	}
	var names []string
	var counts []*measure.Histogram
	var largest []int64
	total, left := int64(0), 0
	for _, sp := range spectraOf(s.Course) {
		if sp.Part || len(names) >= 2*maxClasses {
			left++
			continue
		}
		colour := len(c.Series)
		if s.Run.Scheduled {
			colour /= 2
		}
		class := p.Class(sp.Class)
		for _, line := range []struct {
			kind  string
			n     *measure.Histogram
			of    func(*record.ClassResult) *record.Latency
			style chart.Style
		}{{"response", sp.Response, func(r *record.ClassResult) *record.Latency { return r.Response }, chart.Solid},
			{"service", sp.Service, func(r *record.ClassResult) *record.Latency { return r.Service }, chart.Dashed}} {
			if line.n.Count() == 0 {
				continue
			}
			if !s.Run.Scheduled {
				line.style = chart.Solid
			}
			most := int64(math.MaxInt64)
			if class != nil && line.of(class) != nil {
				most = line.of(class).Max
			}
			x, y := spectrumLine(line.n, most)
			name := sp.Class + " " + line.kind
			c.Series = append(c.Series, chart.Series{Name: name, X: x, Y: y, Style: line.style, Colour: colour})
			names, counts, largest = append(names, name), append(counts, line.n), append(largest, most)
			total = max(total, line.n.Count())
		}
	}
	if len(c.Series) == 0 {
		return nil
	}
	spectrumAxes(c, s.Run, total)
	c.Description = spectrumWords(s.Run, p)
	note := "In the shaded part there are too few values to state a percentile with 95 % confidence."
	if s.Run.Scheduled {
		note = "Solid: response time, what a user feels. Dashed: service time. " + note
	}
	if left > 0 {
		note += fmt.Sprintf(" %s of steps or rarer classes are in the table only.", figure.Plural(left, "line"))
	}
	return newFigure(c, note, spectrumTable(names, counts, largest))
}

// spectrumAxes sets the axis of nines, shades where values are few, and adds the objectives. A percentile needs
// ln 0.025 / ln p ≈ 3.689/(1−p) values; see [measure.MinCount].
func spectrumAxes(c *chart.XY, r *record.Run, total int64) {
	n := float64(total)
	c.X = chart.Axis{Label: "percentile of the answered operations, as 1/(1−p); n = " + figure.Count(total) + " at most", Log: true, Low: 1,
		High: max(n*1.05, 12), Ticks: percentileTicks}
	c.Limits = timeLimits(r)
	if from := n / 3.689; from > 1 {
		c.Spans = []chart.Span{{From: from, To: n * 1.05, Text: "few values"}}
	}
}

func spectraOf(c *course.Course) []course.Spectrum {
	if c == nil {
		return nil
	}
	return c.Spectra
}

// spectrumLine walks through the distribution; a point is kept if it is visibly different from the one before.
func spectrumLine(n *measure.Histogram, largest int64) (x, y []float64) {
	total := float64(n.Count())
	last := math.Inf(-1)
	for ns, atOrBelow := range n.Cumulative() {
		at := total // the largest value is one of so many
		if float64(atOrBelow) < total {
			at = total / (total - float64(atOrBelow))
		}
		if math.Log10(at)-last < 0.012 && float64(atOrBelow) < total {
			continue
		}
		last = math.Log10(at)
		x, y = append(x, at), append(y, float64(max(1, min(ns, largest))))
	}
	return x, y
}

func spectrumTable(names []string, counts []*measure.Histogram, largest []int64) *Table {
	t := &Table{Left: 1, Header: append([]string{"percentile of the answered"}, names...)}
	for _, q := range []float64{0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9999, 0.99999} {
		row := []string{strings.TrimRight(strings.TrimRight(fmt.Sprintf("p%.3f", q*100), "0"), ".")}
		for i, c := range counts {
			if c.Count() < measure.MinCount(q) {
				row = append(row, "-")
				continue
			}
			row = append(row, duration(float64(min(c.Quantile(q), largest[i]))))
		}
		t.Rows = append(t.Rows, row)
	}
	row := []string{"n"}
	for _, c := range counts {
		row = append(row, figure.Count(c.Count()))
	}
	t.Rows = append(t.Rows, row)
	return t
}

func spectrumWords(r *record.Run, p *record.PhaseResult) string {
	l := timesOf(r, &p.All)
	if l == nil {
		return "Times of operations by percentile."
	}
	return fmt.Sprintf("Of all operations, half have a %s time of at most %s, 99 %% of at most %s, and the longest took %s.", TimeKind(r),
		duration(or(l.P50)), duration(or(l.P99)), duration(float64(l.Max)))
}

// timeLimits are the objectives that limit a time, as lines.
func timeLimits(r *record.Run) []chart.Limit {
	var list []chart.Limit
	for _, o := range r.Objectives {
		if o.Unit == measure.UnitTime && o.Limit > 0 && len(list) < 3 {
			list = append(list, chart.Limit{Y: o.Limit, Text: "objective " + o.Objective})
		}
	}
	return list
}
