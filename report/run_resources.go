package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/chart"
	"github.com/plimsoll-bench/plimsoll/report/course"
)

// Bounds of the charts of one source.
const (
	maxPanels = 12
	maxLines  = 4
)

// resourceSection shows what the load cost: the client, machines and servers, and a single operation.
func resourceSection(s *runFiles, p *record.PhaseResult, track *Track) Section {
	sec := Section{ID: "resources", Title: "Machines and server"}
	sec.Parts = append(sec.Parts, Section{Table: clientTable(p)})
	if s.Samples == nil {
		return sec
	}
	sec.Lead = "Activity of machines and servers during the load. Values are means of one-second samples within a bin; names are those of the server's own statistics."
	if list := serverFigures(s, track); len(list) > 0 {
		sec.Parts = append(sec.Parts, Section{Title: "Servers"}, Section{Figures: list})
	}
	for i := range s.Samples.Sources {
		source := &s.Samples.Sources[i]
		if s.Run.Lab != nil && ofLab(source.Name, s.Run.Lab.Name) {
			continue // they are in the lab's section, side by side
		}
		sec.Parts = append(sec.Parts, Section{Title: sourceName(source.Name)})
		last := Section{Table: sampleTable(source)}
		for _, g := range source.groups() {
			if strings.HasPrefix(source.Name, "server:") {
				break // they are side by side above
			}
			if len(last.Figures) < maxPanels && g.moves() {
				last.Figures = append(last.Figures, sampleFigure(s, source, g, g.id(source.Name), track))
			}
		}
		sec.Parts = append(sec.Parts, last)
	}
	return sec
}

func sourceName(s string) string {
	for prefix, what := range map[string]string{"host:": "Machine ", "server:": "Server ", "member:": "Member ", "lab:": "Lab ",
		"prometheus:": "Query ", "csv:": "File "} {
		if rest, ok := strings.CutPrefix(s, prefix); ok {
			return what + rest
		}
	}
	switch s {
	case "client":
		return "Load process"
	case sourceAgents:
		return "Agents on other machines"
	case "servers":
		return "Servers"
	case "service":
		return "The REST service"
	}
	return s
}

func unitLabel(unit string) string {
	switch unit {
	case "1/s":
		return "per second"
	case "B":
		return "bytes"
	case "B/s":
		return "bytes per second"
	case "share":
		return "share"
	case "cores":
		return "processor cores"
	case "ns":
		return "time"
	}
	return "number"
}

func subjectName(s string) string {
	if s == "cpu" {
		return "CPU"
	}
	return Capitalised(s)
}

// sampleFigure draws the series of a group over time, those with the highest mean.
func sampleFigure(s *runFiles, source *SampleSource, g sampleGroup, id string, track *Track) *Figure {
	title := subjectName(g.subject) + " (" + unitLabel(g.unit) + ") of " + chart.Shorten(lower(sourceName(source.Name)), 80)
	c := &chart.XY{
		Frame: chart.Frame{ID: id, Title: title},
		X: chart.Axis{Unit: chart.Seconds, Label: fmt.Sprintf("time since %s; n = %s", s.Samples.since,
			figure.Plural(len(s.Samples.At), s.Samples.bin))},
		Y: chart.Axis{Label: g.subject + ", " + unitLabel(g.unit), Unit: g.unit, Zero: true}, Height: 170, Aligned: true,
	}
	if track != nil && len(s.Course.Bins) > 0 {
		n := len(s.Course.Bins)
		first := slices.IndexFunc(s.Course.Bins, func(b course.Bin) bool { return b.Phase != phaseLoad })
		c.X.Low, c.X.High = s.Course.Bins[max(first, 0)].Start.Seconds(), s.Course.Bins[n-1].End.Seconds()
		track.mark(c, g.marked)
	}
	t := &Table{Left: -1, Header: []string{"at"}}
	var words []string
	for i, x := range g.series {
		if i == cmp.Or(g.lines, maxLines) {
			break
		}
		name := g.short(x)
		if name == "" {
			name = x.Name
		}
		style := chart.Solid
		if i%2 == 1 {
			style = chart.Dashed
		}
		c.Series = append(c.Series, chart.Series{Name: name, X: s.Samples.At, Y: x.Values, Colour: i, Style: style})
		t.Header = append(t.Header, name)
		words = append(words, fmt.Sprintf("%s: mean %s, at most %s", name, text(x.Mean, x.Unit), text(x.Max, x.Unit)))
	}
	for k, at := range s.Samples.At {
		row := []string{chart.TickText(at, 0, chart.Seconds)}
		for i := range c.Series {
			row = append(row, text(c.Series[i].Y[k], g.unit))
		}
		t.Rows = append(t.Rows, row)
	}
	c.Description = strings.Join(words, "; ") + "."
	return newFigure(c, sampledNote(c, s.Samples.bin), t)
}

// sampledNote says how many bins have a sample, where some have none: the line has gaps there.
func sampledNote(c *chart.XY, bin string) string {
	all, with := 0, 0 // the ends without samples are no gaps
	for _, s := range c.Series {
		first, last, n := -1, -1, 0
		for i, y := range s.Y {
			if math.IsNaN(y) {
				continue
			}
			if first < 0 {
				first = i
			}
			last = i
			n++
		}
		if n > 0 && last-first+1 > all {
			all, with = last-first+1, n
		}
	}
	if with == all {
		return ""
	}
	return fmt.Sprintf("%s of %s have a sample; the line has gaps where there is none.", figure.Count(int64(with)), figure.Plural(all, bin))
}

// sampleTable has all series of a source over the measured time, with what one operation costs.
func sampleTable(source *SampleSource) *Table {
	t := &Table{Caption: "All figures of " + lower(sourceName(source.Name)) + " in the measured time",
		Left: 1, Header: []string{"figure", "mean", "most", "last", "per operation"}}
	for _, x := range source.Series {
		per := "-"
		if x.PerOperation != nil {
			per = perOperation(*x.PerOperation, x.Unit)
		}
		t.Rows = append(t.Rows, []string{x.Name, text(x.Mean, x.Unit), text(x.Max, x.Unit), text(x.Last, x.Unit), per})
	}
	return t
}

// perOperation prints a part of a rate: cores per operation per second are seconds of processor time.
func perOperation(v float64, unit string) string {
	switch unit {
	case "cores":
		return duration(v*1e9) + " of a core"
	case "B/s":
		return text(v, "B")
	}
	return figure.Significant(v)
}

func clientTable(p *record.PhaseResult) *Table {
	c := p.Client
	t := &Table{Caption: "The process that makes the load in the measured time", Left: 1, Header: []string{"what", "value"}}
	row := func(name, value string) { t.Rows = append(t.Rows, []string{name, value}) }
	if p.InFlight != nil {
		row("operations in flight, by Little's law", figure.Significant(p.LittleInFlight))
	}
	if c.Loops > 0 {
		row("event loops", figure.Count(int64(c.Loops)))
		row("busiest event loop", figure.Percent(c.LoopBusy))
		row("turns of event loops, p99, worst second", duration(float64(c.TurnP99)))
	}
	if n, b := p.Noticed, p.Bare; n != nil && b != nil && n.P99 != nil && b.P99 != nil {
		row("service time until the answer, p99", duration(float64(*b.P99)))
		row("service time until the client continued, p99", duration(float64(*n.P99)))
	}
	if c.Throttled > 0 {
		row("stopped by the quota of a control group", duration(float64(c.Throttled)))
	}
	row("longest pause of the garbage collector", duration(float64(c.GCPauseMax)))
	row("heap, at most", figure.Bytes(int64(c.HeapBytes)))
	if p.All.Documents > 0 && p.Counts.Attempted > 0 {
		row("documents per operation", figure.Significant(float64(p.All.Documents)/float64(p.Counts.Attempted)))
		row("document bytes per operation", figure.Bytes(p.All.Bytes/p.Counts.Attempted))
	}
	return t
}
