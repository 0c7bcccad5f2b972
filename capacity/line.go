package capacity

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// addLines adds the lines of a capacity. The deployment of each is that of the highest step with all members up whose
// rate is not above the line.
func (g *gathered) addLines(dir string) error {
	c, err := record.OpenCapacity(dir)
	if err != nil {
		return err
	}
	if measure.Worst(c.Validity) == measure.Invalid {
		return unusable{fmt.Sprintf("%s: the capacity is invalid (%s), so it gives no size", dir, firstInvalid(c.Validity))}
	}
	all := c.Line(spec.AllMembersUp)
	before := g.count()
	for i := range c.Lines {
		l := &c.Lines[i]
		if l.Counts && l.Ended() && l.Status != record.LineSkipped && !l.Has() {
			g.note("capacity-no-rate", measure.Warning, "%s: no rate is known that holds while %s (%s), so the nodes may not be enough then", dir,
				l.Name, cmp.Or(l.Problem, l.Reason, string(l.Status)))
		}
		if all == nil || !l.Has() {
			continue
		}
		for _, f := range LineDoubts(dir, l) {
			g.note(f.ID, f.Severity, "%s", f.Text)
		}
		if l.Status == record.LineAtLeast {
			g.note("capacity-at-least", measure.Note, "%s: the highest rate that was offered held, so the %s is higher, and fewer nodes may suffice", dir, l.Words())
		}
		step := below(all.Steps, l.Rate)
		if step == nil {
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(step.Record))
		r, err := record.OpenBelow(dir, step.Record)
		if err != nil {
			return err
		}
		one := trial{dir: path, run: r, confirmed: true, line: l}
		if l.Name != spec.AllMembersUp || step.Offered < nearLine*l.Rate {
			if one.searched, err = measure.ParseObjectives(strings.Join(c.Objectives, ",")); err != nil {
				return fmt.Errorf("%s: %w", dir, err)
			}
		}
		if err := g.addRun(one, nil); err != nil {
			return err
		}
	}
	if g.count() == before {
		return unusable{fmt.Sprintf("%s: no line has a rate and the record of a step that met the objectives. Search again", dir)}
	}
	return nil
}

// LineDoubts are the warnings about the rate of a line, of the capacity in dir.
func LineDoubts(dir string, l *record.LoadLine) (list []measure.Finding) {
	for _, doubt := range l.Doubts {
		list = append(list, measure.Finding{ID: "capacity-doubtful", Severity: measure.Warning,
			Text: fmt.Sprintf("%s: the %s is doubtful: %s", dir, l.Words(), doubt)})
	}
	if l.Status == record.LineUndecided {
		list = append(list, measure.Finding{ID: "capacity-unconfirmed", Severity: measure.Warning,
			Text: fmt.Sprintf("%s: the %s was not confirmed (%s)", dir, l.Words(), l.Reason)})
	}
	return list
}

// nearLine is the share of a line from which on a step shows what holds at the line.
const nearLine = 0.9

// below is the step that met the objectives with the highest rate that is not above another one, or else the one with
// the lowest rate; nil if none has a record.
func below(steps []record.LineStep, rate float64) (found *record.LineStep) {
	for i := range steps {
		s := &steps[i]
		if s.Verdict != record.StepMet || s.Record == "" || s.Phase == "probe" {
			continue
		}
		fits := s.Offered <= rate*1.001
		switch {
		case found == nil, fits && (found.Offered > rate*1.001 || s.Offered > found.Offered),
			!fits && s.Offered < found.Offered && found.Offered > rate*1.001:
			found = s
		}
	}
	return found
}

// chooseLine keeps the trials of one line where there are lines: if nodes may fail, the lowest line with an event, and
// otherwise that of all members up.
func (s *sizer) chooseLine(w *workloadRuns) {
	var chosen *record.LoadLine
	failures := s.in.Need != nil && s.in.Need.Failures > 0
	for _, t := range w.trials {
		l := t.line
		if l == nil {
			continue
		}
		event := l.Name != spec.AllMembersUp
		switch {
		case chosen == nil, failures && event && (chosen.Name == spec.AllMembersUp || l.Rate < chosen.Rate),
			!failures && !event:
			chosen = l
		}
	}
	if chosen == nil {
		return
	}
	w.trials = slices.DeleteFunc(w.trials, func(t trial) bool { return t.line != chosen })
	switch {
	case chosen.Name != spec.AllMembersUp:
		s.reason("A node may fail, so the rate is that of the %s.", chosen.Words())
	case failures:
		s.doubt("line-without-failure", measure.Warning, "a node may fail, but there is no line for that, so the rate is that of all members up. Search one with: plimsoll capacity --while kill:secondary")
	}
}
