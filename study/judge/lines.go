package judge

import (
	"math"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// lineFigure is the figure of a load line. The class is its event, none with all members up.
const lineFigure = "line"

// lineMetric is the metric of a line.
func lineMetric(name string) string {
	if name == spec.AllMembersUp {
		return lineFigure
	}
	return name + "." + lineFigure
}

func (s Source) openCapacity() (Source, error) {
	var err error
	s.Capacity, err = record.OpenCapacity(s.Path)
	return s, err
}

// capacity is a side of one trial, whose values are the lines.
func (s *Source) capacity() Side {
	c := s.Capacity
	t := Trial{Record: s.Path, Started: c.Started, Values: map[string]float64{}, Facts: capacityFacts(c)}
	for i := range c.Lines {
		switch l := &c.Lines[i]; {
		case l.Has() && l.Status == record.LineFound:
			t.Values[lineMetric(l.Name)] = l.Rate
		case l.Has() && l.Status == record.LineAtLeast:
			t.Values[lineMetric(l.Name)], t.AtLeast = l.Rate, append(t.AtLeast, lineMetric(l.Name))
		case l.Status == record.LineNone: // no rate holds, which is worse than each that does
			t.NoAnswer = append(t.NoAnswer, lineMetric(l.Name))
		}
	}
	if t.Why, t.Doubts = reasonsOf(c.Validity); t.Why == "" && c.Status != record.Complete {
		t.Why = string(c.Status)
	}
	return Side{Name: s.Name, Trials: []Trial{t}, lines: c.Lines}
}

// capacityFacts are those of the runs of a search, without what it sets, and its objectives.
func capacityFacts(c *record.Capacity) Facts {
	f := Facts{"scheduled": "true", "search.objectives": strings.Join(c.Objectives, ",")}
	if c.Specification != nil {
		asked := c.Specification.Run
		asked.Load.Workers, asked.Load.Rate, asked.Load.Duration, asked.Load.Warmup = 0, 0, 0, 0
		f.put("", asked)
	}
	if c.Target != nil {
		target := *c.Target
		target.Notes, target.RoundTrip = nil, 0
		f.put("target", target)
	}
	f.addEnvironment(c.Environment)
	f.put("tool", c.Tool)
	f.drop()
	return f
}

// ofLines reports whether all sides are capacities.
func ofLines(sides []Side) bool {
	for i := range sides {
		if sides[i].lines == nil {
			return false
		}
	}
	return true
}

// lineTest is the comparison of a line with that of the baseline, by their intervals.
type lineTest struct {
	record.Comparison
	differs, same float64
	known         bool
}

// compareLines compares the lines of each capacity with those of the first one. Each line has its own interval from its
// search, so one record a side is enough.
func (c *comparing) compareLines(points [][]*Side) {
	var tests []lineTest
	for _, p := range points {
		for _, s := range p[1:] {
			for i := range s.lines {
				for j := range p[0].lines {
					if s.lines[i].Name == p[0].lines[j].Name {
						tests = append(tests, c.rules.line(p[0], s, &p[0].lines[j], &s.lines[i]))
					}
				}
			}
		}
	}
	var differs, same []float64
	for i := range tests {
		differs, same = append(differs, tests[i].differs), append(same, tests[i].same)
	}
	differs, same = stats.Holm(differs), stats.Holm(same)
	for i := range tests {
		x := tests[i].Comparison
		switch {
		case c.refused:
			x.Note = "the sides are not comparable"
		case tests[i].known:
			x.Adjusted, x.Equivalence = &differs[i], &same[i]
			x.Note = c.rules.lineNote(x.Metric, *x.Ratio, differs[i], same[i])
		}
		c.report.Comparisons = append(c.report.Comparisons, x)
	}
}

// line compares a line with that of the baseline.
func (r rules) line(base, side *Side, b, l *record.LoadLine) lineTest {
	t := lineTest{differs: math.NaN(), same: math.NaN(), Comparison: record.Comparison{Configuration: side.Name,
		Baseline: base.Name, Metric: lineMetric(l.Name), Unit: measure.UnitRate, Higher: true, Margin: r.margin,
		Verdict: record.Inconclusive}}
	for _, x := range []struct {
		l               *record.LoadLine
		n               *int
		value, low, top **float64
	}{{b, &t.NBase, &t.Base, &t.BaseLow, &t.BaseHigh}, {l, &t.N, &t.Value, &t.ValueLow, &t.ValueHigh}} {
		if x.l.Has() {
			rate := x.l.Rate
			*x.n, *x.value, *x.low, *x.top = x.l.Trials, &rate, x.l.Low, x.l.High
		}
	}
	sb, errB := lineError(b)
	sl, errL := lineError(l)
	if errB != "" || errL != "" {
		t.Note = "the " + LineWords(t.Metric) + " " + unknownLine(errB, errL, base.Name, side.Name)
		return t
	}
	ratio := stats.Ratio{Ratio: l.Rate / b.Rate, SE: math.Hypot(sb, sl), DF: math.Inf(1)}
	around, _ := ratio.At(r.confidence)
	p := stats.TTail(math.Log(ratio.Ratio)/ratio.SE, ratio.DF)
	t.Ratio, t.Low, t.High, t.P, t.known = &ratio.Ratio, &around.Low, &around.High, &p, true
	t.differs, t.same = p, stats.EquivalenceP(ratio, r.margin)
	return t
}

// LineWords are the metric of a line in words, "" if it is that of something else.
func LineWords(metric string) string {
	event, ok := strings.CutSuffix(metric, "."+lineFigure)
	switch {
	case metric == lineFigure:
		event = spec.AllMembersUp
	case !ok:
		return ""
	}
	return (&record.LoadLine{Name: event}).Words()
}

// unknownLine says on which side a line is how unknown: "is only known to be at least 3,000 in a".
func unknownLine(base, side, baseName, sideName string) string {
	switch {
	case base == side && base != "":
		return base + " (both sides)"
	case base != "" && side != "":
		return base + " in " + baseName + ", and " + side + " in " + sideName
	case base != "":
		return base + " in " + baseName
	}
	return side + " in " + sideName
}

// lineError is the standard error of the logarithm of a line, from its interval, or why it is unknown: "was not
// confirmed".
func lineError(l *record.LoadLine) (se float64, why string) {
	switch {
	case l.Status == record.LineAtLeast:
		return 0, "is only known to be at least " + figure.Rate(l.Rate)
	case l.Status == record.LineNone:
		return 0, "holds at no rate"
	case l.Status != record.LineFound || !l.Has():
		return 0, "was not confirmed"
	case l.Low == nil || l.High == nil || !(*l.Low > 0 && *l.High > *l.Low && l.Confidence > 0 && l.Confidence < 1):
		return 0, "has no interval"
	}
	return math.Log(*l.High / *l.Low) / 2 / stats.TQuantile((1+l.Confidence)/2, math.Inf(1)), ""
}

// lineNote says what became of a line: it fell, it rose, or the intervals contain the change. It is no verdict: the
// intervals are those of one search a side, and what changes from one search to the next is in neither. With a scatter
// of 3 % between searches, 21 of 100 comparisons of intervals of ± 5 % would find a difference that is not there.
func (r rules) lineNote(metric string, ratio, differs, same float64) string {
	switch {
	case differs <= 1-r.confidence && ratio < 1:
		return "the " + LineWords(metric) + " fell by " + figure.Percent(1-ratio)
	case differs <= 1-r.confidence:
		return "the " + LineWords(metric) + " rose by " + figure.Percent(ratio-1)
	case same <= 1-r.confidence:
		return "the change is within the margin"
	}
	return "the change is within the intervals"
}

// lineFindings say what one search a side cannot know.
func lineFindings() measure.Finding {
	return measure.Finding{ID: "searches-apart", Severity: measure.Warning, Text: "each line is from one search, so there is no " +
		"verdict: its interval has no change from one search to the next. plimsoll history finds changes among ten or more searches."}
}
