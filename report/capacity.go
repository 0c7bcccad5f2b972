package report

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/shellword"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/chart"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// capacityFiles say that a page is made, whose figures come from the record alone.
type capacityFiles struct{ *Source }

func capacityKind() *kind {
	k := kindOf("a capacity", capacityDocument)
	k.name, k.open, k.all, k.csv = record.KindCapacity, openCapacity, "all steps", table(capacityCSV)
	k.parts, k.now = typed(stepNames), capacityNow
	k.loaded = typed(func(c *record.Capacity) []string { return []string{capacitySoftware(c)} })
	k.list = listed(func(c *record.Capacity, e *Entry) {
		if c.Specification == nil {
			return
		}
		run := c.Specification.Run
		if name := c.Specification.Name; name != record.KindCapacity { // its default
			e.Title = name
		}
		e.Labels, e.Lab = c.Specification.Labels, labOf(run.Target)
		e.loaded(run.Target, capacitySoftware(c), run.Workload)
	})
	return k
}

func openCapacity(into *Source, dir string) error {
	c, err := record.OpenCapacity(dir)
	if err != nil {
		return err
	}
	s := &capacityFiles{into}
	if c.Specification != nil {
		asked := *c.Specification
		asked.Out = ""
		s.again = exactSpec(asked)
	}
	s.command = exactCommand(c.Command)
	Tidy(c)
	into.Result, into.files = c, s
	return nil
}

// capacitySoftware is what was loaded, as [Disclosure] takes it.
func capacitySoftware(c *record.Capacity) string {
	switch {
	case c.Target != nil:
		return c.Target.Software()
	case c.Specification != nil:
		return c.Specification.Run.Target
	}
	return ""
}

func capacityEngine(c *record.Capacity) string {
	if c.Target == nil {
		return ""
	}
	return join(" ", c.Target.Kind, c.Target.Version)
}

// capacityDocument is how much load a deployment carries, how sure that is, what limits it, and how much it has now.
func capacityDocument(c *record.Capacity, on *capacityFiles) *Document {
	validity := capacityValidity(c)
	d := &Document{Title: capacityTitle(c), Sentence: true, Problem: c.Problem, Grade: gradeOf(validity, c.Status),
		Findings: findingPoints(validity), Facts: capacityFacts(c), Tiles: capacityTiles(c)}
	d.Brief = doubt(validity)
	for i := range c.Lines {
		if l := &c.Lines[i]; unknown(*l) {
			d.Findings = append(d.Findings, Point{Warn, "warning", l.Name + ": " + cmp.Or(l.Problem, l.Reason, string(l.Status))})
		}
	}
	if p := c.Now; p != nil && p.Share != nil && *p.Share >= 1 {
		d.Findings = append(d.Findings, Point{Warn, "warning", "the present load is above the load line " + lineName(p.Line) + ": " + presentShare(p)})
	}
	if d.Grade == Good && (c.Conclude() != record.Satisfied || len(d.Findings) > len(validity)) {
		d.Grade = Warn
	}
	points := slices.Clone(d.Findings[len(validity):])
	for i := range points {
		points[i].Mark = "" // the sign says it
	}
	d.conclude(validity, c.Status, capacityAnswer(c), capacitySure(c), points...)
	if l := headLine(c); l != nil {
		d.Where = limitLine(l.LimitedBy)
	}
	lines := linesSection(c)
	d.Summary, d.Next = lines.Table, capacityNext(c)
	d.Sections = appendFilled(nil, lines, presentSection(c))
	for i := range c.Lines {
		s := lineSection(&c.Lines[i])
		if s.ID = nthID("line", i); on != nil {
			s.draw(lineCurve(c, &c.Lines[i], s.ID))
		}
		d.Sections = appendFilled(d.Sections, s)
	}
	if on != nil {
		d.Drawn = hullFigure(c)
		d.Sections = append(d.Sections, capacityDisclosure(c, on))
	}
	return d
}

func capacityFacts(c *record.Capacity) []Fact {
	if c.Specification == nil {
		return nil
	}
	run, address := c.Specification.Run, ""
	if c.Target != nil {
		address = c.Target.Address
	}
	return Facts("target", disclosed(cmp.Or(run.Target, address), capacitySoftware(c)), "server", capacityEngine(c),
		"workload", run.Workload.Name, "durability", run.Durability.Name, "objectives", strings.Join(c.Objectives, ", "),
		"time", capacityTime(c), "begun", begun(&c.Head))
}

// capacityTime is the time of a search, and the planned one, "" before its end.
func capacityTime(c *record.Capacity) string {
	if c.Seconds <= 0 {
		return ""
	}
	text := seconds(c.Seconds)
	if c.Estimate > 0 {
		text += ", planned " + seconds(c.Estimate)
	}
	return text
}

// safeRate is the low end of the interval of a line: half of the steps at the line itself miss an objective.
func safeRate(l *record.LoadLine) string { return figure.Rate(*l.Low) }

// capacityTiles are the safe load, the lowest line, the line of all members up and the present load.
func capacityTiles(c *record.Capacity) (tiles []Tile) {
	add := func(name, note string, l *record.LoadLine) {
		if l != nil && l.Has() {
			tiles = append(tiles, Tile{name, lineRate(l) + " ops/s", join("; ", note, intervalWords(l))})
		}
	}
	if l := c.SafeLine(); l != nil && l.Low != nil {
		note := "the low end of the line"
		if len(c.Lines) > 1 {
			note = "the low end of the lowest line that counts, " + lineName(l.Name)
		}
		tiles = append(tiles, Tile{"Safe load", safeRate(l) + " ops/s", note})
	}
	if l := c.SafeLine(); l != nil && l.Name != spec.AllMembersUp {
		add("Lowest line", lineName(l.Name), l)
	}
	add("All members up", "", c.Line(spec.AllMembersUp))
	if p := c.Now; p != nil {
		tiles = append(tiles, Tile{"Now", figure.Rate(p.Rate) + " ops/s", presentShare(p)})
	}
	return tiles
}

// lineRate is the rate of a line that has one.
func lineRate(l *record.LoadLine) string {
	if l.Status == record.LineAtLeast {
		return "at least " + figure.Rate(l.Rate)
	}
	return figure.Rate(l.Rate)
}

// intervalWords are the interval of a line, "" if it has none.
func intervalWords(l *record.LoadLine) string { return strings.Trim(lineInterval(l), " ()") }

// linesSection are the lines with their limits and what each event cost.
func linesSection(c *record.Capacity) Section {
	s := Section{ID: "lines", Title: "load lines", Table: &Table{Left: 1, Last: 1,
		Header: []string{"load line", "ops/s", "interval", "outage", "redundancy back", "writes lost", "counts", "limit"}}}
	for i := range c.Lines {
		l := &c.Lines[i]
		rate, interval := "-", cmp.Or(lineEnds(l), "-")
		if l.Confidence > 0 {
			s.Table.Header[2] = figure.Limit(l.Confidence) + " interval" // the same for all lines
		}
		if l.Has() {
			rate = lineRate(l)
		}
		if l.Name == c.Safe && len(c.Lines) > 1 {
			rate += " (lowest)"
		}
		outage, recovery, lost := eventCells(l.Event)
		counts := "-"
		if slices.ContainsFunc(c.Lines, func(l record.LoadLine) bool { return !l.Counts }) {
			counts = yesNo(l.Counts)
		}
		s.Table.row(lineName(l.Name), rate, interval, outage, recovery, lost, counts,
			cmp.Or(l.Problem, l.Reason, string(l.Status)))
	}
	if c.Safe != "" && len(c.Lines) > 1 {
		s.Lines = []string{"lowest: of the lines that count. The low end of its interval is safe during each of their events"}
	}
	s.Table.dropEmpty()
	return s
}

// eventCells are the cells of an event: its outage, the time until redundancy was back, and lost writes.
func eventCells(e *record.LineEvent) (outage, recovery, lost string) {
	if e == nil {
		return "-", "-", "-"
	}
	recovery = known(e.Recovery, func(ns int64) string { return durationOr(ns, "not in time") })
	lost = fmt.Sprintf("%s of %s", figure.Count(e.Lost), figure.Count(e.Acknowledged))
	if e.LossAllowed {
		lost += " (allowed)"
	}
	return orNever(e.Outage), recovery, lost
}

// headLine is the line of the first sentence: the safe one, else one that counts and has no rate, else the first.
func headLine(c *record.Capacity) *record.LoadLine {
	if l := c.SafeLine(); l != nil {
		return l
	}
	if i := slices.IndexFunc(c.Lines, unknown); i >= 0 {
		return &c.Lines[i]
	}
	if len(c.Lines) > 0 {
		return &c.Lines[0]
	}
	return nil
}

// unknown reports whether the search for a line that counts has ended without a rate.
func unknown(l record.LoadLine) bool {
	return l.Counts && l.Ended() && l.Status != record.LineSkipped && !l.Has()
}

// capacityValidity are the findings of a capacity. A line that is not sure has one, whatever the record says.
func capacityValidity(c *record.Capacity) []measure.Finding {
	list := slices.Clone(c.Validity)
	for i := range c.Lines {
		l := &c.Lines[i]
		said := slices.ContainsFunc(list, func(f measure.Finding) bool { return strings.HasPrefix(f.Text, l.Name+": ") })
		if l.Counts && !l.Sure() && !said {
			list = append(list, measure.Finding{ID: "line-doubtful", Severity: measure.Warning,
				Text: l.Name + ": it is not sure" + prefixed(", so plan with its low end, ", lowEnd(l)) + "."})
		}
	}
	return list
}

// lowEnd is the low end of the interval of a line, "" if it has none.
func lowEnd(l *record.LoadLine) string {
	if l.Low == nil {
		return ""
	}
	return figure.Rate(*l.Low) + "/s"
}

// capacityAnswer is the first sentence: how much load the deployment carries.
func capacityAnswer(c *record.Capacity) string {
	l, with := headLine(c), strings.Join(c.Objectives, ", ")
	switch {
	case l == nil:
		return "It is not known how much load the deployment carries"
	case l.Status == record.LineNone:
		return "The deployment does not hold " + with + " at any rate that was tried" + while(c, l) + allUp(c, l)
	case !l.Has():
		text := "It is not known how much load the deployment carries with " + with + while(c, l)
		if l.Limit == record.LimitClient {
			text += ": the load generator was the limit"
		}
		return text + allUp(c, l)
	}
	verb := "carries "
	if l.Status == record.LineUndecided {
		verb = "may carry "
	}
	if l.Status == record.LineAtLeast {
		verb = "carries at least "
	}
	rate, interval := figure.Rate(l.Rate), lineInterval(l)
	if l.Status == record.LineFound && l.Low != nil {
		verb, rate = "safely carries ", safeRate(l)
		interval = fmt.Sprintf(" (its load line is at %s; %s)", figure.Rate(l.Rate), intervalWords(l))
	}
	return "The deployment " + verb + disclosed(rate+" operations/s", capacitySoftware(c)) + " with " + with + interval +
		while(c, l) + prefixed("; now ", presentBrief(c.Now))
}

// allUp is the rate with all members up, beside a line without one.
func allUp(c *record.Capacity, beside *record.LoadLine) string {
	l := c.Line(spec.AllMembersUp)
	if l == nil || l == beside || !l.Has() {
		return ""
	}
	return "; with all members up " + lineRate(l) + " operations/s" + lineInterval(l)
}

// while names the line if there are several.
func while(c *record.Capacity, l *record.LoadLine) string {
	if len(c.Lines) < 2 {
		return ""
	}
	if l.Name == spec.AllMembersUp {
		return ", with all members up"
	}
	return " " + lineName(l.Name)
}

// lineName is the condition of a line: "all members up", "while kill:primary".
func lineName(name string) string {
	if name == spec.AllMembersUp {
		return name
	}
	return "while " + name
}

func lineInterval(l *record.LoadLine) string {
	if l.Low == nil {
		return ""
	}
	return fmt.Sprintf(" (%s: %s)", figure.Limit(l.Confidence), lineEnds(l))
}

// lineEnds are the ends of the interval of a line, "" if it has none.
func lineEnds(l *record.LoadLine) string {
	switch {
	case l.Low == nil:
		return ""
	case l.High == nil:
		return figure.Rate(*l.Low) + " or more"
	}
	return figure.Rate(*l.Low) + " to " + figure.Rate(*l.High)
}

func capacityTitle(c *record.Capacity) string {
	if c.Specification == nil {
		return "load lines"
	}
	return "load lines of workload " + c.Specification.Run.Workload.Name
}

// capacitySure says how sure the first sentence is.
func capacitySure(c *record.Capacity) string {
	l := headLine(c)
	if l == nil || len(l.Steps) == 0 {
		return "nothing was measured"
	}
	text := fmt.Sprintf("%s, %s near the answer", figure.Plural(len(l.Steps), "step"), figure.Plural(l.Trials, "trial"))
	if l.Wrong != nil && l.Status != record.LineAtLeast {
		text += fmt.Sprintf("; the probability that the answer is wrong by more than %s is %s", figure.Limit(l.Precision), figure.Limit(*l.Wrong))
	}
	if l.Status == record.LineUndecided {
		text = "not confirmed: " + text
	}
	return text + prefixed("; time ", capacityTime(c))
}

func lineSection(l *record.LoadLine) Section {
	s := Section{Title: l.Name, Named: true, Group: "steps", Long: true,
		Facts: slices.Concat(Facts("limit", cmp.Or(l.Reason, l.Limit)), limitFacts(l.LimitedBy),
			Facts("problem", l.Problem, "doubts", strings.Join(l.Doubts, "; "), "event", eventText(l.Event)))}
	if len(l.Steps) == 0 {
		return s
	}
	s.Table = &Table{Header: []string{"step", "phase", "offered", "achieved", "value", "verdict", "why"}, Left: 2, Last: 2}
	for _, step := range l.Steps {
		s.Table.row(strconv.Itoa(step.Number), step.Phase, figure.Rate(step.Offered), figure.Rate(step.Achieved),
			StepValue(&step), cmp.Or(string(step.Verdict), "running"), step.Why)
	}
	return s
}

// StepValue is what a step measured of the objective that decided.
func StepValue(s *record.LineStep) string {
	if s.Value == nil {
		return "-"
	}
	name, _, _ := strings.Cut(strings.NewReplacer(">", "<").Replace(s.Objective), "<")
	switch s.Unit {
	case measure.UnitTime:
		return name + " " + duration(*s.Value)
	case measure.UnitShare:
		return name + " " + figure.Percent(*s.Value)
	}
	return name + " " + figure.Rate(*s.Value)
}

// eventText says what an event did.
func eventText(e *record.LineEvent) string {
	if e == nil {
		return ""
	}
	if e.Problem != "" {
		return e.Problem
	}
	outage := "an outage of " + duration(e.Outage)
	if e.Outage < 0 {
		outage = "an outage that did not end"
	}
	loss := fmt.Sprintf("%s of %s acknowledged writes lost", figure.Count(e.Lost), figure.Count(e.Acknowledged))
	recovery := ""
	if r := e.Recovery; r != nil && *r >= 0 {
		recovery = "redundancy back after " + duration(*r)
	} else if r != nil {
		recovery = "redundancy did not return in time"
	}
	return join(", ", outage, loss, recovery)
}

// capacityNext is the next command, and what it is for.
func capacityNext(c *record.Capacity) Next {
	l, p := headLine(c), c.Now
	mongo := func(address string) bool { return strings.HasPrefix(address, "mongodb") }
	switch {
	case c.Status == record.Interrupted || c.Status == record.Killed:
		return Next{"plimsoll capacity resume DIR", "continue"}
	case c.Specification != nil && l != nil && l.Status == record.LineUndecided:
		return Next{"plimsoll capacity resume DIR", "more trials, to confirm it"}
	case c.Specification == nil || l == nil || !l.Has():
		return Next{}
	case !l.Sure():
		return Next{"plimsoll capacity resume DIR", "more trials, until it is sure"}
	case p != nil && p.Apart != nil && *p.Apart > sameMix && mongo(p.Address):
		return Next{"plimsoll workload record " + shellword.Quote(p.Address) + " --profile all --for 10m -o own.yaml",
			"a workload of the present operations, to measure their line"}
	case p == nil && mongo(c.Specification.Run.Target) && Disclosure(capacitySoftware(c)) == "":
		return Next{"plimsoll capacity DIR --now", "how much of it the deployment has now"}
	case Disclosure(capacitySoftware(c)) != "": // it gives no size of a MongoDB
		return reportNext()
	}
	need := fmt.Sprintf("ops=%.0f,%s", 2*l.Rate, strings.Join(c.Objectives, ","))
	return Next{"plimsoll size DIR --need " + shellword.Quote(need), "nodes for twice the load"}
}

// stepNames are the names of the steps, by their directories.
func stepNames(c *record.Capacity) map[string]string {
	names := map[string]string{}
	for i := range c.Lines {
		for _, s := range c.Lines[i].Steps {
			if s.Record != "" {
				names[path.Clean(s.Record)] = fmt.Sprintf("%s, step %d", c.Lines[i].Name, s.Number)
			}
		}
	}
	return names
}

// capacityNow is what a search is at.
func capacityNow(dir string) (say Now, err error) {
	c, err := record.OpenCapacity(dir)
	if err != nil {
		return say, err
	}
	ended := 0
	for i := range c.Lines {
		l := &c.Lines[i]
		if l.Ended() {
			ended++
		}
		for _, s := range l.Steps {
			if s.Verdict == "" && s.Record != "" && holds(dir, path.Clean(s.Record)) {
				say.Running = append(say.Running, NowPart{path.Clean(s.Record), l.Name + " at " + figure.Rate(s.Offered) + " ops/s"})
			}
		}
	}
	say.Text = fmt.Sprintf("%d of %s found", ended, figure.Plural(len(c.Lines), "line"))
	return say, nil
}

// capacityCSV has a row for each step of each line.
func capacityCSV(w io.Writer, c *record.Capacity) error {
	rows := [][]string{{"line", "step", "phase", "offered", "achieved", "p99_ns", "errors", "verdict", "line_rate", "line_low", "line_high"}}
	for i := range c.Lines {
		l := &c.Lines[i]
		for _, s := range l.Steps {
			rows = append(rows, []string{cell(l.Name), strconv.Itoa(s.Number), s.Phase, float(s.Offered), float(s.Achieved),
				floatOr(s.P99), float(s.Errors), string(s.Verdict), float(l.Rate), floatOr(l.Low), floatOr(l.High)})
		}
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// hullFigure draws the lines on a hull, with the present load as the water; nil if no line has a rate.
func hullFigure(c *record.Capacity) *Figure {
	h := &chart.Hull{Frame: chart.Frame{ID: "hull", Title: "Load lines"}, Water: math.NaN(),
		Y: chart.Axis{Label: "operations per second", Unit: chart.PerSecond}}
	var words, missing []string
	for i := range c.Lines {
		l := &c.Lines[i]
		if !l.Has() {
			missing = append(missing, lineName(l.Name))
			continue
		}
		x := chart.HullLine{At: l.Rate, Low: or(l.Low), High: or(l.High), Rate: lineRate(l), Name: lineName(l.Name),
			Disc: l.Name == c.Safe, Dashed: !l.Counts}
		if !l.Counts {
			x.Text = "does not count"
		}
		text := fmt.Sprintf("%s: %s operations/s%s", lineName(l.Name), lineRate(l), lineInterval(l))
		if x.Disc {
			text += ", the lowest line that counts"
		}
		words = append(words, text)
		h.Lines = append(h.Lines, x)
	}
	if len(h.Lines) == 0 {
		return nil
	}
	h.Description = "A hull with load lines at their heights. " + strings.Join(words, ". ") + "."
	note := "The height is the load. Vertical bars are intervals."
	if c.Safe != "" {
		note += " The disc is at the lowest line that counts; the low end of its interval is the safe load."
	}
	if p := c.Now; p != nil {
		scale := cmp.Or(p.PerOperation, 1)
		h.Title = "Load lines and the present load"
		h.Water, h.Text = p.Rate/scale, figure.Rate(p.Rate/scale)+"  now"+prefixed(", ", presentPercent(p))
		h.Description += " The water is at the present load: " + presentBrief(p) + "."
		note += " The water is at the present load."
		if scale != 1 {
			note += " " + countedWords(c)
		}
	}
	if len(missing) > 0 {
		note += " Without a rate, and not drawn: " + strings.Join(missing, ", ") + "."
	}
	return newFigure(h, note, nil)
}

// lineCurve draws latency over throughput for the steps of a line in order of the offered rate; nil if there are not
// two steps with a latency.
func lineCurve(c *record.Capacity, l *record.LoadLine, id string) *Figure {
	groups := []struct {
		verdicts []record.LineVerdict
		series   chart.Series
	}{
		{[]record.LineVerdict{record.StepMet}, chart.Series{Name: "met", Style: chart.Points, Dots: true, Colour: 2}},
		{[]record.LineVerdict{record.StepMissed},
			chart.Series{Name: "missed", Style: chart.Points, Dots: true, Colour: 1, Hollow: true}},
		{[]record.LineVerdict{record.StepUndecided, record.StepClient, record.StepFailed, record.StepLost},
			chart.Series{Name: "undecided", Style: chart.Points, Dots: true, Colour: 3, Hollow: true}},
	}
	steps := slices.Clone(l.Steps)
	slices.SortStableFunc(steps, func(a, b record.LineStep) int { return cmp.Compare(a.Offered, b.Offered) })
	path, counts := chart.Series{Style: chart.Solid, Colour: 5, Unnamed: true}, map[string]int{}
	for _, s := range steps {
		if s.P99 == nil || s.Offered <= 0 {
			continue
		}
		path.X, path.Y = append(path.X, s.Offered), append(path.Y, *s.P99)
		for i := range groups {
			if g := &groups[i].series; slices.Contains(groups[i].verdicts, s.Verdict) {
				g.X, g.Y = append(g.X, s.Offered), append(g.Y, *s.P99)
				g.Notes = append(g.Notes, fmt.Sprintf("step %d: %s/s offered, %s/s achieved, p99 %s, %s", s.Number, figure.Rate(s.Offered),
					figure.Rate(s.Achieved), duration(*s.P99), s.Verdict))
				counts[g.Name]++
			}
		}
	}
	if len(path.X) < 2 {
		return nil
	}
	x := &chart.XY{Frame: chart.Frame{ID: id + "-curve", Title: "Latency over throughput, " + lineName(l.Name)},
		X: chart.Axis{Label: fmt.Sprintf("offered operations per second; n = %s", figure.Plural(len(path.X), "step")), Unit: chart.PerSecond,
			Zero: true},
		Y: chart.Axis{Label: "p99 of the response time (logarithmic)", Unit: chart.Nanoseconds, Log: true}, Height: 300,
		Series: []chart.Series{path}}
	for _, g := range groups {
		if len(g.series.X) > 0 {
			x.Series = append(x.Series, g.series)
		}
	}
	objectives, _ := measure.ParseObjectives(strings.Join(c.Objectives, ",")) // the search has checked them
	for _, o := range objectives {
		if o.Metric == "p99" && o.Class == "" {
			x.Limits = append(x.Limits, chart.Limit{Y: o.Limit, Text: "objective " + o.Text, Left: true})
		}
	}
	if l.Has() {
		x.Marks = []chart.Mark{{X: l.Rate, Text: "line " + lineRate(l)}}
		if l.Low != nil && l.High != nil {
			x.Spans = []chart.Span{{From: *l.Low, To: *l.High}}
		}
	}
	x.Description = fmt.Sprintf("p99 over the offered rate, from %s/s to %s/s, in order of the rate: %d met, %d missed, %d undecided.",
		figure.Rate(path.X[0]), figure.Rate(path.X[len(path.X)-1]), counts["met"], counts["missed"], counts["undecided"])
	return newFigure(x, "Filled marks met the objectives. Hollow ones did not, or are undecided. The shaded part is the interval of the line.", nil)
}

// capacityDisclosure is everything that is needed to repeat a capacity.
func capacityDisclosure(c *record.Capacity, on *capacityFiles) Section {
	return on.disclosure(commandBlock("Exact command", on.command), on.again.block("capacity.yaml", "", record.CapacityFile),
		Section{Title: "Environment", Facts: environmentFacts(c.Environment)},
		Section{Title: "Record", Facts: Facts("Directory", bounded(on.Dir), "Status", string(c.Status), "Written by", Version(c.Tool),
			"Schema", c.SchemaVersion)})
}
