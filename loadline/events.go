package loadline

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study/procedure"
	"github.com/plimsoll-bench/plimsoll/study/search"
)

// The times of a drill at a rate: before the event the normal state is known, and the event lasts until shortly before
// the end.
const (
	before      = 5 * time.Second
	lasts       = 12 * time.Second
	drillFor    = 25 * time.Second
	drillAround = 20 * time.Second
)

// ofEvent sets how a line with an event is searched. It is false if the line cannot be searched.
func (c *session) ofEvent(o *procedure.LineOptions, l *record.LoadLine) bool {
	event := spec.ParseAction(l.Name)
	first := &c.Result.Lines[0]
	switch {
	case c.o.Drill == nil:
		l.Status, l.Problem = record.LineSkipped, "nothing can break this deployment"
	case fault.Find(faultOf(event).Action.Name) == nil:
		l.Status, l.Problem = record.LineFailed, "there is no event "+event.Name+"; 'plimsoll drill --help' lists them"
	case !first.Has():
		l.Status, l.Problem = record.LineSkipped, "not even all members up hold the objectives"
	default:
		// A line with an event is near that of all members up or below it, and each step takes long.
		o.Event, o.Base.Load.Duration = true, spec.Duration(drillFor)
		o.Within = func(step time.Duration) time.Duration { return c.withinFor(procedure.EventSteps * step) }
		o.Pace = search.Pace{Step: drillFor, Trial: drillFor, Around: drillAround}
		o.Search.From, o.Search.Duration = spec.Rate(0.9*first.Rate), 0
		highest := spec.Rate(1.1 * first.Rate)
		o.Search.To = min(highest, cmp.Or(o.Search.To, highest))
		o.Search.Growth, o.Search.Precision, o.Search.Confirm, o.Search.Steps = 1.25, max(0.1, o.Search.Precision), 2, 12
		return true
	}
	return false
}

// drill performs a step with an event: a drill at the rate.
func (c *session) drill(ctx context.Context, i int, s procedure.Step) (procedure.StepResult, error) {
	step, known, err := c.begin(ctx, i, s)
	if err != nil {
		return procedure.StepResult{Step: step}, err
	}
	dir := c.path(step.Record)
	var d *record.Drill
	if known {
		d, _ = record.OpenDrill(dir) // one that failed has no record
	} else {
		var asked spec.Drill
		if asked, err = DrillOf(c.asked, s.Spec, spec.ParseAction(c.Result.Lines[i].Name)); err == nil {
			d, err = c.o.Drill(ctx, asked, dir)
		}
		step.Seconds = c.o.Run.Now().Sub(*step.Started).Seconds()
	}
	if d == nil || len(d.Rounds) == 0 {
		if known {
			return c.concluded(ctx, step, dir, nil, nil)
		}
		return c.concluded(ctx, step, dir, nil, errors.Join(err, errors.New("the drill has no round")))
	}
	round := &d.Rounds[0]
	at := filepath.Join(dir, filepath.FromSlash(round.Record))
	r, _ := record.OpenRun(at) // a load that failed has none
	result, err := c.concluded(ctx, step, at, r, err)
	result.Event = true
	result.Step.Event = eventOf(d, round)
	result.Missed, result.Limit = missedBy(result.Step.Event, round, c.asked.Recovery.Std())
	result.Leave = leaveOf(round)
	if err == nil && injected(round) == 0 {
		err = errors.New("the event did not take place" + problemOf(round))
	}
	return result, err
}

// Rebuild is the event of a disk that fails and returns, whose volume is rebuilt then.
const Rebuild = "rebuild"

// slower is how much longer the requests of a slow disk take, because an event has no details.
const slower = 10 * time.Millisecond

// faultOf is an event as a fault of a drill.
func faultOf(event spec.Action) spec.Fault {
	f := spec.Fault{Action: event, At: spec.Duration(before)}
	switch event.Name {
	case Rebuild:
		f.Action.Name = fault.DiskFail
	case fault.DiskSlow:
		f.Delay = spec.Duration(slower)
	}
	if a := fault.Find(f.Action.Name); a != nil && !a.Planned() {
		f.For = spec.Duration(lasts)
	}
	return f
}

// DrillOf is the drill of a step of the line of an event. step is the run of the step.
func DrillOf(asked spec.Capacity, step spec.Run, event spec.Action) (spec.Drill, error) {
	step.Objectives = nil // the search judges them, without the outage
	step.Load.Duration = max(step.Load.Duration, spec.Duration(drillFor))
	d := spec.Drill{Name: "line", Run: step, Faults: []spec.Fault{faultOf(event)}, Platform: asked.Platform,
		Recovery: asked.Recovery}
	err := d.Complete()
	d.Faults = fault.Complete(d.Faults)
	return d, err
}

// eventOf sums up what the event of a drill did.
func eventOf(d *record.Drill, r *record.DrillRound) *record.LineEvent {
	e := &record.LineEvent{Drills: 1, LossAllowed: r.LossAllowed()}
	for _, kind := range []string{record.KindReads, record.KindWrites} {
		switch x := r.Of(kind, ""); {
		case x == nil || x.OutageFrom < 0:
		case x.Outage < 0:
			e.Outage = -1
		case e.Outage >= 0:
			e.Outage = max(e.Outage, x.Outage)
		}
	}
	if l := r.Ledger; l != nil {
		e.Acknowledged, e.Lost = l.Acknowledged, l.LostWrites()
	} else {
		e.Problem = "the writes were not checked"
	}
	if r.Status == record.Complete && r.Problem != "" { // of a round that did not fail, it is about redundancy
		never := int64(-1)
		e.Recovery = &never
	}
	for _, m := range r.Moments {
		if begun := injected(r); m.Kind == record.MomentRedundant && m.At >= begun {
			took := m.At - begun
			e.Recovery = &took
		}
	}
	if d.Conclude() == record.Incredible && e.Problem == "" && len(d.Reasons) > 0 {
		e.Problem = d.Reasons[0]
	}
	return e
}

// injected is when the event of a round began on the clock of the run, 0 if it did not take place.
func injected(r *record.DrillRound) int64 {
	if len(r.Faults) == 0 {
		return 0
	}
	return max(0, r.Faults[0].Injected)
}

// problemOf is the problem of the event of a round after a colon, "" for none.
func problemOf(r *record.DrillRound) string {
	if len(r.Faults) == 0 || r.Faults[0].Problem == "" {
		return ""
	}
	return ": " + r.Faults[0].Problem
}

// missedBy says what an event missed besides the objectives.
func missedBy(e *record.LineEvent, r *record.DrillRound, recovery time.Duration) (text, limit string) {
	switch {
	case injected(r) == 0:
		return "", ""
	case e.Lost > 0 && !e.LossAllowed:
		return "acknowledged writes were lost that had to survive", record.LimitWrites
	case r.Verdict == record.Violated && len(r.Reasons) > 0: // corrupt, duplicated or diverged writes, wrong reads
		return r.Reasons[0], record.LimitWrites
	case e.Outage < 0:
		return "the outage did not end", record.LimitRecovery
	case outUntilHealed(r) != "":
		return "no " + outUntilHealed(r) + " until the event was reverted", record.LimitRecovery
	case r.Faults[0].Event != nil && r.Faults[0].Event.Outcome == record.EventFailed:
		return "the event failed" + problemOf(r), record.LimitRecovery
	case e.Recovery != nil && *e.Recovery < 0:
		return r.Problem, record.LimitRecovery
	case e.Recovery != nil && time.Duration(*e.Recovery) > recovery+lasts:
		return "redundancy did not return within " + spec.Duration(recovery).String(), record.LimitRecovery
	}
	return "", ""
}

// outUntilHealed says what did not succeed until the fault was reverted, "" if all did: an outage that only ends then
// is no failover.
func outUntilHealed(r *record.DrillRound) string {
	f := &r.Faults[0]
	if f.Event != nil || f.Healed <= f.Injected {
		return ""
	}
	for _, kind := range []string{record.KindWrites, record.KindReads} {
		e := r.Of(kind, "")
		if e != nil && e.OutageFrom >= 0 && time.Duration(e.Outage) >= noticeable && e.OutageFrom < f.Healed &&
			e.OutageFrom+e.Outage >= f.Healed {
			return strings.TrimSuffix(kind, "s") + " succeeded"
		}
	}
	return ""
}

// The shortest outage of a failover: without a change of the primary, a shorter one than noticeable is no outage of a
// failover. After one, the operations that waited are sent.
const (
	noticeable = time.Second
	handedOver = 100 * time.Millisecond
	catchUp    = 3 * time.Second
)

// leaveOf returns which intervals do not count: those before the event, because the objectives hold while it lasts, and
// those of the outage of a failover.
func leaveOf(r *record.DrillRound) func(*measure.Interval) bool {
	begun, from, to := time.Duration(injected(r)), time.Duration(0), time.Duration(0)
	shortest := noticeable
	for _, m := range r.Moments {
		if time.Duration(m.At) >= begun && (m.Kind == record.MomentElected || m.Kind == record.MomentPrimaryOut) {
			shortest = handedOver
		}
	}
	for _, kind := range []string{record.KindReads, record.KindWrites} {
		e := r.Of(kind, "")
		if e == nil || e.OutageFrom < 0 || time.Duration(e.Outage) < shortest {
			continue
		}
		if begin := time.Duration(e.OutageFrom); to == 0 || begin < from {
			from = begin
		}
		to = max(to, time.Duration(e.OutageFrom+e.Outage)+catchUp)
	}
	return func(iv *measure.Interval) bool {
		return iv.Phase == "measure" && (iv.End <= begun || iv.End > from && iv.Start < to)
	}
}

// sumEvents sums up the events of the steps that held.
func (c *session) sumEvents(l *record.LoadLine) {
	l.Event = nil
	for _, s := range l.Steps {
		e := s.Event
		if e == nil || s.Certainty == nil || *s.Certainty < 0.5 {
			continue
		}
		if l.Event == nil {
			l.Event = &record.LineEvent{}
		}
		sum := l.Event
		sum.Drills++
		sum.Acknowledged, sum.Lost = sum.Acknowledged+e.Acknowledged, sum.Lost+e.Lost
		sum.LossAllowed = sum.LossAllowed || e.LossAllowed
		sum.Outage = max(sum.Outage, e.Outage) // one that did not end, or redundancy that did not return, does not hold
		if r := e.Recovery; r != nil && (sum.Recovery == nil || *r > *sum.Recovery) {
			sum.Recovery = r
		}
		if sum.Problem == "" {
			sum.Problem = e.Problem
		}
	}
	if l.Event != nil && l.Event.Problem != "" {
		l.Doubts = append(l.Doubts, "the outcome of the event is not certain: "+l.Event.Problem)
	}
}
