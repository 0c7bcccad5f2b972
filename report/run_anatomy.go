package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/shellword"
	"github.com/plimsoll-bench/plimsoll/measure/anatomy"
	"github.com/plimsoll-bench/plimsoll/measure/limit"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/chart"
)

// smallPart is the share of the service time below which a line of text does not name a place.
const smallPart = 0.03

// anatomyLine says in one line where the mean service time went, the largest parts first; "" if that is not known.
func anatomyLine(a *anatomy.Anatomy) string {
	if a == nil || a.Operations <= 0 || len(a.Servers) == 0 {
		return ""
	}
	parts := slices.Clone(a.Parts)
	slices.SortStableFunc(parts, func(x, y anatomy.Part) int {
		if last := (x.Place == anatomy.Unexplained) != (y.Place == anatomy.Unexplained); last {
			return map[bool]int{true: 1, false: -1}[x.Place == anatomy.Unexplained]
		}
		return -int(math.Copysign(1, x.Operations-y.Operations))
	})
	var list []string
	for _, p := range parts {
		share := p.Operations / a.Operations
		if share < smallPart && p.Place != anatomy.Unexplained {
			continue
		}
		text := string(p.Place) + " " + figure.Percent(share)
		if p.Estimated {
			text += " (estimated)"
		}
		list = append(list, text)
	}
	if a.In(anatomy.Unexplained) == 0 {
		list = append(list, "unexplained 0 %")
	}
	service := "service time"
	if a.Service > 0 {
		service += " " + duration(a.Service)
	}
	return service + ": " + strings.Join(list, ", ")
}

// runWhere is where the time of a run went, or which role would show it; "" for targets that are no MongoDB.
func runWhere(r *record.Run) string {
	sampled := slices.ContainsFunc(r.Series, func(s record.Series) bool {
		return strings.HasPrefix(s.Source, "server:")
	})
	if mongodb := r.Target.Kind == "mongod" || r.Target.Kind == "mongos"; mongodb && !sampled {
		return "time by place: unknown, because no statistics of servers were read (role clusterMonitor)"
	}
	return anatomyLine(r.Anatomy)
}

// runAnatomy is where the mean service time of a run went, and the command that finds what limits.
func runAnatomy(r *record.Run) Section {
	s := anatomySection(r.Anatomy)
	if len(s.Lines) > 0 {
		s.Lines = append(s.Lines, "one load does not show what limits; a ladder of loads does: plimsoll capacity "+
			shellword.Quote(cmp.Or(r.Specification.Target, r.Target.Address)))
	}
	return s
}

// anatomySection is where the mean service time went.
func anatomySection(a *anatomy.Anatomy) Section {
	if a == nil || a.Operations <= 0 {
		return Section{}
	}
	s := Section{ID: "anatomy", Title: "time by place", Table: &Table{Left: 1, Last: 1,
		Header: []string{"place", "operations", "share", "time", "how it is known"}}}
	for _, p := range a.Parts {
		how := "counted"
		switch {
		case p.Estimated:
			how = "estimated " + p.Why
		case p.Place == anatomy.Unexplained:
			how = "the rest" + prefixed(": ", p.Why)
		case p.Why != "":
			how = p.Why
		}
		spent := "-"
		if a.Service > 0 {
			spent = duration(a.Service * p.Operations / a.Operations)
		}
		s.Table.row(string(p.Place), figure.Significant(p.Operations), share(p.Operations, a.Operations), spent, how)
	}
	s.Lines = []string{"the mean number of operations in each place: time of all operations there, per second"}
	if len(a.Servers) > 0 {
		s.Lines[0] += ", counted by " + listed3(a.Servers)
	}
	if len(a.NotCounted) > 0 {
		s.Lines = append(s.Lines, "not counted by these servers: "+strings.Join(a.NotCounted, ", "))
	}
	if a.Foreign > 0.1*a.Operations {
		s.Lines = append(s.Lines,
			fmt.Sprintf("the servers had %s more operations in progress that this client did not send, so the parts are those of all clients",
				figure.Significant(a.Foreign)))
	}
	if a.Over > 0.1*a.Operations {
		s.Lines = append(s.Lines,
			fmt.Sprintf("the counters exceed the time of the operations by %s operations, because threads without a client wait too; the parts are scaled down",
				figure.Significant(a.Over)))
	}
	return s
}

// anatomyBar draws the parts as one bar whose pieces are below each other; nil without a server.
func anatomyBar(a *anatomy.Anatomy) *Figure {
	if a == nil || len(a.Servers) == 0 {
		return nil
	}
	c := &chart.Rows{Frame: chart.Frame{ID: "anatomy", Title: "Mean service time by place"},
		X: chart.Axis{Label: "mean number of operations", Zero: true}}
	from := 0.0
	var words []string
	for i, p := range a.Parts {
		text := share(p.Operations, a.Operations)
		c.Rows = append(c.Rows, chart.Row{Name: string(p.Place), From: from, Value: from + p.Operations,
			Low: math.NaN(), High: math.NaN(),
			Text: text, Colour: i % 6, Hollow: p.Place == anatomy.Unexplained})
		from += p.Operations
		words = append(words, string(p.Place)+" "+text)
	}
	c.Description = strings.Join(words, "; ") + "."
	return newFigure(c, "Each piece begins where the one above it ends. A hollow piece has no counter.", nil)
}

// anatomyLayers is how many places the figure over time has of their own.
const anatomyLayers = 5

// anatomyOverTime draws the places of the servers over time, on top of each other; nil without samples.
func anatomyOverTime(s *runFiles, track *Track) *Figure {
	a := s.Run.Anatomy
	if a == nil || len(a.Servers) == 0 || s.Samples == nil || len(s.Samples.At) < 2 {
		return nil
	}
	of := map[string]map[string][]float64{}
	for _, source := range s.Samples.Sources {
		of[source.Name] = map[string][]float64{}
		for _, x := range source.Series {
			of[source.Name][x.Name] = x.Values
		}
	}
	n := len(s.Samples.At)
	values := map[anatomy.Place][]float64{}
	for k := range n {
		at := anatomy.Of(anatomy.Sender{}, s.Run.AnatomyServers(func(source, name string) (float64, bool) {
			v := of[source][name]
			return valueAt(v, k), k < len(v) && !math.IsNaN(v[k])
		}))
		for _, place := range anatomy.Places() {
			if values[place] == nil {
				values[place] = make([]float64, n)
			}
			values[place][k] = at.In(place)
			if at.Operations == 0 {
				values[place][k] = math.NaN()
			}
		}
	}
	source := &SampleSource{Name: "servers"}
	g := sampleGroup{subject: "operations in each place", marked: true, lines: anatomyLayers}
	for _, place := range anatomy.Places() {
		mean, most := meanMost(values[place])
		if most > 0 {
			g.series = append(g.series, &SampleSeries{record.Series{Name: string(place), Mean: mean, Max: most},
				values[place]})
		}
	}
	slices.SortStableFunc(g.series, func(x, y *SampleSeries) int { return -int(math.Copysign(1, x.Mean-y.Mean)) })
	if len(g.series) == 0 {
		return nil
	}
	f := sampleFigure(s, source, g, "anatomy-time", track)
	stacked(f.Chart.(*chart.XY))
	return f
}

func valueAt(v []float64, k int) float64 {
	if k < len(v) {
		return v[k]
	}
	return math.NaN()
}

func meanMost(values []float64) (mean, most float64) {
	n := 0.0
	for _, v := range values {
		if !math.IsNaN(v) {
			mean, most, n = mean+v, max(most, v), n+1
		}
	}
	return mean / max(1, n), most
}

// stacked puts the lines of a chart on top of each other, with the areas between them.
func stacked(c *chart.XY) {
	var below []float64
	for i := range c.Series {
		x := &c.Series[i]
		top := make([]float64, len(x.Y))
		low := make([]float64, len(x.Y))
		for k, y := range x.Y {
			if below != nil {
				low[k] = below[k]
			}
			top[k] = low[k] + y
		}
		c.Bands = append(c.Bands, chart.Band{X: x.X, Low: low, High: top, Colour: x.Colour})
		x.Y, x.Style, below = top, chart.Solid, top
	}
}

// limitFacts say what limits a line, with the evidence and what was not checked.
func limitFacts(l *limit.Limit) []Fact {
	if l == nil {
		return nil
	}
	answer := func(a limit.Answer) string { return a.String() + prefixed(": ", strings.Join(a.Evidence, "; ")) }
	elasticity := ""
	if l.Elasticity != nil {
		elasticity = fmt.Sprintf("%.2f (relative change of the throughput by that of the capacity)", *l.Elasticity)
	}
	return Facts("limit of the throughput", answer(l.Throughput), "most of the latency", answer(l.Latency),
		"to carry more", l.More, "elasticity", elasticity, "not checked", strings.Join(l.NotChecked, "; "))
}

// limitLine is the limit in one line; "" if there is none.
func limitLine(l *limit.Limit) string {
	if l == nil {
		return ""
	}
	main := l.Main()
	if main.Label == limit.Unknown {
		return "limit: unknown" + prefixed(": ", strings.Join(main.Evidence, "; "))
	}
	return "limit: " + main.String() + prefixed("; to carry more: ", l.More)
}
