package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/chart"
)

// drillFiles are what the page of a drill shows besides its main file.
type drillFiles struct {
	*Source
	Drill *record.Drill
	// Round is the run of the round that is shown over time, the one under way or one with the verdict of the drill, nil
	// if there is none. Status is the state of a running drill.
	Round       *runFiles
	RoundNumber int
	Status      *record.DrillStatus
}

func drillKind() *kind {
	k := kindOf("a drill", drillDocument)
	k.name, k.open, k.csv, k.all = record.KindDrill, openDrill, table(drillCSV), "all rounds"
	k.now, k.spark, k.told = drillNow, drillSpark, true
	k.loaded = typed(func(d *record.Drill) []string { return []string{d.Specification.Run.Target, d.Engine} })
	k.list = listed(func(d *record.Drill, e *Entry) {
		e.Labels, e.Lab = d.Specification.Labels, labOf(d.Specification.Run.Target)
		e.loaded(d.Specification.Run.Target, d.Engine, d.Specification.Run.Workload)
	})
	return k
}

func openDrill(into *Source, dir string) error {
	d, err := record.OpenDrill(dir)
	if err != nil {
		return err
	}
	s := &drillFiles{Source: into, Drill: d}
	into.Result, into.files = d, s
	spec := d.Specification
	spec.Out = ""
	s.again, s.command = exactSpec(spec), exactCommand(d.Command)
	Tidy(d)
	if d.Status == record.Running {
		s.note(func() (err error) { s.Status, err = record.ReadStatus(dir); return err })
		Tidy(s.Status)
	}
	s.openRound(dir)
	return nil
}

func (s *drillFiles) openRound(dir string) {
	d := s.Drill
	if len(d.Rounds) == 0 {
		return
	}
	shown := &d.Rounds[len(d.Rounds)-1]
	if d.Status != record.Running {
		for i := range d.Rounds {
			if d.Rounds[i].Verdict == d.Verdict {
				shown = &d.Rounds[i]
				break
			}
		}
	}
	path, err := record.Below(dir, record.RoundsDir+"/"+strconv.Itoa(shown.Number))
	if err != nil || !safeopen.Exists(path, record.RunFile) {
		return // it has not begun, or was not kept
	}
	r := &Source{Dir: path}
	s.note(func() error {
		err := openRun(r, path)
		if err == nil {
			s.Round, _ = r.files.(*runFiles)
			s.RoundNumber, s.Inner = shown.Number, []*Source{r}
		}
		return err
	})
}

// sections are those of the document, with figures of the phases, of all outages and of a round over time behind the
// conclusion. Those of a running drill begin with its state.
func (s *drillFiles) sections(document []Section) []Section {
	list := statusSections(s)
	if len(document) > 0 && document[0].ID == found {
		list, document = append(list, document[0]), document[1:]
	}
	charts := Section{ID: "drill-charts", Title: "Phases",
		Lead: "Times count from the request for the first fault. The fault takes effect some milliseconds later."}
	if drawn := drillCharts(s.Drill); len(drawn) > 0 {
		charts.Parts = []Section{{Figures: drawn}}
	}
	return slices.Concat(appendFilled(list, charts), s.round(), document, s.repeat())
}

func drillCharts(d *record.Drill) []*Figure {
	charts := []*Figure{drillOutages(d)}
	modes := DrillModes(d)
	for i := range modes {
		charts = append(charts, drillShare(&modes[i], len(modes) > 1))
	}
	drawn := 0
	for i := range d.Rounds {
		r := &d.Rounds[i]
		for _, story := range drillStories(r) {
			if f := roundPhases(r, story, len(d.Rounds) > 1); f != nil && drawn < mostPhases {
				charts = append(charts, f)
				drawn++
			}
		}
	}
	return figures(charts...)
}

// mostPhases is the largest number of rounds with a chart of their phases; all of them have a table.
const mostPhases = 10

// round is the course of one round, with the usage of the hosts of the lab, as on the page of its run.
func (s *drillFiles) round() []Section {
	if s.Round == nil {
		return nil
	}
	over := timeSection(s.Round)
	if over.Track == nil {
		return nil
	}
	if len(s.Drill.Rounds) > 1 {
		over.Title = fmt.Sprintf("Round %d over time", s.RoundNumber)
	}
	hosts := Section{ID: "hosts", Title: "Hosts of the lab over time", Lead: "Resources that each host used during the load."}
	if s.Round.Run.Lab != nil {
		if used := labFigures(s.Round, over.Track); len(used) > 0 {
			hosts.Parts = []Section{{Figures: used}}
		}
	}
	list := appendFilled([]Section{over}, hosts)
	for i := range list {
		list[i].prefix("round-") // a page may have the run, too
	}
	return list
}

// roundPhases draws when each step of a round was, since the first fault, each with the time since the step before.
func roundPhases(r *record.DrillRound, story DrillStory, several bool) *Figure {
	if len(r.Faults) == 0 || len(story.Moments) == 0 {
		return nil
	}
	title := "From the fault to redundancy"
	if several {
		title = fmt.Sprintf("Round %d: from the fault to redundancy", r.Number)
	}
	id := fmt.Sprintf("drill-phases-%d", r.Number)
	if story.Shard != "" {
		id, title = id+"-"+story.Shard, title+", on "+story.Shard
	}
	first := r.Faults[0].Injected
	c := &chart.Rows{Frame: chart.Frame{ID: id, Title: title},
		X: chart.Axis{Label: "time after the request for the fault", Unit: chart.Seconds, Zero: true}, Dots: true}
	last := first
	var words []string
	for _, m := range story.Moments {
		name, at := DrillMoment(m.Kind), duration(m.At-first)
		row := chart.Row{Name: name, Value: seconds64(m.At - first), Low: seconds64(last - first),
			High: seconds64(m.At - first), Text: at}
		if m.Kind == record.MomentFault || m.Kind == record.MomentEvent {
			row.Colour = 1
		}
		c.Rows = append(c.Rows, row)
		words = append(words, name+" "+at)
		last = m.At
	}
	note := ""
	if e := r.Of("", story.Shard); e != nil && e.Outage > 0 {
		c.BandLow, c.BandHigh = seconds64(e.OutageFrom-first), seconds64(e.OutageFrom+e.Outage-first)
		note = "Shaded: the outage of " + duration(e.Outage) + ", from the last success before it to the first one after it."
	}
	c.Description = "The time of each step: " + strings.Join(words, "; ") + ". " + note
	return newFigure(c, note, nil) // the timeline has the numbers
}

func seconds64(ns int64) float64 { return time.Duration(ns).Seconds() }

// drillOutages draws the outage of each round, in their order; each failure mode is a series with its own median.
func drillOutages(d *record.Drill) *Figure {
	n := 0
	c := &chart.XY{Frame: chart.Frame{ID: "drill-outages", Title: "Outage of each round"},
		Y: chart.Axis{Label: "outage", Unit: chart.Nanoseconds, Zero: true}, Height: 220}
	modes := DrillModes(d)
	series := make([]chart.Series, len(modes))
	for i := range d.Rounds {
		r := &d.Rounds[i]
		at := slices.IndexFunc(modes, func(m record.DrillMode) bool { return m.Mode == r.Mode() })
		if e := r.Headline(); e != nil && e.Outage >= 0 && at >= 0 {
			series[at].X, series[at].Y = append(series[at].X, float64(r.Number)), append(series[at].Y, float64(e.Outage))
			n++
		}
	}
	if n < 2 {
		return nil
	}
	c.X = chart.Axis{Label: fmt.Sprintf("round; n = %d", n), Low: 0, High: float64(len(d.Rounds) + 1)}
	c.Description = fmt.Sprintf("Outages of %d rounds in their order:", n)
	for i, m := range modes {
		if m.Outages != nil {
			c.Series = append(c.Series, modeSeries(m, series[i], i, len(modes) > 1, float64(len(d.Rounds)+1))...)
			c.Description += fmt.Sprintf(" %s: median %s, longest %s.", modeName(m.Mode),
				duration(m.Outages.Median), duration(m.Outages.Max))
		}
	}
	if x := d.Specification.Expect; x != nil && x.Outage > 0 {
		c.Limits = append(c.Limits, chart.Limit{Y: float64(x.Outage), Text: "allowed " + figure.Duration(x.Outage.Std())})
	}
	return drawn(c, nil) // the table of rounds has the numbers
}

func modeSeries(m record.DrillMode, dots chart.Series, number int, several bool, end float64) []chart.Series {
	median := "median " + duration(m.Outages.Median)
	dots.Name, dots.Unnamed, dots.Dots, dots.Style, dots.Colour = "outage", true, true, chart.Points, 2*number
	if several {
		dots.Name, dots.Unnamed = modeName(m.Mode), false
		median = modeWord(m.Mode) + ", " + median
	}
	return []chart.Series{dots, {Name: median, X: []float64{0, end}, Y: []float64{m.Outages.Median, m.Outages.Median},
		Style: chart.Dashed, Colour: 2*number + 1}}
}

// fewestShares is the smallest number of rounds for a distribution.
const fewestShares = 5

// drillShare draws in which share of the rounds of a failure mode operations succeeded again within a time.
func drillShare(m *record.DrillMode, several bool) *Figure {
	if m.Outages == nil || len(m.Outages.Values) < fewestShares {
		return nil
	}
	values := slices.Sorted(slices.Values(m.Outages.Values))
	n := len(values)
	id, title := "drill-outage-share", "Length of outages over all rounds"
	if several {
		id += "-" + strings.ReplaceAll(m.Mode, "+", "-")
		title = "Length of outages: " + modeName(m.Mode)
	}
	c := &chart.XY{Frame: chart.Frame{ID: id, Title: title},
		X: chart.Axis{Label: fmt.Sprintf("outage; n = %d rounds", n), Unit: chart.Nanoseconds, Zero: true},
		Y: chart.Axis{Label: "share of rounds with at most this outage", Unit: chart.Share, Zero: true, High: 1}, Height: 220}
	line := chart.Series{Name: "rounds", Unnamed: true}
	numbers := &Table{Left: -1, Header: []string{"outage at most", "rounds", "share"}}
	for i, v := range values { // steps, because nothing is between two rounds
		below, here := float64(i)/float64(n), float64(i+1)/float64(n)
		line.X, line.Y = append(line.X, v, v), append(line.Y, below, here)
		numbers.Rows = append(numbers.Rows, []string{duration(v), fmt.Sprintf("%d of %d", i+1, n),
			figure.Percent(here)})
	}
	c.Series = []chart.Series{line}
	c.Description = fmt.Sprintf("Half of %d rounds had an outage of at most %s, all of them of at most %s.", n,
		duration(m.Outages.Median), duration(values[n-1]))
	return drawn(c, numbers)
}
