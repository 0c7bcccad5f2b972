package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/chart"
)

// hullFigure draws the lines on a hull, with the present load as the water; nil if no line has a rate.
func hullFigure(c *record.Capacity) *Figure {
	h := &chart.Hull{Frame: chart.Frame{ID: "hull", Title: "Load lines"}, Water: math.NaN(),
		Y: chart.Axis{Label: "operations per second", Unit: chart.PerSecond}}
	var words, missing []string
	for i := range c.Lines {
		l := &c.Lines[i]
		if !l.Has() {
			missing = append(missing, l.Name)
			continue
		}
		x := chart.HullLine{At: l.Rate, Low: or(l.Low), High: or(l.High), Name: lineRate(l) + "  " + l.Name,
			Disc: l.Name == c.Safe, Dashed: !l.Counts}
		if !l.Counts {
			x.Text = "does not count"
		}
		text := fmt.Sprintf("%s: %s operations/s%s", l.Name, lineRate(l), lineInterval(l))
		if x.Disc {
			text += ", the safe load"
		}
		words = append(words, text)
		h.Lines = append(h.Lines, x)
	}
	if len(h.Lines) == 0 {
		return nil
	}
	h.Description = "A hull with load lines at their heights. " + strings.Join(words, ". ") + "."
	note := "The height is the load. The disc is at the safe load, the lowest line that counts. Vertical bars are intervals."
	if p := c.Now; p != nil {
		scale := cmp.Or(p.PerOperation, 1)
		h.Title = "Load lines and the present load"
		h.Water, h.Text = p.Rate/scale, figure.Rate(p.Rate/scale)+"  now"+prefixed(", ", presentPercent(p))
		h.Description += " The water is at the present load: " + presentBrief(p) + "."
		note += " The water is at the present load."
		if scale != 1 {
			note += " " + countedWords(c)
		}
	}
	if len(missing) > 0 {
		note += " Without a rate, and not drawn: " + strings.Join(missing, ", ") + "."
	}
	return newFigure(h, note, nil)
}

// lineCurve draws latency over throughput for the steps of a line in order of the offered rate; nil if there are not
// two steps with a latency.
func lineCurve(c *record.Capacity, l *record.LoadLine, id string) *Figure {
	groups := []struct {
		verdicts []record.LineVerdict
		series   chart.Series
	}{
		{[]record.LineVerdict{record.StepMet}, chart.Series{Name: "met", Style: chart.Points, Dots: true, Colour: 2}},
		{[]record.LineVerdict{record.StepMissed},
			chart.Series{Name: "missed", Style: chart.Points, Dots: true, Colour: 1, Hollow: true}},
		{[]record.LineVerdict{record.StepUndecided, record.StepClient, record.StepFailed, record.StepLost},
			chart.Series{Name: "undecided", Style: chart.Points, Dots: true, Colour: 3, Hollow: true}},
	}
	steps := slices.Clone(l.Steps)
	slices.SortStableFunc(steps, func(a, b record.LineStep) int { return cmp.Compare(a.Offered, b.Offered) })
	path, counts := chart.Series{Style: chart.Solid, Colour: 5, Unnamed: true}, map[string]int{}
	for _, s := range steps {
		if s.P99 == nil || s.Offered <= 0 {
			continue
		}
		path.X, path.Y = append(path.X, s.Offered), append(path.Y, *s.P99)
		for i := range groups {
			if g := &groups[i].series; slices.Contains(groups[i].verdicts, s.Verdict) {
				g.X, g.Y = append(g.X, s.Offered), append(g.Y, *s.P99)
				g.Notes = append(g.Notes, fmt.Sprintf("step %d: %s/s offered, %s/s achieved, p99 %s, %s", s.Number, figure.Rate(s.Offered),
					figure.Rate(s.Achieved), duration(*s.P99), s.Verdict))
				counts[g.Name]++
			}
		}
	}
	if len(path.X) < 2 {
		return nil
	}
	x := &chart.XY{Frame: chart.Frame{ID: id + "-curve", Title: "Latency over throughput, " + l.Name},
		X: chart.Axis{Label: fmt.Sprintf("offered operations per second; n = %s", figure.Plural(len(path.X), "step")), Unit: chart.PerSecond,
			Zero: true},
		Y: chart.Axis{Label: "p99 of the response time (logarithmic)", Unit: chart.Nanoseconds, Log: true}, Height: 300,
		Series: []chart.Series{path}}
	for _, g := range groups {
		if len(g.series.X) > 0 {
			x.Series = append(x.Series, g.series)
		}
	}
	objectives, _ := measure.ParseObjectives(strings.Join(c.Objectives, ",")) // the search has checked them
	for _, o := range objectives {
		if o.Metric == "p99" && o.Class == "" {
			x.Limits = append(x.Limits, chart.Limit{Y: o.Limit, Text: "objective " + o.Text, Left: true})
		}
	}
	if l.Has() {
		x.Marks = []chart.Mark{{X: l.Rate, Text: "line " + lineRate(l)}}
		if l.Low != nil && l.High != nil {
			x.Spans = []chart.Span{{From: *l.Low, To: *l.High}}
		}
	}
	x.Description = fmt.Sprintf("p99 over the offered rate, from %s/s to %s/s, in order of the rate: %d met, %d missed, %d undecided.",
		figure.Rate(path.X[0]), figure.Rate(path.X[len(path.X)-1]), counts["met"], counts["missed"], counts["undecided"])
	return newFigure(x, "Filled marks met the objectives. Hollow ones did not, or are undecided. The shaded part is the interval of the line.", nil)
}

// capacityDisclosure is everything that is needed to repeat a capacity.
func capacityDisclosure(c *record.Capacity, on *capacityFiles) Section {
	s := Section{ID: "disclosure", Title: "Disclosure", Lead: "Everything needed to repeat and to judge the result."}
	again := Section{Title: "capacity.yaml"}
	if why := on.again.missing(record.CapacityFile); why != "" {
		again.Lines = []string{why}
	} else {
		again.Code = &Code{Label: "capacity.yaml", Text: on.again.text}
	}
	s.Parts = []Section{commandBlock(on.command), again, {Title: "Environment", Facts: environmentFacts(c.Environment)},
		{Title: "Record", Facts: Facts("Directory", bounded(on.Dir), "Status", string(c.Status), "Written by", Version(c.Tool),
			"Schema", c.SchemaVersion)}}
	return s
}
