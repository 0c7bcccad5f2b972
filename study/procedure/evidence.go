package procedure

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/study/search"
)

// Intervals calls a function with each interval of a run, in order.
type Intervals func(func(*measure.Interval) error) error

// counted is the evidence about one objective: how many operations were due in each interval, and how many missed it.
type counted struct {
	objective measure.Objective
	allowed   float64 // share of the operations that may miss it
	whole     bool    // it is a limit of all of them together: see [whole]
	blocks    []search.Block
	times     *measure.Histogram // of the operations that were answered, if the objective limits a time
	failed    int64              // operations that were due and did not succeed, if it does
}

// countable reports whether an objective is a limit of a share of the operations, and of which.
func countable(o measure.Objective) (allowed float64, ok bool) {
	q, percentile := o.Quantile()
	switch {
	case percentile && o.AtMost():
		return 1 - q, true
	case !percentile && o.AtMost() && slices.Contains([]string{"errors", "not-found", "dropped"}, o.Metric):
		return o.Limit, o.Limit > 0
	}
	return 0, false
}

// whole reports whether an objective is a limit of all operations together, so that no test of blocks decides it.
func whole(o measure.Objective) bool {
	switch o.Metric {
	case "mean", "max":
		return true
	case "errors", "not-found", "dropped":
		return o.AtMost()
	}
	return false
}

// count adds an interval. Operations that ended after the measured time belong to its last interval.
func (c *counted) count(d measure.Dims, iv *measure.Interval) {
	var b search.Block
	for i := range iv.Classes {
		if d.Classes[i].Part || c.objective.Class != "" && d.Classes[i].Name != c.objective.Class {
			continue
		}
		class := &iv.Classes[i]
		t := d.Tally(class.Counts)
		switch c.objective.Metric {
		case "errors":
			b.Due, b.Bad = b.Due+float64(t.Attempted), b.Bad+float64(t.Bad())
		case "not-found":
			b.Due, b.Bad = b.Due+float64(t.Attempted), b.Bad+float64(t.NotFound)
		case "dropped":
			b.Due += float64(t.Attempted)
		default:
			answered := class.Answered()
			if c.objective.Kind == "service" {
				answered = class.Service
			}
			c.failed += t.Bad()
			b.Due += float64(answered.Count() + t.Bad())
			b.Bad += float64(answered.CountAbove(int64(c.objective.Limit)) + t.Bad())
			if c.times.Merge(answered) != nil { // it does not fit: then there is no value
				c.times.Reset()
			}
		}
	}
	if c.objective.Class == "" && c.objective.Metric != "not-found" {
		b.Due, b.Bad = b.Due+float64(iv.Dropped), b.Bad+float64(iv.Dropped)
		c.failed += iv.Dropped
	}
	if n := len(c.blocks); iv.Phase == "drain" && n > 0 {
		c.blocks[n-1].Due, c.blocks[n-1].Bad = c.blocks[n-1].Due+b.Due, c.blocks[n-1].Bad+b.Bad
		return
	}
	c.blocks = append(c.blocks, b)
}

// lose adds operations that were due and never sent.
func (c *counted) lose(unsent int64) {
	if n := len(c.blocks); n > 0 && c.objective.Class == "" && c.objective.Metric != "not-found" {
		c.blocks[n-1].Due, c.blocks[n-1].Bad = c.blocks[n-1].Due+float64(unsent), c.blocks[n-1].Bad+float64(unsent)
		c.failed += unsent
	}
}

// seen is what is known of an objective after a step.
type seen struct {
	text      string
	certainty float64 // that it holds
	value     *float64
	unit      string
	few       bool
	why       string
}

// weigh judges the objectives of a run. leave says which intervals do not count, nil for none.
func weigh(run *record.Run, objectives []measure.Objective, intervals Intervals,
	leave func(*measure.Interval) bool) ([]seen, error) {
	var counts []*counted
	for _, o := range objectives {
		allowed, ok := countable(o)
		if ok || leave != nil && whole(o) { // without what is left out, the run has not evaluated it
			counts = append(counts, &counted{objective: o, allowed: allowed, whole: !ok, times: measure.NewHistogram()})
		}
	}
	if intervals != nil && len(counts) > 0 {
		d := run.Dims()
		if err := intervals(func(iv *measure.Interval) error {
			if iv.Phase != "measure" && iv.Phase != "drain" || leave != nil && leave(iv) {
				return nil
			}
			for _, c := range counts {
				c.count(d, iv)
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	var list []seen
	for _, o := range objectives {
		if o.Metric == "rate" { // the capacity is the answer to it
			continue
		}
		s := plainly(run, o)
		i := slices.IndexFunc(counts, func(c *counted) bool { return c.objective.Text == o.Text })
		if i >= 0 && len(counts[i].blocks) > 0 {
			counts[i].lose(run.Course.Unsent)
			if counts[i].whole {
				s.compare(counts[i])
			} else {
				s.decide(counts[i])
			}
		}
		list = append(list, s)
	}
	return list, nil
}

// decide takes the test of the blocks over the plain comparison.
func (s *seen) decide(c *counted) {
	due, bad := 0.0, 0.0
	for _, b := range c.blocks {
		due, bad = due+b.Due, bad+b.Bad
	}
	if due == 0 {
		s.few, s.why = true, "no operation was due"
		return
	}
	s.certainty = search.Decide(c.blocks, c.allowed)
	if s.few = due*c.allowed < 1 && bad < 2; s.few { // nothing follows from so few
		s.certainty = 0.5
	}
	s.why = fmt.Sprintf("%s of the operations missed it, and %s may", figure.Percent(bad/due), figure.Percent(c.allowed))
	if s.value == nil {
		s.value = c.value(due, bad)
	}
}

// compare compares what was measured with the limit. A maximum or mean has no answer if an operation did not succeed,
// as in a run ([measure.Due]).
func (s *seen) compare(c *counted) {
	due, bad := 0.0, 0.0
	for _, b := range c.blocks {
		due, bad = due+b.Due, bad+b.Bad
	}
	var x float64
	switch {
	case due == 0:
		s.few, s.why = true, "no operation was due"
		return
	case c.objective.Unit != measure.UnitTime:
		x = bad / due
	case c.failed > 0:
		s.few, s.certainty = false, plainlyMissed
		s.why = fmt.Sprintf("%s did not succeed, so %s of all has no answer", figure.Plural(int(c.failed), "operation"), c.objective.Metric)
		return
	case c.objective.Metric == "max":
		x = float64(c.times.Max())
	default:
		x = c.times.Mean()
	}
	s.few, s.why, s.value, s.certainty = false, "", &x, plainlyMissed
	if c.objective.MetBy(x) {
		s.certainty = plainlyMet
	}
}

// value is what was measured of the objective: at least that, if more operations failed than its percentile leaves
// out. A drill does not evaluate objectives, because the outage does not count.
func (c *counted) value(due, bad float64) *float64 {
	x := bad / due
	if q, percentile := c.objective.Quantile(); percentile {
		answered := float64(c.times.Count())
		if answered == 0 {
			return nil
		}
		x = float64(c.times.Quantile(q * due / answered))
		if answered < q*due && c.objective.MetBy(x) { // then the times are not why it is missed
			return nil
		}
	}
	return &x
}

// The certainties of comparisons without a test: just enough for the verdicts met and missed ([search.Of]).
const (
	plainlyMet    = 1 - search.NeededMet
	plainlyMissed = search.NeededMissed
)

// plainly compares an objective with its limit, as the run did.
func plainly(run *record.Run, o measure.Objective) seen {
	s := seen{text: o.Text, certainty: 0.5, unit: o.Unit}
	i := slices.IndexFunc(run.Objectives, func(r measure.ObjectiveResult) bool { return r.Objective == o.Text })
	if i < 0 {
		s.few, s.why = true, "it was not evaluated"
		return s
	}
	r := run.Objectives[i]
	s.value, s.why = r.Measured, r.Why
	switch {
	case r.Met:
		s.certainty = plainlyMet
	case fromOneMoment(r):
		s.certainty = 0.8
	case r.Unknown:
		s.few = true
	default:
		s.certainty = plainlyMissed
	}
	return s
}

// fromOneMoment reports whether an objective holds in this trial, with the slowest operations from few moments.
func fromOneMoment(r measure.ObjectiveResult) bool {
	parsed, err := measure.ParseObjectives(r.Objective)
	return r.OneMoment && r.Measured != nil && err == nil && len(parsed) == 1 && parsed[0].MetBy(*r.Measured)
}

// verdictOf judges a step from its objectives: the verdict, and the outcome for the search.
func (l *lineSearch) verdictOf(at search.Step, r StepResult, objectives []seen) (record.LineStep, search.Outcome) {
	step, out := r.Step, search.Outcome{Step: at, Certainty: plainlyMissed}
	p := phaseOf(r.Run)
	if p == nil {
		step.Verdict, step.Why = record.StepFailed, cmp.Or(step.Why, "it left no result")
		return step, out
	}
	step.Achieved, step.Measured, step.Workers = p.Rates.Achieved, p.Seconds, p.Workers
	step.Errors = float64(p.Counts.Bad()) / float64(max(1, p.Counts.Attempted))
	if a := p.All.Response; a != nil && a.P99 != nil {
		x := float64(*a.P99)
		step.P99 = &x
	}
	o := outcome{run: r.Run, findings: r.Run.Validity}
	worst := seen{certainty: 1}
	for _, s := range objectives {
		out.Few = out.Few || s.few
		if s.certainty < worst.certainty || worst.text == "" {
			worst = s
		}
	}
	share := share(o)
	if share < measure.MinSustained && !r.Event && worst.certainty > plainlyMissed {
		worst = seen{text: "achieved>=99%", certainty: plainlyMissed, value: &share, unit: measure.UnitShare,
			why: figure.Percent(share) + " of the offered operations succeeded in time"}
	}
	step.Objective, step.Value, step.Unit, step.Why = worst.text, worst.value, worst.unit, worst.why
	out.Certainty, out.Few = worst.certainty, out.Few && worst.certainty >= 0.5
	if r.Missed != "" {
		out.Certainty, out.Few, step.Why = 0.01, false, r.Missed
	}
	step.Verdict = map[search.Verdict]record.LineVerdict{search.Met: record.StepMet, search.Missed: record.StepMissed,
		search.Undecided: record.StepUndecided}[search.Of(out.Certainty)]
	if out.Certainty < 0.5 && r.Missed == "" {
		if blame := l.client(o, p, worst); blame != "" {
			out.Client, step.Verdict, step.Why = true, record.StepClient, blame
		}
	}
	certainty := out.Certainty
	step.Certainty = &certainty
	return step, out
}

func phaseOf(r *record.Run) *record.PhaseResult {
	if r == nil {
		return nil
	}
	p := r.Phase("measure")
	if p == nil || p.Ended.Attempted == 0 {
		return nil
	}
	return p
}

// client returns why the load generator may be the reason that a step was missed, "" if it is not.
func (l *lineSearch) client(o outcome, p *record.PhaseResult, missed seen) string {
	limits := limitsRate
	if l.o.Event { // while a member is down, operations wait for connections and are abandoned
		limits = slices.DeleteFunc(slices.Clone(limits), func(id string) bool { return id == "pool-wait" || id == "abandoned" })
	}
	if ids := o.blames(limits...); len(ids) > 0 {
		return "the load generator was busy (" + strings.Join(ids, ", ") + "), so this is not the limit of the target. Use more " +
			"cores, or several clients (--clients)"
	}
	if float64(p.Workers) >= mostWorkers && underWay(o) >= 0.95*float64(p.Workers) && l.longest == 0 {
		return fmt.Sprintf("all %s were busy, so this may not be the limit of the target. Set more (--workers)",
			figure.Plural(p.Workers, "worker"))
	}
	late := time.Duration(p.Client.SchedP99)
	if p.Lateness != nil && p.Lateness.P99 != nil {
		late = max(late, time.Duration(*p.Lateness.P99))
	}
	over := math.Inf(1)
	if i := slices.IndexFunc(l.objectives, func(x measure.Objective) bool { return x.Text == missed.text }); i >= 0 &&
		missed.value != nil && missed.unit == measure.UnitTime {
		over = *missed.value - l.objectives[i].Limit
	}
	if ids := o.blames(addsTime...); len(ids) > 0 && over <= float64(late) {
		return fmt.Sprintf("the load generator was late by up to %s (%s). The limit was missed by less. Use a less busy "+
			"machine", figure.Duration(late), strings.Join(ids, ", "))
	}
	return ""
}
