package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/chart"
)

// procedureFigure draws what a procedure tried, with the value that it chose. Its numbers are in the table below it.
func procedureFigure(p *record.ProcedureResult, id string) *Figure {
	if len(p.Points) < 2 {
		return nil
	}
	line := chart.Series{Name: "throughput", Dots: true}
	points := slices.Clone(p.Points)
	slices.SortStableFunc(points, func(a, b record.ProcedurePoint) int { return cmp.Compare(a.Value, b.Value) })
	chosen := chart.Series{Style: chart.Points, Colour: 3, Dots: true, Name: "chosen"}
	for _, x := range points {
		line.X, line.Y = append(line.X, x.Value), append(line.Y, x.Throughput)
		line.Low, line.High = append(line.Low, or(x.Low)), append(line.High, or(x.High))
		words := fmt.Sprintf("%s: %s ok/s, n = %d", procedureValue(p.Path, x.Value), figure.Rate(x.Throughput), x.N)
		line.Notes = append(line.Notes, words)
		if x.Value == p.Chosen {
			chosen.X, chosen.Y, chosen.Notes = append(chosen.X, x.Value), append(chosen.Y, x.Throughput),
				append(chosen.Notes, "chosen: "+words)
		}
	}
	c := &chart.XY{
		Frame: chart.Frame{ID: id + "-procedure", Title: "Procedure " + p.Name + ": what was tried"},
		X:     chart.Axis{Label: p.Path + " (logarithmic); n is in the table", Log: true},
		Y:     chart.Axis{Label: "successful operations per second", Unit: chart.PerSecond, Zero: true}, Height: 240,
		Series: []chart.Series{line, chosen},
	}
	for _, x := range points {
		c.X.Ticks = append(c.X.Ticks, chart.Tick{At: x.Value, Text: procedureValue(p.Path, x.Value)})
	}
	c.Description = fmt.Sprintf("Throughput over %s in %s; chosen: %s. %s", p.Path, figure.Plural(len(points), "step"),
		procedureValue(p.Path, p.Chosen), p.Reason)
	return newFigure(c, "", nil)
}

// capacityFigure shows the search for the capacity, step by step. Its numbers are in the table below it.
func capacityFigure(c *record.CapacityResult, id string) *Figure {
	if c == nil || len(c.Steps) == 0 {
		return nil
	}
	holds := chart.Series{Name: "held", Style: chart.Points, Dots: true, Colour: 2}
	missed := chart.Series{Name: "missed", Style: chart.Points, Dots: true, Colour: 1, Hollow: true}
	path := chart.Series{Style: chart.Solid, Colour: 5, Unnamed: true}
	for i, s := range c.Steps {
		x, words := float64(i+1), fmt.Sprintf("step %d, %s: %s/s offered", i+1, s.Phase, figure.Rate(s.Offered))
		path.X, path.Y = append(path.X, x), append(path.Y, s.Offered)
		to := &missed
		if s.Holds {
			to = &holds
		}
		to.X, to.Y, to.Notes = append(to.X, x), append(to.Y, s.Offered), append(to.Notes, words)
	}
	x := &chart.XY{
		Frame: chart.Frame{ID: id + "-search", Title: "Search for the load line"},
		X: chart.Axis{Label: fmt.Sprintf("trials in their order; n = %d", len(c.Steps)), Low: 0.5,
			High: float64(len(c.Steps)) + 0.5, Ticks: orderTicks(len(c.Steps))},
		Y:      chart.Axis{Label: "offered operations per second", Unit: chart.PerSecond, Zero: true},
		Series: []chart.Series{path, holds, missed}, Height: 240,
	}
	if c.Rate > 0 {
		x.Limits = []chart.Limit{{Y: c.Rate, Text: "load line " + figure.Rate(c.Rate) + "/s", Left: true}}
	}
	x.Description = fmt.Sprintf("Offered rates in the order in which they were tried. %s", c.Reason)
	return newFigure(x, "", nil)
}

func orderTicks(n int) []chart.Tick {
	step := max(1, (n+9)/10)
	var list []chart.Tick
	for i := 1; i <= n; i += step {
		list = append(list, chart.Tick{At: float64(i), Text: strconv.Itoa(i)})
	}
	return list
}

// curvePoint is one trial or record on the curve of latency over throughput; offered is not a number in closed loops.
type curvePoint struct {
	name                        string
	offered, achieved, p50, p99 float64
}

// curve says what the points of a curve of latency over throughput are.
type curve struct {
	id   string
	what string // "trial" or "record"
	time string // "response time", "service time" or "time", where they have not all the same
	// Joined points differ in the offered load alone; others are named, and no line between them says anything.
	joined bool
	limits []chart.Limit
}

// hockeyFigure draws latency over throughput for the steps of a capacity search.
func hockeyFigure(s *record.Study, id string) *Figure {
	if s.Capacity == nil {
		return nil
	}
	var points []curvePoint
	for i, x := range s.Capacity.Steps {
		points = append(points, curvePoint{fmt.Sprintf("step %d", i+1), x.Offered, x.Achieved, math.NaN(), or(x.P99)})
	}
	// they were checked when the study was planned
	objectives, _ := measure.ParseObjectives(strings.Join(s.Capacity.Objectives, ","))
	var limits []chart.Limit
	for _, o := range objectives {
		if o.Unit == measure.UnitTime {
			limits = append(limits, chart.Limit{Y: o.Limit, Text: "objective " + o.Text})
		}
	}
	return curveFigure(points, curve{id: id + "-curve", what: "trial", time: "response time", joined: true, limits: limits})
}

// curveFigure draws latency over throughput. Points are joined in order of the offered load: past saturation the curve
// folds back, so the order of throughput would lie.
func curveFigure(points []curvePoint, about curve) *Figure {
	if len(points) < 2 {
		return nil
	}
	points = slices.Clone(points)
	if about.joined {
		slices.SortStableFunc(points, func(a, b curvePoint) int { return cmp.Compare(a.offered, b.offered) })
	}
	lines := curveLines(points, about)
	c := &chart.XY{
		Frame: chart.Frame{ID: about.id, Title: "Latency over throughput"},
		X:     chart.Axis{Label: fmt.Sprintf("achieved operations per second; n = %s", figure.Plural(len(points), about.what)), Unit: chart.PerSecond, Zero: true},
		Y:     chart.Axis{Label: about.time + " (logarithmic)", Unit: chart.Nanoseconds, Log: true}, Limits: about.limits, Height: 300,
	}
	for _, s := range lines {
		if _, high := rangeOf(s.Y); high > 0 {
			c.Series = append(c.Series, s)
		}
	}
	if len(c.Series) == 0 {
		return nil
	}
	if !about.joined {
		c.Description = fmt.Sprintf("%s over achieved throughput of %s that are not joined.", Capitalised(about.time), figure.Plural(len(points), about.what))
		return newFigure(c, "The "+about.what+"s differ in more than the offered load, so no line joins them. Circles: p50; squares: p99.", nil)
	}
	last := points[len(points)-1]
	c.Description = fmt.Sprintf("%s over achieved throughput in order of the offered load, from %s/s to %s/s offered; the last point achieves %s/s with a p99 of %s.",
		Capitalised(about.time), figure.Rate(points[0].offered), figure.Rate(last.offered), figure.Rate(last.achieved),
		duration(last.p99))
	return newFigure(c, "Points are joined in order of the offered load; if the line turns back, more load brings less throughput.", nil)
}

// curveLines are the points as p50 and p99. Points that are not joined are a series each, with their names.
func curveLines(points []curvePoint, about curve) []chart.Series {
	lines := []chart.Series{{Name: "p50", Dots: true}, {Name: "p99", Dots: true, Colour: 1}}
	var lone []chart.Series
	for _, p := range points {
		words := p.name + ": "
		if p.offered > 0 {
			words += figure.Rate(p.offered) + "/s offered, "
		}
		words += figure.Rate(p.achieved) + "/s achieved"
		for i, y := range []float64{p.p50, p.p99} {
			l := &lines[i]
			note := words + ", " + l.Name + " " + duration(y)
			l.X, l.Y, l.Notes = append(l.X, p.achieved), append(l.Y, y), append(l.Notes, note)
			lone = append(lone, chart.Series{Name: p.name, X: []float64{p.achieved}, Y: []float64{y}, Notes: []string{note},
				Style: chart.Points, Dots: true, Colour: i, Unnamed: i == 0 && p.p99 > 0})
		}
	}
	if about.joined {
		return lines
	}
	return lone
}

// trialFigure shows every trial in the order of execution: drift and outliers show in it.
func trialFigure(s *record.Study, id string) *Figure {
	kinds := []chart.Series{
		{Name: "trials", Style: chart.Points, Dots: true},
		{Name: "baseline", Style: chart.Points, Dots: true, Colour: 2},
		{Name: "canary", Style: chart.Points, Dots: true, Colour: 3},
		{Name: "invalid", Style: chart.Points, Dots: true, Colour: 1, Hollow: true},
	}
	trials := make([]*record.Trial, 0, len(s.Trials))
	for i := range s.Trials {
		if t := &s.Trials[i]; t.Started != nil && t.Kind != record.TrialSearch {
			trials = append(trials, t)
		}
	}
	slices.SortStableFunc(trials, func(a, b *record.Trial) int { return a.Started.Compare(*b.Started) })
	base := s.BaselineID()
	n := 0
	for _, t := range trials {
		v, ok := t.Values["throughput"]
		n++
		if !ok {
			continue
		}
		to := &kinds[0]
		switch {
		case t.Status != record.TrialDone || measure.Worst(t.Validity) == measure.Invalid:
			to = &kinds[3]
		case t.Kind == record.TrialCanary:
			to = &kinds[2]
		case t.Configuration == base:
			to = &kinds[1]
		}
		to.X, to.Y = append(to.X, float64(n)), append(to.Y, v)
		to.Notes = append(to.Notes, fmt.Sprintf("trial %d, %s: %s ok/s", t.Number, t.Configuration, figure.Rate(v)))
	}
	c := &chart.XY{
		Frame: chart.Frame{ID: id + "-order", Title: "Throughput of all trials in the order of execution"},
		X: chart.Axis{Label: fmt.Sprintf("order of execution; n = %s", figure.Plural(n, "trial")), Low: 0.5,
			High: float64(n) + 0.5, Ticks: orderTicks(n)},
		Y: chart.Axis{Label: "successful operations per second", Unit: chart.PerSecond, Zero: true}, Height: 260,
	}
	var words []string
	for _, k := range kinds {
		if len(k.X) > 0 {
			c.Series = append(c.Series, k)
			low, high := rangeOf(k.Y)
			words = append(words, fmt.Sprintf("%d %s between %s and %s ok/s", len(k.X), k.Name, figure.Rate(low), figure.Rate(high)))
		}
	}
	if len(c.Series) == 0 {
		return nil
	}
	c.Description = fmt.Sprint(words) + "."
	return newFigure(c, "Circles: trials; triangles: the baseline; diamonds: repeated baselines that show drift and nothing else; hollow squares: invalid or failed.", nil)
}
