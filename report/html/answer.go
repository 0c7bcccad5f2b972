package html

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
)

// Answer is the first thing on a page: what a person decides from.
type Answer struct {
	// ID links to it from elsewhere; Headline is what was loaded with what.
	ID       string
	Headline string
	// Kind is "good", "warn" or "bad": the colour of the verdict, which is also said in words.
	Kind    string
	Verdict string
	Problem string
	Tiles   []Tile
	// Objectives and Findings have a sentence each; Badges say what was checked.
	Objectives []Point
	Findings   []Point
	Badges     []Point
	Facts      []Fact
}

// answerOf is the first screen of a run.
func answerOf(r *record.Run) Answer {
	a := Answer{Headline: Headline(r), Kind: "good", Verdict: Verdict(r), Problem: r.Problem}
	switch worst := measure.Worst(r.Validity); {
	case worst == measure.Invalid || r.Status == record.Failed || report.RunMissed(r):
		a.Kind = "bad"
	case worst == measure.Warning || unknown(r) || r.Status != record.Complete:
		a.Kind = "warn"
	}
	p := r.Phase("measure")
	a.Objectives = objectivePoints(r.Objectives)
	a.Findings = findingPoints(r.Validity)
	if p == nil {
		a.Facts = append(a.Facts, Fact{"Measured", "nothing was measured (" + string(r.Status) + ")"})
	} else {
		a.Tiles = tiles(r, p)
		a.Badges = badges(r, p)
		a.Facts = append(a.Facts, facts("Load", Load(r, p), "Achieved", Achieved(p), "Attempted", Attempted(p))...)
	}
	a.Facts = append(a.Facts, Fact{"Durability", Durability(r)}, Fact{"Data", Data(r)}, Fact{"Target", targetText(r)})
	if r.Lab != nil {
		a.Facts = append(a.Facts, Fact{"Lab", report.LabLine(r.Lab)})
	}
	a.Facts = append(a.Facts, Fact{"Load made by", Machine(r.Environment)}, Fact{"Measured", whenText(r)})
	return a
}

func unknown(r *record.Run) bool {
	return slices.ContainsFunc(r.Objectives, func(o measure.ObjectiveResult) bool { return o.Unknown })
}

func whenText(r *record.Run) string {
	text := r.Started.UTC().Format("2006-01-02 15:04:05") + " UTC"
	if v := Version(r.Tool); v != "" {
		text += " with " + v
	}
	return text
}

func targetText(r *record.Run) string {
	text := r.Target.Address
	said := strings.TrimSuffix(text, ":") // the address of a target without a server says what it is
	for _, v := range []string{strings.TrimSpace(r.Target.Kind + " " + r.Target.Version), r.Target.Topology} {
		if v != "" && v != said {
			text += ", " + v
		}
	}
	for _, key := range []string{"storage.wiredTiger.cacheSizeGB", "wiredTiger.cacheSizeBytes", "cacheSizeGB", "cache"} {
		if v := r.Target.Settings[key]; v != "" {
			text += ", " + key + " " + v
		}
	}
	return text
}

// tiles are the figures that decide: how much, how long, what is lost.
func tiles(r *record.Run, p *record.PhaseResult) []Tile {
	all := p.All
	achieved := Tile{"Throughput", figure.Rate(p.Rates.Achieved) + " ok/s", "closed loop: as fast as answers come"}
	if p.Offered > 0 {
		achieved.Note = fmt.Sprintf("of %s offered (%s)", figure.Rate(p.Rates.Offered), figure.Percent(p.Rates.Achieved/p.Rates.Offered))
	}
	what, l := "Service time", all.Service
	if r.Scheduled {
		what, l = "Response time", all.Response
	}
	list := []Tile{achieved}
	if l != nil {
		n := "n = " + figure.Count(l.Count)
		list = append(list, Tile{what + " p50", duration(orTime(l.P50)), n}, Tile{what + " p99", duration(orTime(l.P99)), beyond(l.Count, 0.99)},
			Tile{what + " p99.9", duration(orTime(l.P999)), beyond(l.Count, 0.999)})
	}
	return append(list, lossTile(r, p))
}

// loss is how many operations that were asked for did not succeed, and how many were asked for. Those that were given
// up or were never sent are among both: nobody who waits for them can tell the difference.
func loss(r *record.Run, p *record.PhaseResult) (bad, all int64) {
	gone := p.Dropped + r.Course.Unsent
	return p.Counts.Bad() + gone, p.Counts.Attempted + gone
}

func lossTile(r *record.Run, p *record.PhaseResult) Tile {
	bad, all := loss(r, p)
	note := fmt.Sprintf("%s failed, %s indeterminate", figure.Count(p.Counts.Failed), figure.Count(p.Counts.Indeterminate))
	if p.Dropped > 0 {
		note += fmt.Sprintf(", %s dropped", figure.Count(p.Dropped))
	}
	if n := r.Course.Unsent; n > 0 {
		note += fmt.Sprintf(", %s unsent", figure.Count(n))
	}
	return Tile{"Not ok", figure.Percent(ratio(float64(bad), float64(all))), note}
}

// beyond says how many values a percentile stands on.
func beyond(n int64, q float64) string {
	if n < measure.MinCount(q) {
		return "too few values to state it"
	}
	return figure.Count(n-int64(q*float64(n))) + " values at or beyond"
}

func objectivePoints(list []measure.ObjectiveResult) []Point {
	var points []Point
	for _, o := range list {
		p := Point{"bad", "✗ missed", o.Objective}
		switch {
		case o.Unknown:
			p = Point{"warn", "? unknown", o.Objective + ": " + o.Why}
		case o.Met:
			p = Point{"good", "✓ met", o.Objective}
		}
		if o.Measured != nil {
			p.Text += ": " + figure.Value(*o.Measured, o.Unit)
		}
		points = append(points, p)
	}
	return points
}

func findingPoints(list []measure.Finding) []Point {
	var points []Point
	for _, f := range list {
		p := Point{"note", "note", f.ID + ": " + f.Text}
		switch f.Severity {
		case measure.Invalid:
			p.Kind, p.Mark = "bad", "invalid"
		case measure.Warning:
			p.Kind, p.Mark = "warn", "warning"
		}
		points = append(points, p)
	}
	return points
}

// check is what a badge stands for: it is good if none of its findings was made.
type check struct {
	name     string
	findings []string
	applies  func(*record.Run, *record.PhaseResult) bool
}

func always(*record.Run, *record.PhaseResult) bool { return true }

// checks are the questions of the validity; docs/run.md lists the findings.
var checks = []check{
	{"steady", []string{"not-steady", "latency-drift", "too-short"}, func(r *record.Run, _ *record.PhaseResult) bool {
		return len(r.Specification.Load.Stages) == 0
	}},
	{"offered = achieved", []string{"schedule-not-sustained", "unsent"}, func(_ *record.Run, p *record.PhaseResult) bool { return p.Offered > 0 }},
	{"client not the limit", []string{"client-cpu", "client-limited", "client-scheduler", "client-gc", "pool-wait", "client-lost"}, always},
	{"sent on time", []string{"schedule-lateness"}, func(_ *record.Run, p *record.PhaseResult) bool { return p.Offered > 0 }},
	{"clocks and counts agree", []string{"littles-law", "displaced", "not-counted", "events-lost"}, always},
	{"target was there", []string{"outage", "nothing", "nothing-succeeded"}, always},
	{"enough values", []string{"few-samples"}, always},
	{"content as written", []string{"corrupt", "short-data"}, always},
	{"writes confirmed", []string{"unacknowledged", "concern-ignored", "indeterminate"}, always},
	{"record whole", []string{"interrupted", "failed", "abandoned", "incomplete", "altered", "unsummed", "nothing-measured", "unwritten"}, always},
}

// badges say what was looked at, and what came of it.
func badges(r *record.Run, p *record.PhaseResult) []Point {
	var list []Point
	for _, c := range checks {
		if !c.applies(r, p) {
			continue
		}
		b := Point{"good", "✓", c.name}
		for _, f := range r.Validity {
			if !slices.Contains(c.findings, f.ID) {
				continue
			}
			switch {
			case f.Severity == measure.Invalid:
				b.Kind, b.Mark = "bad", "✗"
			case f.Severity == measure.Warning && b.Kind != "bad":
				b.Kind, b.Mark = "warn", "!"
			case f.Severity == measure.Note && b.Kind == "good":
				b.Kind, b.Mark = "note", "·"
			}
		}
		if b.Kind == "note" {
			b.Text += " (with a note)"
		}
		list = append(list, b)
	}
	return list
}
