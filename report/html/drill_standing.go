package html

import (
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
)

// standingTiles are the acknowledgements of writes until now.
func standingTiles(s *record.DrillStanding) []report.Tile {
	if s == nil {
		return nil
	}
	told := "writes of this round, as answered"
	return []report.Tile{
		{Name: "round", Value: fmt.Sprintf("%d of %d", s.Round, s.Rounds), Note: report.DrillStage(s.Stage().Stage)},
		{Name: "acknowledged", Value: figure.Count(s.Told.Acknowledged), Note: told},
		{Name: "not applied", Value: figure.Count(s.Told.NotApplied), Note: "proven by the answer"},
		{Name: "indeterminate", Value: figure.Count(s.Told.Indeterminate), Note: "known after the audit"},
	}
}

// standingSections returns the state of a running drill: the stages of the round, the events, and the previous rounds.
func standingSections(s *Source, prefix string) []Section {
	if s.Standing == nil {
		return nil
	}
	now := Section{ID: prefix + "drill-now", Title: fmt.Sprintf("Round %d of %d, now", s.Standing.Round, s.Standing.Rounds),
		Blocks: []Block{{Points: stagePoints(s.Standing)}}}
	if t := noteTable(s.Standing.Notes); t != nil {
		now.Blocks = append(now.Blocks, Block{Table: t})
	}
	list := []Section{now}
	if t := roundsDone(s.Drill); t != nil {
		list = append(list, Section{ID: prefix + "drill-rounds-done", Title: "Rounds so far", Blocks: []Block{{Table: t}}})
	}
	return list
}

// stagePoints are the stages of a round: those that are over with how long they took, the one it is in, and those that
// come as a rule.
func stagePoints(s *record.DrillStanding) []report.Point {
	var list []report.Point
	seen := map[string]bool{}
	for i, x := range s.Stages {
		seen[x.Stage] = true
		p := report.Point{Grade: report.Good, Mark: "done", Text: report.DrillStage(x.Stage)}
		if i+1 < len(s.Stages) {
			p.Text += ": " + figure.Duration(s.Stages[i+1].At.Sub(x.At))
		} else {
			p.Grade, p.Mark = report.Warn, "now"
			p.Text += ", since " + clockOfDay(x.At)
		}
		list = append(list, p)
	}
	for _, stage := range record.DrillStages() {
		if !seen[stage] && (stage != record.StageHealed || !seen[record.StageRecovery]) {
			list = append(list, report.Point{Grade: report.Note, Mark: "to come", Text: report.DrillStage(stage)})
		}
	}
	return list
}

func clockOfDay(t time.Time) string { return t.UTC().Format("15:04:05") + " UTC" }

func noteTable(notes []record.DrillNote) *Table {
	if len(notes) == 0 {
		return nil
	}
	t := &Table{Caption: "What happened, the newest first", Columns: columns(3, "time (UTC)", "event", "what")}
	for i := len(notes) - 1; i >= 0; i-- {
		kind := notes[i].Kind
		if kind == "" {
			kind = "note"
		}
		t.Rows = append(t.Rows, []string{notes[i].At.UTC().Format("15:04:05.000"), strings.ToUpper(kind[:1]) + kind[1:], notes[i].Text})
	}
	return t
}

func roundsDone(d *record.Drill) *Table {
	t := &Table{Caption: "Rounds that are over", Columns: columns(2, "round", "verdict", "outage", "lost", "why")}
	t.Columns[4].Number = false
	for i := range d.Rounds {
		r := &d.Rounds[i]
		if r.Status == record.Running {
			continue
		}
		outage, lost := "–", "–"
		if e := r.Headline(); e != nil && e.Outage >= 0 {
			outage = duration(e.Outage)
		}
		if l := r.Ledger; l != nil {
			lost = figure.Count(l.LostWrites())
		}
		t.Rows = append(t.Rows, []string{fmt.Sprint(r.Number), string(r.Verdict), outage, lost, strings.Join(r.Reasons, "; ")})
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}
