package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

func capacityKind() *kind {
	k := kindOf("a capacity", figureless(capacityDocument))
	k.name, k.all = record.KindCapacity, "all steps"
	k.list = listed(func(c *record.Capacity, e *Entry) {
		if c.Specification == nil {
			return
		}
		run := c.Specification.Run
		e.Labels, e.Lab = c.Specification.Labels, labOf(run.Target)
		e.loaded(run.Target, capacityEngine(c), run.Workload)
	})
	return k
}

func capacityEngine(c *record.Capacity) string {
	if c.Target == nil {
		return ""
	}
	return join(" ", c.Target.Kind, c.Target.Version)
}

// capacityDocument is how much load a deployment carries, how sure that is, and what limits it.
func capacityDocument(c *record.Capacity) *Document {
	d := &Document{Title: capacityTitle(c), Sentence: true, Problem: c.Problem, Grade: gradeOf(c.Validity, c.Status),
		Findings: findingPoints(c.Validity)}
	d.Brief, d.Verdict = doubt(c.Validity)
	d.Verdict = join("; ", capacitySure(c), d.Verdict)
	if c.Conclude() == record.Missed && d.Grade == Good {
		d.Grade = Warn
	}
	for i := range c.Lines {
		d.Sections = appendFilled(d.Sections, lineSection(&c.Lines[i]))
	}
	if next := capacityNext(c); next != "" {
		d.Sections = append(d.Sections, Section{Title: "next", Lines: []string{next}})
	}
	return d
}

// headLine is the line of the first sentence: the safe one, else the first.
func headLine(c *record.Capacity) *record.LoadLine {
	if l := c.SafeLine(); l != nil {
		return l
	}
	if len(c.Lines) > 0 {
		return &c.Lines[0]
	}
	return nil
}

func capacityTitle(c *record.Capacity) string {
	l, with := headLine(c), strings.Join(c.Objectives, ", ")
	switch {
	case l == nil:
		return "It is not known how much load the deployment carries"
	case l.Status == record.LineNone:
		return "The deployment does not hold " + with + " at any rate that was tried" + while(c, l)
	case !l.Has():
		return "It is not known how much load the deployment carries with " + with + while(c, l)
	}
	verb := "carries "
	if l.Status == record.LineUndecided {
		verb = "may carry "
	}
	if l.Status == record.LineAtLeast {
		verb = "carries at least "
	}
	return "The deployment " + verb + figure.Rate(l.Rate) + " operations/s with " + with + lineInterval(l) + while(c, l)
}

// while names the line if there are several.
func while(c *record.Capacity, l *record.LoadLine) string {
	if len(c.Lines) < 2 {
		return ""
	}
	if l.Name == spec.AllMembersUp {
		return ", with all members up"
	}
	return " while " + l.Name
}

func lineInterval(l *record.LoadLine) string {
	switch {
	case l.Low == nil:
		return ""
	case l.High == nil:
		return fmt.Sprintf(" (%s: %s or more)", figure.Percent(l.Confidence), figure.Rate(*l.Low))
	}
	return fmt.Sprintf(" (%s: %s to %s)", figure.Percent(l.Confidence), figure.Rate(*l.Low), figure.Rate(*l.High))
}

// capacitySure says how sure the first sentence is.
func capacitySure(c *record.Capacity) string {
	l := headLine(c)
	if l == nil || len(l.Steps) == 0 {
		return "nothing was measured"
	}
	text := fmt.Sprintf("%s, %s near the answer", figure.Plural(len(l.Steps), "step"), figure.Plural(l.Trials, "trial"))
	if l.Wrong != nil && l.Status != record.LineAtLeast {
		text += fmt.Sprintf("; the probability that the answer is wrong by more than 5 %% is %s", figure.Percent(*l.Wrong))
	}
	if l.Status == record.LineUndecided {
		text = "not confirmed: " + text
	}
	return text
}

func lineSection(l *record.LoadLine) Section {
	s := Section{Title: l.Name, Named: true, Facts: Facts("limit", l.Limit, "reason", l.Reason, "problem", l.Problem,
		"doubts", strings.Join(l.Doubts, "; "), "event", eventText(l.Event))}
	if len(l.Steps) == 0 {
		return s
	}
	t := &Table{Header: []string{"step", "phase", "offered", "achieved", "value", "verdict", "why"}, Left: 2, Last: 2}
	for _, step := range l.Steps {
		t.Rows = append(t.Rows, []string{fmt.Sprint(step.Number), step.Phase, figure.Rate(step.Offered),
			figure.Rate(step.Achieved),
			StepValue(&step), string(step.Verdict), step.Why})
	}
	s.Table = t
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
		return name + " " + figure.Duration(time.Duration(*s.Value))
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
	outage := "an outage of " + figure.Duration(time.Duration(e.Outage))
	if e.Outage < 0 {
		outage = "an outage that did not end"
	}
	loss := fmt.Sprintf("%s of %s acknowledged writes lost", figure.Count(e.Lost), figure.Count(e.Acknowledged))
	recovery := ""
	if r := e.Recovery; r != nil && *r >= 0 {
		recovery = "redundancy back after " + figure.Duration(time.Duration(*r))
	} else if r != nil {
		recovery = "redundancy did not return in time"
	}
	return join(", ", outage, loss, recovery)
}

func capacityNext(c *record.Capacity) string {
	if c.Status == record.Interrupted || c.Status == record.Killed {
		return "continue: plimsoll capacity resume DIR"
	}
	if c.Specification == nil || headLine(c) == nil || !headLine(c).Has() {
		return ""
	}
	return "how many nodes a load needs: plimsoll size DIR --need '10k/s'"
}
