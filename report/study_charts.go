package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/chart"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// levelFigures draw a factor like the documents do: operations per second and latency per level, with intervals.
// Without a factor they show all configurations.
func levelFigures(v *studyView, f *spec.Factor, id string) []*Figure {
	var list []*Figure
	s := v.study
	kind := timeOf(s)
	for i, m := range levelMetrics(s) {
		rows, levels, numbers := v.levelRows(f, m)
		if len(rows) < 2 {
			continue
		}
		what := "by configuration"
		if f != nil {
			what = "by " + f.Title()
		}
		c := &chart.Rows{
			Frame: chart.Frame{ID: fmt.Sprintf("%s-levels-%d", id, i), Title: Capitalised(metricWords(m, kind)) + " " + what},
			X:     chart.Axis{Label: metricLabel(m, kind), Unit: unitOf(m), Zero: true}, Rows: rows,
		}
		list = append(list, rowsFigure(c, levelNote(m, rows), numbers))
		if curve := scalingFigure(s, f, m, rows, levels, fmt.Sprintf("%s-curve-%d", id, i)); curve != nil {
			list = append(list, curve)
		}
	}
	return list
}

// levelNote says what bars and whiskers are, if there are whiskers.
func levelNote(metric string, rows []chart.Row) string {
	note := "The value is the mean over trials"
	if unitOf(metric) == chart.Nanoseconds {
		note = "The value is the median of the trials' own percentiles"
	}
	if slices.ContainsFunc(rows, func(r chart.Row) bool { return r.High > r.Low }) {
		note += "; whiskers are its interval at the confidence of the study"
	} else {
		note += "; there are too few trials for an interval"
	}
	return note + ". A hollow bar is the baseline."
}

// timeOf names the times of a study: without a schedule there is service time only.
func timeOf(s *record.Study) string {
	open := s.Base.Load.Open() || s.Base.Load.Pace > 0
	for i := range s.Specification.Factors {
		path := s.Specification.Factors[i].Path
		open = open || path == "load.rate" || path == "load.pace"
	}
	if open {
		return "response time"
	}
	return "service time"
}

// levelMetrics are throughput and the latencies that tables show first.
func levelMetrics(s *record.Study) []string {
	var list []string
	for i := range s.Comparisons {
		m := s.Comparisons[i].Metric
		wanted := m == "throughput" || strings.HasSuffix(m, "p99") || strings.HasSuffix(m, "p50")
		if wanted && !slices.Contains(list, m) && len(list) < 4 {
			list = append(list, m)
		}
	}
	return list
}

func metricWords(m, kind string) string {
	if unitOf(m) != chart.Nanoseconds {
		return strings.ReplaceAll(m, ".", " ")
	}
	class, what := "", m
	for _, p := range []string{"p99.99", "p99.9", "p99", "p95", "p90", "p50", "mean", "max"} {
		if rest, ok := strings.CutSuffix(m, p); ok {
			class, what = strings.TrimSuffix(rest, "."), p
			break
		}
	}
	if rest, ok := strings.CutSuffix(class, "service"); ok {
		class, kind = strings.TrimSuffix(rest, "."), "service time"
	}
	return strings.TrimSpace(class + " " + kind + " " + what)
}

func metricLabel(m, kind string) string {
	switch unitOf(m) {
	case chart.PerSecond:
		return "successful operations per second"
	case chart.Share:
		return m + ", share of operations"
	}
	if strings.Contains(m, "service") {
		kind = "service time"
	}
	return kind + " of an operation"
}

func (v *studyView) levelRows(f *spec.Factor, metric string) (rows []chart.Row, levels []string, t *Table) {
	base := v.study.BaselineID()
	t = &Table{Left: 1, Header: []string{"level", "value", "low", "high", "n", "change"}}
	unit := unitOf(metric)
	add := func(level, mark string, value, low, high *float64, n int, change string, hollow bool) {
		name := level + mark
		row := chart.Row{Name: name, Value: or(value), Low: or(low), High: or(high),
			Text: text(or(value), unit) + fmt.Sprintf(", n = %d", n), Hollow: hollow}
		rows, levels = append(rows, row), append(levels, level)
		t.Rows = append(t.Rows, []string{name, text(or(value), unit), text(or(low), unit), text(or(high), unit),
			strconv.Itoa(n), change})
	}
	for _, c := range ordered(v.study, f) {
		if f != nil && c.Factor != f.Title() && c.ID != base {
			continue
		}
		name := c.ID
		if f != nil {
			name = c.Levels[f.Title()]
		}
		if x := v.base[[2]string{c.ID, metric}]; x != nil && c.ID == base {
			add(name, " (baseline)", x.Base, x.BaseLow, x.BaseHigh, x.NBase, "", true)
		} else if x := v.of[[2]string{c.ID, metric}]; x != nil {
			add(name, "", x.Value, x.ValueLow, x.ValueHigh, x.N, changeText(x)+" "+intervalText(x), false)
		}
	}
	return rows, levels, t
}

// ordered are the configurations in the order of the levels of a factor.
func ordered(s *record.Study, f *spec.Factor) []record.Configuration {
	list := slices.Clone(s.Configurations)
	if f == nil {
		return list
	}
	place := func(c record.Configuration) int { return f.Place(c.Levels[f.Title()]) }
	slices.SortStableFunc(list, func(a, b record.Configuration) int { return place(a) - place(b) })
	return list
}

func rowsWords(rows []chart.Row) string {
	var words []string
	for i, r := range rows {
		if i == 12 {
			words = append(words, fmt.Sprintf("and %d more", len(rows)-i))
			break
		}
		words = append(words, r.Name+": "+r.Text)
	}
	return strings.Join(words, "; ") + "."
}

// scalingFigure draws a metric over the levels of a factor that are numbers, such as workers: the shape of a curve
// is easier to see than that of bars.
func scalingFigure(s *record.Study, f *spec.Factor, metric string, rows []chart.Row, levels []string,
	id string) *Figure {
	if f == nil || len(rows) < 3 {
		return nil
	}
	line := chart.Series{Name: metric, Dots: true}
	for i, r := range rows {
		x, err := strconv.ParseFloat(levels[i], 64)
		if err != nil || x <= 0 {
			return nil
		}
		line.X, line.Y = append(line.X, x), append(line.Y, r.Value)
		line.Low, line.High = append(line.Low, r.Low), append(line.High, r.High)
		line.Notes = append(line.Notes, r.Name+": "+r.Text)
	}
	kind := timeOf(s)
	c := &chart.XY{
		Frame: chart.Frame{ID: id, Title: Capitalised(metricWords(metric, kind)) + " over " + f.Title(),
			Description: rowsWords(rows)},
		X: chart.Axis{Label: f.Title() + " (logarithmic); n = " + strconv.Itoa(int(s.Specification.Trials)) + " each", Log: true},
		Y: chart.Axis{Label: metricLabel(metric, kind), Unit: unitOf(metric), Zero: true}, Height: 240,
	}
	for _, x := range line.X {
		c.X.Ticks = append(c.X.Ticks, chart.Tick{At: x, Text: strconv.FormatFloat(x, 'f', -1, 64)})
	}
	slices.SortFunc(c.X.Ticks, func(a, b chart.Tick) int { return cmp.Compare(a.At, b.At) })
	if unitOf(metric) == chart.PerSecond && line.X[0] > 0 && line.Y[0] > 0 {
		// What perfect scaling from the first level would give; it was not measured, so it is dotted.
		ideal := chart.Series{Name: "ideal", Style: chart.Dotted, Colour: 4}
		_, top := rangeOf(append(slices.Clone(line.High), line.Y...))
		ideal.X, ideal.Y = evenly(line.X, line.Y[0], 1.3*top)
		if len(ideal.X) > 1 {
			c.Series = append(c.Series, ideal)
		}
	}
	note := ""
	if len(c.Series) > 0 {
		note = "Dots were measured. The dotted line is even scaling from the first level; it was not measured."
	}
	law, numbers := lawOf(s, f, metric, c)
	c.Series = append(c.Series, line)
	return newFigure(c, strings.TrimSpace(note+" "+law), numbers)
}

// evenly is the straight line through the origin and the first point up to top. On a logarithmic axis it is a curve, so
// it has points between the levels.
func evenly(levels []float64, first, top float64) (xs, ys []float64) {
	const between = 24
	last := min(slices.Max(levels), levels[0]*top/first)
	if last <= levels[0] {
		return nil, nil
	}
	for i := range between + 1 {
		x := levels[0] * math.Pow(last/levels[0], float64(i)/between)
		xs, ys = append(xs, x), append(ys, first*x/levels[0])
	}
	return xs, ys
}

// forestFigures draw the ratios of all comparisons: one chart per metric where there are many configurations.
func forestFigures(list []record.Comparison, margin float64, kind, id string) []*Figure {
	var metrics []string
	for i := range list {
		if !slices.Contains(metrics, list[i].Metric) {
			metrics = append(metrics, list[i].Metric)
		}
	}
	c := ratioRows(id+"-forest", "Ratios to the baseline", "value / baseline (logarithmic); shaded: changes that do not matter", "no change")
	if margin > 0 && margin < 1 {
		c.BandLow, c.BandHigh = 1/(1+margin), 1+margin
	}
	const most = 60
	all := 0
	for _, m := range metrics {
		for i := range list {
			x := &list[i]
			if x.Metric != m || x.Ratio == nil {
				continue
			}
			if all++; all <= most {
				c.Rows = append(c.Rows, forestRow(x, m, kind, len(metrics) > 1))
			}
		}
	}
	note := "A dot is the ratio, the line its interval. Filled: better or worse; hollow: equivalent or inconclusive."
	if all > most {
		note += fmt.Sprintf(" The first %d of %d are drawn; the table has all.", most, all)
	}
	return figures(rowsFigure(c, note, nil))
}

func forestRow(x *record.Comparison, metric, kind string, group bool) chart.Row {
	row := chart.Row{Name: x.Configuration, Value: *x.Ratio, Low: or(x.Low), High: or(x.High)}
	row.Text = changeText(x) + " " + verdictText(x.Verdict)
	if group {
		row.Group = metricWords(metric, kind)
	}
	switch x.Verdict {
	case record.Better:
		row.Colour = 2
	case record.Worse:
		row.Colour = 1
	default:
		row.Hollow = true
	}
	return row
}
