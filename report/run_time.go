package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/chart"
	"github.com/plimsoll-bench/plimsoll/report/course"
)

// phaseLoad is not part of the pictures: it may be longer than the run and has other operations.
const phaseLoad = "load"

const endsEarly = "The files end early, as those of a killed run do."

// timeline is the course of a run as lists over its bins.
type timeline struct {
	s     *runFiles
	bins  []course.Bin
	late  measure.Tally // what ended after its phase, and is in no bin
	track *Track
	rows  map[string][]float64
}

// endEarly says that the files have no end, although nothing writes them.
func (s *runFiles) endEarly() bool { return !s.Course.Complete && s.Run.Status != record.Running }

// timeSection shows how the run went in time. It has no track if there is nothing to draw.
func timeSection(s *runFiles) Section {
	sec := Section{ID: "time", Title: "Over time"}
	t := newTimeline(s)
	if len(t.bins) < 2 {
		if s.Course != nil && s.endEarly() {
			sec.Parts = []Section{{Lines: []string{endsEarly}}}
		}
		return sec
	}
	n := len(t.bins)
	sec.Lead = fmt.Sprintf("From the start of the run, in %s of %s; percentiles are those of the merged histograms of a bin. The measured time is shaded.",
		figure.Plural(n, "bin"), figure.Duration(s.Course.Width))
	if n := t.late.Attempted; n > 0 {
		sec.Lead += fmt.Sprintf(" The lines leave out %s that ended after the end of their phase (%s of them ok).",
			figure.Plural(int(n), "operation"), figure.Count(t.late.Succeeded))
	}
	if s.endEarly() {
		sec.Lead += " " + endsEarly
	}
	sec.Parts = []Section{{Table: t.table(), Figures: figures(t.throughput(), t.latency(), t.errors(),
		t.workers(), t.inFlight(), t.heat())}}
	if len(s.Events) > 0 {
		sec.Parts = append(sec.Parts, Section{Table: eventTable(s.Events)})
	}
	sec.Track = t.track
	return sec
}

func newTimeline(s *runFiles) *timeline {
	t := &timeline{s: s, track: &Track{ID: "track"}, rows: map[string][]float64{}}
	if s.Course == nil {
		return t
	}
	for _, b := range s.Course.Bins {
		switch {
		case b.Phase == "warmup-drain" || b.Phase == "drain":
			// Its operations end beside those of the next phase, or when no load is offered any more: as a rate of its own,
			// between the others, it would look like a standstill.
			t.late = t.late.Add(b.Tally)
		case b.Phase != phaseLoad && b.End > b.Start:
			t.bins = append(t.bins, b)
		}
	}
	for i := range t.bins {
		b := &t.bins[i]
		t.track.T = append(t.track.T, (b.Start + (b.End-b.Start)/2).Seconds())
		per := func(name string, n int64) { t.rows[name] = append(t.rows[name], float64(n)/b.Seconds()) }
		per("ok", b.Tally.Succeeded)
		per("offered", b.Offered)
		per("failed", b.Tally.Failed)
		per("indeterminate", b.Tally.Indeterminate)
		per("dropped", b.Dropped)
		t.rows["p50"] = append(t.rows["p50"], positive(b.P50))
		t.rows["p99"] = append(t.rows["p99"], positive(b.P99))
		t.rows["max"] = append(t.rows["max"], positive(b.Max))
		t.rows["flight"] = append(t.rows["flight"], b.InFlight)
		t.rows["workers"] = append(t.rows["workers"], float64(b.Workers))
	}
	t.marks()
	return t
}

func positive(ns int64) float64 {
	if ns <= 0 {
		return math.NaN()
	}
	return float64(ns)
}

func (t *timeline) marks() {
	const most = 40
	for _, e := range t.s.Events {
		at := e.At.Seconds()
		if len(t.bins) == 0 || e.At < t.bins[0].Start || e.Kind == "end" || len(t.track.Marks) == most {
			continue
		}
		if e.Kind == "phase" && (e.At <= t.bins[0].Start || e.Text == phaseLoad) {
			continue
		}
		t.track.Marks = append(t.track.Marks, TrackTip{At: at, Text: eventWords(e.Kind, e.Text)})
	}
	if c := t.s.Run.Course; c.WindowEnd > c.WindowStart {
		t.track.Spans = []TrackTip{{At: float64(c.WindowStart) / 1e9, To: float64(c.WindowEnd) / 1e9, Text: "measured"}}
	}
}

// eventWords is an event in a few words; the table of events has all of them.
func eventWords(kind, text string) string {
	switch kind {
	case "phase", "stage":
		return text
	case "failing", "recovered":
		return kind
	}
	return strings.TrimSuffix(kind+": "+text, ": ")
}

func (t *timeline) panel(id, title string, y chart.Axis, lines []TrackRow) *chart.XY {
	c := &chart.XY{
		Frame: chart.Frame{ID: id, Title: title},
		X:     chart.Axis{Label: fmt.Sprintf("time since the start of the run; n = %s", figure.Plural(len(t.bins), "bin")), Unit: chart.Seconds},
		Y:     y, Height: 220, Aligned: true,
	}
	c.X.Low, c.X.High = t.bins[0].Start.Seconds(), t.bins[len(t.bins)-1].End.Seconds()
	for _, l := range lines {
		style := chart.Solid
		if l.Dash {
			style = chart.Dashed
		}
		c.Series = append(c.Series, chart.Series{Name: l.Label, X: t.track.T, Y: l.Values, Style: style, Colour: l.Colour})
	}
	t.track.mark(c, true)
	return c
}

// zoomed adds the lines to the data of the page and lets the figure be zoomed.
func (t *timeline) zoomed(c *chart.XY, note string, lines []TrackRow) *Figure {
	f := newFigure(c, note, nil)
	f.Zoom = &Zoom{Data: t.track.ID, Log: c.Y.Log, Unit: c.Y.Unit}
	t.track.Lines = append(t.track.Lines, lines...)
	for _, l := range lines {
		f.Zoom.Names = append(f.Zoom.Names, l.Name)
	}
	return f
}

func (t *timeline) throughput() *Figure {
	lines := []TrackRow{{Name: "ok", Label: "ok", Unit: "1/s", Values: t.rows["ok"]}}
	note := ""
	if _, high := rangeOf(t.rows["offered"]); high > 0 {
		lines = append(lines, TrackRow{Name: "offered", Label: "offered", Unit: "1/s", Colour: 1, Dash: true, Values: t.rows["offered"]})
		note = "Dashed: operations that were due."
	}
	c := t.panel("throughput", "Throughput", chart.Axis{Label: "operations per second", Unit: chart.PerSecond, Zero: true}, lines)
	low, high := rangeOf(t.measured("ok"))
	c.Description = fmt.Sprintf("Successful operations per second; in the measured time between %s and %s.", figure.Rate(low), figure.Rate(high))
	return t.zoomed(c, note, lines)
}

func (t *timeline) latency() *Figure {
	kind := Capitalised(TimeKind(t.s.Run)) + " time"
	lines := []TrackRow{
		{Name: "p50", Label: "p50", Unit: "ns", Values: t.rows["p50"]},
		{Name: "p99", Label: "p99", Unit: "ns", Colour: 1, Values: t.rows["p99"]},
		{Name: "max", Label: "max", Unit: "ns", Colour: 4, Dash: true, Values: t.rows["max"]},
	}
	c := t.panel("latency", kind, chart.Axis{Label: kind + " of successful operations (logarithmic)", Unit: chart.Nanoseconds, Log: true}, lines)
	c.Limits = timeLimits(t.s.Run)
	_, high := rangeOf(t.measured("p99"))
	_, longest := rangeOf(t.measured("max"))
	c.Description = fmt.Sprintf("Median, 99th percentile and longest %s; in the measured time p99 reaches %s and the longest operation took %s.", kind, duration(high), duration(longest))
	return t.zoomed(c, "", lines)
}

func (t *timeline) errors() *Figure {
	var lines []TrackRow
	for i, name := range []string{"failed", "indeterminate", "dropped"} {
		if _, high := rangeOf(t.rows[name]); high > 0 {
			lines = append(lines, TrackRow{Name: name, Label: name, Unit: "1/s", Colour: i + 1, Dash: i == 1, Values: t.rows[name]})
		}
	}
	if len(lines) == 0 {
		return nil
	}
	c := t.panel("errors", "Not ok", chart.Axis{Label: "operations per second that did not succeed", Unit: chart.PerSecond, Zero: true}, lines)
	c.Height = 160
	c.Description = "Operations per second that failed, that are indeterminate, or that were dropped because they were too late."
	return t.zoomed(c, "", lines)
}

func (t *timeline) workers() *Figure {
	low, high := rangeOf(t.rows["workers"])
	if !(high > low) {
		return nil
	}
	lines := []TrackRow{{Name: "workers", Label: "workers", Unit: "", Values: t.rows["workers"]}}
	c := t.panel("workers", "Workers", chart.Axis{Label: "workers (virtual users)", Zero: true}, lines)
	c.Height = 160
	c.Description = fmt.Sprintf("How many workers there were: from %s to %s.", figure.Count(int64(low)), figure.Count(int64(high)))
	return t.zoomed(c, "", lines)
}

func (t *timeline) inFlight() *Figure {
	if low, _ := rangeOf(t.rows["flight"]); math.IsNaN(low) {
		return nil
	}
	lines := []TrackRow{{Name: "flight", Label: "in flight", Unit: "", Values: t.rows["flight"]}}
	c := t.panel("flight", "Operations in flight", chart.Axis{Label: "operations in flight, mean", Zero: true}, lines)
	c.Height = 160
	_, high := rangeOf(t.measured("flight"))
	c.Description = fmt.Sprintf("Mean number of operations in flight at the same time; at most %s.", figure.Significant(high))
	return t.zoomed(c, "", lines)
}

func (t *timeline) measured(name string) []float64 {
	var list []float64
	for i, v := range t.rows[name] {
		if t.bins[i].Phase == "measure" {
			list = append(list, v)
		}
	}
	return list
}

func (t *timeline) table() *Table {
	x := &Table{Caption: "The numbers behind the charts over time", Folded: true, Charted: true, Left: 2, Header: []string{"from", "phase", "ok/s",
		"offered/s", "failed/s", "indeterminate/s", "p50", "p99", "max", "in flight"}}
	low, high := rangeOf(t.rows["workers"])
	ramps := high > low
	if ramps {
		x.Header = append(x.Header, "workers")
	}
	for i := range t.bins {
		b := &t.bins[i]
		flight := "-"
		if !math.IsNaN(b.InFlight) {
			flight = figure.Significant(b.InFlight)
		}
		x.Rows = append(x.Rows, []string{
			chart.TickText(math.Round(b.Start.Seconds()*10)/10, 0, chart.Seconds), b.Phase, figure.Rate(t.rows["ok"][i]),
			figure.Rate(t.rows["offered"][i]), figure.Rate(t.rows["failed"][i]), figure.Rate(t.rows["indeterminate"][i]),
			duration(t.rows["p50"][i]), duration(t.rows["p99"][i]), duration(t.rows["max"][i]), flight,
		})
		if ramps {
			x.Rows[i] = append(x.Rows[i], figure.Count(int64(b.Workers)))
		}
	}
	return x
}

func eventTable(events []measure.Event) *Table {
	const most = 300
	t := &Table{Caption: "Events", Folded: true, Left: -1, Last: 2, Header: []string{"at", "event", "what"}}
	for i, e := range events {
		if i == most {
			t.Notes = append(t.Notes, fmt.Sprintf("%s more are in %s.", figure.Plural(len(events)-most, "event"),
				record.EventsFile))
			break
		}
		t.Rows = append(t.Rows, []string{figure.Duration(e.At), e.Kind, e.Text})
	}
	return t
}

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
