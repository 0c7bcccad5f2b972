package html

import (
	"fmt"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/html/chart"
)

// openDrill reads the record of a drill.
func (s *Source) openDrill(dir string) error {
	d, err := record.OpenDrill(dir)
	if err != nil {
		return err
	}
	spec := d.Specification
	spec.Out = ""
	s.again, s.command = exactSpec(spec), exactCommand(d.Command)
	Tidy(d)
	s.Drill = d
	return nil
}

func drillTitle(d *record.Drill) string { return report.DrillTitle(d) }

// drillAnswer is the first screen of a drill.
func drillAnswer(d *record.Drill, prefix string) Answer {
	a := Answer{ID: prefix + "answer", Headline: report.DrillTitle(d), Kind: "warn", Verdict: report.DrillVerdict(d), Problem: d.Problem,
		Findings: findingPoints(d.Validity)}
	switch {
	case d.Verdict == record.Violated || d.Status == record.Failed:
		a.Kind = "bad"
	case d.Verdict == record.Holds && d.Status == record.Complete:
		a.Kind = "good"
	}
	if d.Outages != nil {
		a.Tiles = append(a.Tiles, Tile{"outage", figure.Duration(time.Duration(d.Outages.Median)), drillRounds(d.Outages)})
	}
	if d.Losses != nil {
		a.Tiles = append(a.Tiles, Tile{"acknowledged writes lost", figure.Count(int64(d.Losses.Max)), drillRounds(d.Losses)})
	}
	if n := len(d.Rounds); n > 0 {
		r := &d.Rounds[n-1]
		for _, m := range r.Moments {
			if m.Kind == record.MomentRedundant && len(r.Faults) > 0 {
				a.Tiles = append(a.Tiles, Tile{"redundancy back", figure.Duration(time.Duration(m.At - r.Faults[0].Injected)), "after the fault"})
			}
		}
		if r.Ledger != nil {
			a.Tiles = append(a.Tiles, Tile{"acknowledged writes", figure.Count(r.Ledger.Acknowledged), "read back one by one"})
		}
	}
	for _, f := range d.Specification.Faults {
		a.Facts = append(a.Facts, Fact{"Fault", f.Fault})
	}
	a.Facts = append(a.Facts, Fact{"Target", d.Specification.Run.Target}, Fact{"Begun", d.Started.UTC().Format("2006-01-02 15:04:05") + " UTC"})
	return a
}

func drillRounds(s *record.Spread) string {
	if n := len(s.Values); n > 1 {
		return fmt.Sprintf("of %d rounds", n)
	}
	return "one round"
}

// drillSections are the sections that the terminal prints, with charts of the phases and of all outages.
func drillSections(s *Source, prefix string) []Section {
	var list []Section
	for i, part := range report.DrillSections(s.Drill) {
		if i == 0 {
			part.Title = "What was found"
		}
		section := shared(part)
		section.ID = prefix + section.ID
		list = append(list, section)
	}
	var charts []Block
	for i := range s.Drill.Rounds {
		if f := drillPhases(&s.Drill.Rounds[i], prefix); f != nil {
			charts = append(charts, Block{Figure: f})
		}
	}
	if f := drillOutages(s.Drill, prefix); f != nil {
		charts = append(charts, Block{Figure: f})
	}
	if len(charts) > 0 {
		list = append(list[:1:1], append([]Section{{ID: prefix + "drill-charts", Title: "Phases", Blocks: charts}}, list[1:]...)...)
	}
	if s.command.text != "" {
		list = append(list, Section{ID: prefix + "again", Title: "Do it again", Blocks: []Block{{Code: &Code{Label: "the command", Text: s.command.text}}}})
	}
	return list
}

// drillPhases draws when each step of a round was, since the first fault.
func drillPhases(r *record.DrillRound, prefix string) *Figure {
	if len(r.Faults) == 0 || len(r.Moments) == 0 {
		return nil
	}
	c := &chart.XY{Frame: chart.Frame{ID: fmt.Sprintf("%sdrill-phases-%d", prefix, r.Number), Title: fmt.Sprintf("Round %d: from the fault to redundancy", r.Number),
		Description: "Each point is one step of the timeline; the shaded stretch is the outage."},
		X: chart.Axis{Label: "after the fault", Unit: chart.Seconds}, Y: chart.Axis{Label: "step", Zero: true}}
	first := r.Faults[0].Injected
	line := chart.Series{Name: "steps", Dots: true}
	numbers := &Table{Columns: columns(0, "step", "after the fault", "what")}
	for i, m := range r.Moments {
		at := time.Duration(m.At - first).Seconds()
		line.X, line.Y = append(line.X, at), append(line.Y, float64(i))
		numbers.Rows = append(numbers.Rows, []string{fmt.Sprint(i), figure.Duration(time.Duration(m.At - first)), m.Kind + ": " + m.Text})
	}
	for _, e := range r.Effects {
		if e.Class == "" && e.Client == -1 && e.Outage > 0 {
			from := time.Duration(e.OutageFrom - first).Seconds()
			c.Spans = append(c.Spans, chart.Span{From: from, To: from + time.Duration(e.Outage).Seconds()})
		}
	}
	c.Series = []chart.Series{line}
	return drawn(c, numbers)
}

// drillOutages draws the outage of each round.
func drillOutages(d *record.Drill, prefix string) *Figure {
	if d.Outages == nil || len(d.Outages.Values) < 2 {
		return nil
	}
	c := &chart.XY{Frame: chart.Frame{ID: prefix + "drill-outages", Title: "Outage of each round", Description: "The scatter is what one round cannot show."},
		X: chart.Axis{Label: "round"}, Y: chart.Axis{Label: "outage", Unit: chart.Nanoseconds, Zero: true}}
	line := chart.Series{Name: "outage", Dots: true}
	numbers := &Table{Columns: columns(0, "round", "outage")}
	for i, v := range d.Outages.Values {
		line.X, line.Y = append(line.X, float64(i+1)), append(line.Y, v)
		numbers.Rows = append(numbers.Rows, []string{fmt.Sprint(i + 1), figure.Duration(time.Duration(v))})
	}
	c.Series = []chart.Series{line}
	return drawn(c, numbers)
}
