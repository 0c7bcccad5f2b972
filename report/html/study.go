package html

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/spec"
)

func studyTitle(s *record.Study) string { return capital(report.StudyTitle(s)) }

// maxAnswered is how many objectives the first screen has room for.
const maxAnswered = 12

// studyAnswer is the first screen of a study.
func studyAnswer(s *record.Study, prefix string) Answer {
	a := Answer{ID: prefix + "answer", Headline: studyTitle(s), Problem: s.Problem, Kind: kindOf(s.Validity, s.Status)}
	a.Verdict = report.StudyVerdict(s)
	if report.StudyMissed(s) {
		a.Kind = "bad"
	}
	for _, o := range s.Objectives {
		p := Point{"bad", "✗ missed", ""}
		switch {
		case o.Holds:
			p = Point{"good", "✓ holds", ""}
		case !o.Missed():
			p = Point{"warn", "? unknown", ""}
		}
		p.Text = fmt.Sprintf("%s at %s: met by %d of %s", o.Objective, o.Configuration, o.Met, figure.Plural(o.N, "trial"))
		if o.Exploratory {
			p.Text += " (exploratory, does not decide)"
		}
		a.Objectives = append(a.Objectives, p)
	}
	a.Objectives = short(a.Objectives, maxAnswered, "objective")
	a.Findings = append(comparisonPoints(s.Comparisons), findingPoints(s.Validity)...)
	a.Tiles = studyTiles(s)
	a.Badges = studyBadges(s)
	spec := s.Specification
	a.Facts = facts("Engine", s.Engine, "Base", baseText(s.Base), "Factors", factorText(spec), "Trials", fmt.Sprintf("%d per configuration, order %s, seed %d", spec.Trials, spec.Order, spec.Seed),
		"Comparisons", report.ComparisonsText(s.Comparisons), "Margin", figure.Percent(float64(spec.Margin))+" is the smallest change that matters", "Intervals", figure.Percent(float64(spec.Confidence))+" confidence",
		"Durability", Durability(&record.Run{Specification: s.Base}), "Load made by", Machine(s.Environment),
		"Started", s.Started.UTC().Format("2006-01-02 15:04:05")+" UTC with "+Version(s.Tool))
	if spec.Lab != nil {
		a.Facts = append(a.Facts, Fact{"Lab of the base", report.LabSpecLine(*spec.Lab)})
	}
	return a
}

// short keeps the first points of a list, and says how many more there are.
func short(list []Point, most int, what string) []Point {
	if len(list) <= most {
		return list
	}
	more := len(list) - most
	return append(list[:most:most], Point{Kind: "note", Text: fmt.Sprintf("and %s more below", figure.Plural(more, what))})
}

func kindOf(list []measure.Finding, status record.Status) string {
	switch worst := measure.Worst(list); {
	case worst == measure.Invalid || status == record.Failed:
		return "bad"
	case worst == measure.Warning || status != record.Complete:
		return "warn"
	}
	return "good"
}

func baseText(b spec.Run) string {
	text := fmt.Sprintf("workload %s on %s, %s records, %s", workloadName(b.Workload), b.Target, figure.Count(int64(b.Workload.Records)), figure.Plural(int(b.Load.Workers), "worker"))
	if b.Load.Rate > 0 {
		text += ", open loop of " + figure.Rate(float64(b.Load.Rate)) + "/s"
	}
	return text
}

func factorText(s spec.Study) string {
	var list []string
	for i := range s.Factors {
		var names []string
		for _, l := range s.Factors[i].Levels {
			name := l.Name
			if name == "" {
				name = fmt.Sprint(l.Value)
			}
			names = append(names, name)
		}
		list = append(list, factorName(&s.Factors[i])+": "+strings.Join(names, ", "))
	}
	if len(list) > 1 {
		list = append(list, "combined "+s.Combine)
	}
	return strings.Join(list, "; ")
}

// factorName is what a factor is called; without a name, the last part of its path.
func factorName(f *spec.Factor) string { return f.Title() }

func studyTiles(s *record.Study) []Tile {
	var list []Tile
	if c := s.Capacity; c != nil {
		t := Tile{"Capacity", figure.Rate(c.Rate) + " ops/s", "confirmed by fresh trials; measured, not extrapolated"}
		switch {
		case c.Rate == 0:
			t.Value, t.Note = "none", "not even the lowest rate held the objectives"
		case !c.Confirmed:
			t.Note = "NOT confirmed"
		case c.AtLeast:
			t.Value, t.Note = "≥ "+t.Value, "the highest rate that was allowed still held"
		}
		list = append(list, t)
	}
	for _, p := range s.Procedures {
		t := Tile{"Chosen " + p.Path[strings.LastIndexByte(p.Path, '.')+1:], procedureValue(p.Path, p.Chosen), "procedure " + p.Name}
		if !p.Settled {
			t.Note += ", which did NOT settle"
		}
		list = append(list, t)
	}
	list = append(list, levelTiles(s)...)
	if best := bestOf(s.Comparisons); best != nil {
		list = append(list, Tile{"Largest gain of throughput", report.ChangeText(best), best.Configuration + ", n = " + fmt.Sprint(best.N)})
	}
	done, invalid := 0, 0
	for _, t := range s.Trials {
		if t.Status == record.TrialDone && t.Kind != record.TrialSearch {
			done++
			if measure.Worst(t.Validity) == measure.Invalid {
				invalid++
			}
		}
	}
	note := "all of them count"
	if invalid > 0 {
		note = fmt.Sprintf("%d of them are invalid and do not count", invalid)
	}
	return append(list, Tile{"Trials done", figure.Count(int64(done)), note})
}

// procedureValue prints what a procedure chose.
func procedureValue(path string, x float64) string {
	if strings.HasSuffix(path, "duration") {
		return seconds(x)
	}
	return figure.Count(int64(x))
}

// bestOf is the configuration with the largest significant gain of throughput, nil if none has one.
func bestOf(list []record.Comparison) *record.Comparison {
	var best *record.Comparison
	for i := range list {
		c := &list[i]
		if c.Metric == "throughput" && c.Verdict == record.Better && c.Ratio != nil && (best == nil || *c.Ratio > *best.Ratio) {
			best = c
		}
	}
	return best
}

// comparisonPoints are the changes that matter, in one sentence each, the largest first.
func comparisonPoints(list []record.Comparison) []Point {
	var told []*record.Comparison
	open := 0
	for i := range list {
		switch c := &list[i]; c.Verdict {
		case record.Better, record.Worse:
			told = append(told, c)
		case record.Inconclusive:
			open++
		}
	}
	slices.SortStableFunc(told, func(a, b *record.Comparison) int { return cmp.Compare(size(b), size(a)) })
	var points []Point
	for _, c := range told {
		kind := "good"
		if c.Verdict == record.Worse {
			kind = "warn"
		}
		points = append(points, Point{kind, string(c.Verdict), fmt.Sprintf("%s against %s: %s %s %s, n = %d + %d", c.Configuration, c.Baseline,
			c.Metric, report.ChangeText(c), report.IntervalText(c), c.N, c.NBase)})
	}
	points = short(points, 6, "change")
	if open > 0 {
		what := "comparison"
		if len(points) > 0 {
			what = "other comparison"
		}
		points = append(points, Point{"note", "~", fmt.Sprintf("of %s nothing can be said; more trials would tell", figure.Plural(open, what))})
	}
	return points
}

func size(c *record.Comparison) float64 {
	if c.Ratio == nil || *c.Ratio <= 0 {
		return 0
	}
	return math.Abs(math.Log(*c.Ratio))
}

// studyBadges say what was looked at in the study as a whole.
func studyBadges(s *record.Study) []Point {
	n := map[string]int{}
	bad := 0
	for _, t := range s.Trials {
		if t.Kind != record.TrialCompared {
			continue
		}
		if t.Status == record.TrialDone && measure.Worst(t.Validity) != measure.Invalid {
			n[t.Configuration]++
		} else if t.Status.Begun() && t.Status != record.TrialRunning {
			bad++
		}
	}
	least := math.MaxInt
	for _, c := range s.Configurations {
		least = min(least, n[c.ID])
	}
	list := []Point{{"good", "✓", fmt.Sprintf("at least %s per configuration", figure.Plural(least, "trial"))}}
	if least < 3 {
		list[0].Kind, list[0].Mark = "warn", "!"
	}
	if bad > 0 {
		list = append(list, Point{"warn", "!", fmt.Sprintf("%s failed or invalid", figure.Plural(bad, "trial"))})
	} else {
		list = append(list, Point{"good", "✓", "every trial counts"})
	}
	if c := s.Canary; c != nil {
		p := Point{"good", "✓", fmt.Sprintf("drift %s over %s", figure.Change(1+c.Drift), figure.Plural(c.N, "repeated baseline"))}
		if c.P != nil && *c.P < 0.05 {
			p.Kind, p.Mark = "warn", "!"
		}
		list = append(list, p)
	}
	return list
}

// studySections are the tables of the study, with a chart before each that has one.
func studySections(src *Source, prefix string) []Section {
	s := src.Study
	var list []Section
	all := report.StudySections(s)
	for i := 1; i < len(all); i++ { // the first one is the answer
		if all[i].Title == "validity" || all[i].Title == "objectives" && len(s.Objectives) <= maxAnswered {
			continue // the answer has them
		}
		sec := shared(all[i])
		sec.ID = prefix + sec.ID
		var figures []Block
		for _, f := range studyFigures(s, all[i].Title, sec.ID) {
			if f != nil {
				figures = append(figures, Block{Figure: f})
			}
		}
		sec.Blocks = append(figures, sec.Blocks...)
		list = append(list, sec)
	}
	return append(list, studyDisclosure(src, prefix))
}

// studyFigures draws what belongs to a section of the tables.
func studyFigures(s *record.Study, title, id string) []*Figure {
	switch {
	case strings.HasPrefix(title, "procedure "):
		for i := range s.Procedures {
			if strings.HasPrefix(title, "procedure "+s.Procedures[i].Name+":") {
				return []*Figure{procedureFigure(&s.Procedures[i], id)}
			}
		}
	case strings.HasPrefix(title, "capacity"):
		return []*Figure{capacityFigure(s.Capacity, id), hockeyFigure(s, id)}
	case strings.HasPrefix(title, "changes"):
		return forestFigures(s.Comparisons, float64(s.Specification.Margin), timeOf(s), id)
	case strings.HasPrefix(title, "trials"):
		return []*Figure{trialFigure(s, id)}
	case title == "configurations":
		return levelFigures(s, nil, id)
	case strings.HasPrefix(title, "published: "):
		return publishedFigures(s, title, id)
	}
	for i := range s.Specification.Factors {
		if f := &s.Specification.Factors[i]; factorName(f) == title {
			return levelFigures(s, f, id)
		}
	}
	return nil
}
