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
	"github.com/plimsoll-bench/plimsoll/spec"
)

// studyDocument describes a study: verdict and doubts first, then what was found beforehand, the configurations by
// factor, each change against the baseline, drift, and all trials in the order of their execution.
func studyDocument(s *record.Study, on *studyFiles) *Document {
	v := newStudyView(s)
	v.drawn = on != nil
	d := &Document{Title: studyTitle(s), Sentence: true, Grade: gradeOf(s.Validity, s.Status), Problem: s.Problem,
		Tiles: v.tiles(), Checks: v.checks(),
		Findings: append(comparisonPoints(s.Comparisons), findingPoints(s.Validity)...)}
	h := studyObjectives(s)
	d.Brief = verdict(h, s.Validity, s.Status)
	if h.missed > 0 {
		d.Grade = Bad
	}
	d.Objectives = studyObjectivePoints(s.Objectives)
	answer := studyAnswer(s, h)
	if decided := decidedAnswer(s); decided != "" {
		answer = join("; ", h.short(), decided)
	}
	d.conclude(s.Validity, s.Status, answer, studyBasis(s))
	d.Summary, d.Next = changesSummary(s.Comparisons), studyNext(s)
	undecided := openComparisons(s.Comparisons) > 0 && largestChange(s.Comparisons) == nil && h.all() == 0
	if undecided && d.Grade == Good {
		d.Grade = Warn
	}
	if len(d.Objectives) > mostObjectives {
		d.Sections = append(d.Sections, Section{ID: "objectives", Title: "objectives", Points: d.Objectives})
		d.Objectives = short(d.Objectives, mostObjectives, "objective")
	}
	for _, p := range s.Procedures {
		d.Where = cmp.Or(d.Where, limitLine(p.LimitedBy))
	}
	capacity := ""
	if s.Capacity != nil {
		capacity, d.Where = capacityText(s.Capacity), cmp.Or(limitLine(s.Capacity.LimitedBy), d.Where)
	}
	asked := s.Specification
	d.Facts = Facts(
		"load line", capacity,
		"comparisons", comparisonsText(s.Comparisons),
		"engine", s.Engine,
		"base", baseText(s.Base),
		"factors", factorText(asked),
		"trials", fmt.Sprintf("%d per configuration, order %s, seed %d", asked.Trials, asked.Order, asked.Seed),
		"margin", figure.Percent(float64(asked.Margin))+" is the smallest change that matters",
		"intervals", figure.Percent(float64(asked.Confidence))+" confidence",
		"durability", Durability(&record.Run{Specification: s.Base}),
		"machine", machine(s.Environment),
		"begun", begun(&s.Head),
	)
	if asked.Lab != nil {
		d.Facts = append(d.Facts, Fact{"lab", labSpecLine(*asked.Lab)})
	}
	d.Facts = append(d.Facts, vsphereFacts(s.VSphere)...)
	for i := range s.Procedures {
		x := procedureSection(&s.Procedures[i])
		x.ID = nthID("procedure", i)
		if v.drawn {
			x.draw(procedureFigure(&s.Procedures[i], x.ID))
		}
		d.Sections = append(d.Sections, x)
	}
	if s.Capacity != nil {
		x := capacitySection(s.Capacity)
		if v.drawn {
			x.draw(capacityFigure(s.Capacity, x.ID), hockeyFigure(s, x.ID))
		}
		d.Sections = append(d.Sections, x)
	}
	d.Sections = append(append(d.Sections, v.factors()...), v.published()...)
	changes, trials := changesSection("changes", "changes against the baseline", s.Comparisons), v.list()
	if v.drawn {
		changes.draw(forestFigures(s.Comparisons, float64(s.Specification.Margin), timeOf(s), changes.ID)...)
		trials.draw(trialFigure(s, trials.ID))
	}
	d.Sections = appendFilled(d.Sections, effectsSection(s.Effects), changes, storageSection(s.Trials), v.canary(), trials)
	if v.drawn {
		d.Sections = append(append(d.Sections, predictedSections(s)...), studyDisclosure(on))
	}
	return d
}

// studyNext continues a study that is not complete or could not tell; otherwise it shows the report.
func studyNext(s *record.Study) Next {
	if done, planned := progress(s); done < planned && s.Status != record.Running {
		return Next{"plimsoll study resume DIR", "the trials that are missing"}
	}
	if command := decidedNext(s); command != "" {
		return Next{command, "continues for another " + elapsed(s.Specification.Budget.Std())}
	}
	return reportNext()
}

// studyObjectivePoints are the objectives at each configuration, with their results.
func studyObjectivePoints(list []record.ConfigurationObjective) (points []Point) {
	for _, o := range list {
		p := Point{Bad, "missed", ""}
		switch {
		case o.Holds:
			p = Point{Good, "holds", ""}
		case !o.Missed():
			p = Point{Warn, "unknown", ""}
		}
		p.Text = fmt.Sprintf("%s at %s: met by %d of %s", o.Objective, o.Configuration, o.Met,
			figure.Plural(o.N, "trial"))
		if o.Unknown > 0 {
			p.Text += fmt.Sprintf(", %d undecided", o.Unknown)
		}
		if o.Exploratory {
			p.Text += " (exploratory, does not decide)"
		}
		points = append(points, p)
	}
	return points
}

// mostObjectives is the largest number of objectives on the first screen.
const mostObjectives = 12

func baseText(b spec.Run) string {
	text := fmt.Sprintf("workload %s on %s, %s documents, %s", workloadName(b.Workload), disclosed(b.Target, b.Target),
		figure.Count(int64(b.Workload.Records)), figure.Plural(int(b.Load.Workers), "worker"))
	if b.Load.Rate > 0 {
		text += ", open loop of " + figure.Rate(float64(b.Load.Rate)) + "/s"
	}
	return text
}

// factorText names the factors of a study with their levels.
func factorText(s spec.Study) string {
	var list []string
	for i := range s.Factors {
		var names []string
		for _, l := range s.Factors[i].Levels {
			names = append(names, cmp.Or(l.Name, fmt.Sprint(l.Value)))
		}
		list = append(list, s.Factors[i].Title()+": "+strings.Join(names, ", "))
	}
	if len(list) > 1 {
		list = append(list, "combined "+s.Combine)
	}
	return strings.Join(list, "; ")
}

func (v *studyView) tiles() []Tile {
	s := v.study
	var list []Tile
	if c := s.Capacity; c != nil {
		t := Tile{"Load line", figure.Rate(c.Rate) + " ops/s", "confirmed by fresh trials; measured, not extrapolated"}
		switch {
		case c.Rate == 0:
			t.Value, t.Note = "none", "not even the lowest rate held the objectives"
		case !c.Confirmed:
			t.Note = "NOT confirmed"
		case c.AtLeast:
			t.Value, t.Note = "≥ "+t.Value, "the highest rate that was allowed still held"
		}
		t.Note = beside(t.Note, v.loaded())
		list = append(list, t)
	}
	for _, p := range s.Procedures {
		t := Tile{"Chosen " + p.Path[strings.LastIndexByte(p.Path, '.')+1:], procedureValue(p.Path, p.Chosen),
			"procedure " + p.Name}
		if !p.Settled {
			t.Note += ", which did NOT settle"
		}
		list = append(list, t)
	}
	list = append(list, v.levelTiles()...)
	if best := bestOf(s.Comparisons); best != nil {
		list = append(list, Tile{"Largest gain of throughput", changeText(best),
			best.Configuration + ", n = " + fmt.Sprint(best.N)})
	}
	done, invalid := 0, 0
	for _, t := range s.Trials {
		if t.Status == record.TrialDone && t.Kind != record.TrialSearch {
			done++
			if !countsFor(&t) {
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

// bestOf is the configuration with the largest significant gain of throughput, nil if none has one.
func bestOf(list []record.Comparison) *record.Comparison {
	var best *record.Comparison
	for i := range list {
		c := &list[i]
		if c.Metric == "throughput" && c.Verdict == record.Better && c.Ratio != nil &&
			(best == nil || *c.Ratio > *best.Ratio) {
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
	slices.SortStableFunc(told, func(a, b *record.Comparison) int { return cmp.Compare(distance(b), distance(a)) })
	var points []Point
	for _, c := range told {
		grade := Good
		if c.Verdict == record.Worse {
			grade = Warn
		}
		change := heading(c.Metric) + " " + changeText(c)
		if c.Low != nil && c.High != nil {
			change += " " + intervalText(c)
		}
		points = append(points, Point{grade, string(c.Verdict),
			fmt.Sprintf("%s against %s: %s, n = %d + %d", c.Configuration, c.Baseline, change, c.N, c.NBase)})
	}
	points = short(points, 6, "change")
	if open > 0 {
		what := "comparison"
		if len(points) > 0 {
			what = "other comparison"
		}
		points = append(points, Point{Note, "", fmt.Sprintf("%s inconclusive; a new study with more trials may decide",
			figure.Plural(open, what))})
	}
	return points
}

func distance(c *record.Comparison) float64 {
	if c.Ratio == nil || *c.Ratio <= 0 {
		return 0
	}
	return math.Abs(math.Log(*c.Ratio))
}

func (v *studyView) checks() []Point {
	if len(v.trials) == 0 {
		return nil // procedures alone compare nothing
	}
	s := v.study
	n := map[string]int{}
	bad := 0
	for _, t := range s.Trials {
		if t.Kind != record.TrialCompared {
			continue
		}
		if countsFor(&t) {
			n[t.Configuration]++
		} else if t.Status.Begun() && t.Status != record.TrialRunning {
			bad++
		}
	}
	least := math.MaxInt
	for _, c := range s.Configurations {
		least = min(least, n[c.ID])
	}
	enough := fmt.Sprintf("at least %s per configuration", figure.Plural(least, "trial"))
	list := []Point{check(least >= 3, Warn, enough, enough)}
	list = append(list, check(bad == 0, Warn, "every trial counts", figure.Plural(bad, "trial")+" failed or invalid"))
	if c := s.Canary; c != nil {
		drift := fmt.Sprintf("drift %s over %s", figure.Change(1+c.Drift), figure.Plural(c.N, "repeated baseline"))
		list = append(list, check(c.P == nil || *c.P >= 0.05, Warn, drift, drift))
	}
	return list
}

func (v *studyView) levelTiles() []Tile {
	s := v.study
	var list []Tile
	var base, best *record.Comparison
	for i := range s.Comparisons {
		c := &s.Comparisons[i]
		if c.Metric != "throughput" {
			continue
		}
		if base == nil && c.Base != nil {
			base = c
		}
		if c.Value != nil && (best == nil || *c.Value > *best.Value) {
			best = c
		}
	}
	if base != nil {
		list = append(list, Tile{"Baseline", figure.Rate(*base.Base) + " ok/s",
			beside(withInterval(base.BaseLow, base.BaseHigh, base.NBase), s.Base.Target)})
	} else if t, ok := v.medianTile(); ok {
		list = append(list, t)
	}
	if base != nil && best != nil {
		t := Tile{"Fastest", figure.Rate(*best.Value) + " ok/s",
			beside(best.Configuration+", "+withInterval(best.ValueLow, best.ValueHigh, best.N), v.loaded())}
		switch {
		case *best.Value <= *base.Base:
			t = Tile{"Fastest", "the baseline", "no configuration did more"}
		case best.Verdict != record.Better:
			t.Note += "; not distinguishable from the baseline"
		}
		list = append(list, t)
	}
	return append(list, v.lossTiles()...)
}

func withInterval(low, high *float64, n int) string {
	if low == nil || high == nil {
		return fmt.Sprintf("n = %d, too few for an interval", n)
	}
	return fmt.Sprintf("%s to %s, n = %d", figure.Rate(*low), figure.Rate(*high), n)
}

// countedTrials are the trials that the comparison is based on.
func countedTrials(s *record.Study) []*record.Trial {
	var list []*record.Trial
	for i := range s.Trials {
		if t := &s.Trials[i]; t.Kind == record.TrialCompared && countsFor(t) {
			list = append(list, t)
		}
	}
	return list
}

// medianTile is the throughput of a study that has one configuration, and so no comparison.
func (v *studyView) medianTile() (Tile, bool) {
	var values []float64
	for _, t := range countedTrials(v.study) {
		if x, ok := t.Values["throughput"]; ok && t.Configuration == v.baseline {
			values = append(values, x)
		}
	}
	if len(values) == 0 {
		return Tile{}, false
	}
	note := fmt.Sprintf("median of %s, %s to %s", figure.Plural(len(values), "trial"), figure.Rate(slices.Min(values)),
		figure.Rate(slices.Max(values)))
	return Tile{"Baseline", figure.Rate(measure.Median(values)) + " ok/s", beside(note, v.study.Base.Target)}, true
}

// lossTiles say in which trial the most operations did not succeed.
func (v *studyView) lossTiles() []Tile {
	var worst *record.Trial
	trials := countedTrials(v.study)
	for _, t := range trials {
		if x, ok := t.Values["errors"]; ok && (worst == nil || x > worst.Values["errors"]) {
			worst = t
		}
	}
	if worst == nil {
		return nil
	}
	t := Tile{"Not ok, at most", figure.Percent(worst.Values["errors"]),
		fmt.Sprintf("in trial %d, %s", worst.Number, worst.Configuration)}
	if worst.Values["errors"] == 0 {
		t.Note = "in every one of " + figure.Plural(len(trials), "trial")
	}
	return []Tile{t}
}
