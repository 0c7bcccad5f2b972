package report

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// statusTiles are the acknowledgements of writes until now.
func statusTiles(s *record.DrillStatus) []Tile {
	if s == nil {
		return nil
	}
	told := "writes of this round, as answered"
	return []Tile{
		{Name: "round", Value: fmt.Sprintf("%d of %d", s.Round, s.Rounds), Note: drillStage(s.Stage().Stage)},
		{Name: "acknowledged", Value: figure.Count(s.Writes.Acknowledged), Note: told},
		{Name: "not applied", Value: figure.Count(s.Writes.NotApplied), Note: "proven by the answer"},
		{Name: "indeterminate", Value: figure.Count(s.Writes.Indeterminate), Note: "known after the audit"},
	}
}

// statusSections returns the state of a running drill: the stages of the round, the events, and the previous rounds.
func statusSections(s *drillFiles) []Section {
	if s.Status == nil {
		return nil
	}
	now := Section{ID: "drill-now", Title: fmt.Sprintf("Round %d of %d, now", s.Status.Round, s.Status.Rounds),
		Parts: []Section{{Points: stagePoints(s.Status)}}}
	if t := noteTable(s.Status.Notes); t != nil {
		now.Parts = append(now.Parts, Section{Table: t})
	}
	list := []Section{now}
	if t := roundsDone(s.Drill); t != nil {
		list = append(list, Section{ID: "drill-rounds-done", Title: "Rounds so far", Parts: []Section{{Table: t}}})
	}
	return list
}

// stagePoints are the stages of a round: those that are over with how long they took, the one it is in, and those that
// come as a rule.
func stagePoints(s *record.DrillStatus) []Point {
	var list []Point
	seen := map[string]bool{}
	for i, x := range s.Stages {
		seen[x.Stage] = true
		p := Point{Grade: Good, Mark: "done", Text: drillStage(x.Stage)}
		if i+1 < len(s.Stages) {
			p.Text += ": " + figure.Duration(s.Stages[i+1].At.Sub(x.At))
		} else {
			p.Grade, p.Mark = Warn, "now"
			p.Text += ", since " + clockOfDay(x.At)
		}
		list = append(list, p)
	}
	for _, stage := range record.DrillStages() {
		if !seen[stage] && (stage != record.StageHealed || !seen[record.StageRecovery]) {
			list = append(list, Point{Grade: Note, Mark: "to come", Text: drillStage(stage)})
		}
	}
	return list
}

func clockOfDay(t time.Time) string { return t.UTC().Format("15:04:05") + " UTC" }

func noteTable(notes []record.DrillNote) *Table {
	if len(notes) == 0 {
		return nil
	}
	t := &Table{Caption: "What happened, the newest first", Left: 3, Header: []string{"time (UTC)", "event", "what"}}
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
	t := &Table{Caption: "Rounds that are over", Left: 2, Header: []string{"round", "verdict", "outage", "lost", "why"}, Last: 1}
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

func drillNow(dir string) (say Now, err error) {
	s, err := record.ReadStatus(dir)
	if err != nil || s == nil || s.Round == 0 {
		return say, err
	}
	stage := s.Stage()
	say.Text = fmt.Sprintf("round %d of %d: %s, for %s; %s acknowledged, %s not applied, %s indeterminate", s.Round, s.Rounds,
		drillStage(stage.Stage), clock(int64(time.Since(stage.At))), figure.Count(s.Writes.Acknowledged),
		figure.Count(s.Writes.NotApplied), figure.Count(s.Writes.Indeterminate))
	round := path.Join(record.RoundsDir, strconv.Itoa(s.Round))
	if holds(dir, round) {
		say.Running = []NowPart{{round, "its run"}}
	}
	return say, nil
}
