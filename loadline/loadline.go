// Package loadline searches the highest loads that a deployment carries, one line for each condition: all members up,
// or while an event lasts.
//
// A line is found by [procedure.Line]. Its steps are runs at a rate, or drills at a rate with their ledger. They are
// the jobs of a campaign, so a search that was interrupted or killed continues with the step that was lost. Nothing
// here prints; progress goes to a [Progress].
package loadline

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/campaign"
	"github.com/plimsoll-bench/plimsoll/internal/mac"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study/procedure"
	"github.com/plimsoll-bench/plimsoll/study/search"
)

// Progress receives the progress of a search.
type Progress interface {
	// Note receives what is done, or what happened, in one line.
	Note(text string)
	// Step receives a step that ended, with the time that is left for all lines.
	Step(line string, s record.LineStep, left time.Duration)
}

// Options are what a search needs besides its specification.
type Options struct {
	Dir      string
	Run      run.Options // of each step: tool, command, clock, abort, ceiling, lab. A step overwrites the others.
	Key      *mac.Key    // marks the record as one of this user
	Progress Progress    // nil for none
	// Execute performs a run; nil for [run.Execute].
	Execute func(ctx context.Context, asked spec.Run, o run.Options) (*record.Run, error)
	// Drill performs a drill in a directory; nil where there are no events.
	Drill func(ctx context.Context, asked spec.Drill, dir string) (*record.Drill, error)
	// Change reduces a capacity to confirm that it limits; nil if nothing is confirmed.
	Change Change
	// Ask opens a connection for questions about the deployment between steps; nil for targets that answer none.
	Ask func(ctx context.Context) (server.Commander, func(), error)
}

// session is one session of a search.
type session struct {
	campaign.Session[*record.Capacity, job]
	o     Options
	asked spec.Capacity // with credentials
	began time.Time     // of the time that counts
	noted map[string]int
	done  []record.LineStep // of the line under way, from earlier sessions
}

// job is a step of a line.
type job struct {
	line string
	step record.LineStep
}

// Run searches the lines of a complete specification, and returns the record, also with an error if it had begun.
func Run(ctx context.Context, asked spec.Capacity, o Options) (*record.Capacity, error) {
	w, end, err := campaign.Create[*record.Capacity](o.Dir, asked, o.Key)
	if err != nil {
		return nil, err
	}
	defer end()
	c := newSession(o, w, &record.Capacity{
		Head: record.Head{SchemaVersion: record.SchemaVersion, Kind: record.KindCapacity, Status: record.Running,
			Tool:    o.Run.Tool,
			Command: o.Run.Command, Started: o.Run.Now().UTC(), Environment: record.NewEnvironment(map[string]string{"record": o.Dir}),
			Validity: []measure.Finding{}},
		Specification: &asked, Objectives: asked.Objectives, Lines: []record.LoadLine{},
		Files: []record.File{{Name: record.CapacityJournal, About: "one JSON line at the begin and end of each step"},
			{Name: record.StepsDir, About: "the records of the steps"}},
	}, asked)
	for _, name := range asked.Lines() {
		c.Result.Lines = append(c.Result.Lines, record.LoadLine{Name: name, Counts: asked.Counts(name),
			Status: record.LinePlanned,
			Steps:  []record.LineStep{}})
	}
	c.Result.Estimate = c.estimate().Seconds()
	return c.perform(ctx)
}

// Resume continues a search with its finished steps, also one that ended with a line that is not sure. given is the
// specification as it is now, nil for that of the record, which is used only if the user of the key wrote it.
func Resume(ctx context.Context, given *spec.Capacity, o Options) (*record.Capacity, error) {
	of, release, err := campaign.Reopen[*record.Capacity](o.Dir)
	if err != nil {
		return nil, err
	}
	defer release()
	switch {
	case of.Specification == nil:
		return nil, campaign.Wrong(fmt.Errorf("the record in %s has no specification", o.Dir))
	case given == nil && !of.Own(o.Key):
		return nil, campaign.Wrong(fmt.Errorf("the record in %s was written by another user or on another machine, and its "+
			"specification may start programs. Give the file again (--file)", o.Dir))
	case given == nil:
		given = of.Specification
	}
	w, end, err := campaign.Continue[*record.Capacity](o.Dir, *given, o.Key)
	if err != nil {
		return nil, err
	}
	defer end()
	of.Status, of.Problem, of.Ended = record.Running, "", nil
	of.Validity = slices.DeleteFunc(of.Validity, func(f measure.Finding) bool { return f.ID == "incomplete" })
	c := newSession(o, w, of, *given)
	for i := range of.Lines {
		if l := &of.Lines[i]; l.Status == record.LineUndecided || l.Status == record.LineRunning ||
			l.Status == record.LineFailed || l.Status == record.LineFound && !l.Sure() {
			l.Status = record.LinePlanned
		}
	}
	of.Estimate = of.Seconds + c.estimate().Seconds()
	return c.perform(ctx)
}

func newSession(o Options, w *record.Store[*record.Capacity], of *record.Capacity, asked spec.Capacity) *session {
	if o.Progress == nil {
		o.Progress = silent{}
	}
	if o.Execute == nil {
		o.Execute = run.Execute
	}
	c := &session{o: o, asked: asked, noted: map[string]int{}}
	c.Session = campaign.Session[*record.Capacity, job]{Dir: o.Dir, Result: of, Store: w, Journal: c, Now: o.Run.Now,
		Tool:    o.Run.Tool,
		Command: o.Run.Command}
	return c
}

type silent struct{}

func (silent) Note(string)                                 {}
func (silent) Step(string, record.LineStep, time.Duration) {}

func (c *session) Append(at time.Time, event string, session *record.StudySession, j *job) error {
	e := record.CapacityEvent{At: at, Event: event, Session: session}
	if j != nil {
		e.Line, e.Step = j.line, &j.step
	}
	return c.Store.Append(e)
}

func (c *session) Place(j job) {
	if l := c.Result.Line(j.line); l != nil {
		l.Place(j.step)
	}
}

func (c *session) RecordOf(j job) string { return j.step.Record }

func (c *session) perform(ctx context.Context) (*record.Capacity, error) {
	if err := c.Begin(); err != nil {
		return nil, err
	}
	before := c.Result.Seconds
	err := c.load(ctx)
	c.began = c.o.Run.Now()
	for i := range c.Result.Lines {
		if err != nil {
			break
		}
		if !c.Result.Lines[i].Ended() {
			err = c.find(ctx, i)
		}
	}
	if ctx.Err() != nil {
		err = c.Interruption()
	}
	return c.Finish(err, func() {
		c.Result.Seconds = before + c.o.Run.Now().Sub(c.began).Seconds()
		c.Result.FindSafe()
		c.findings()
	})
}

// load loads the data once, before the time counts.
func (c *session) load(ctx context.Context) error {
	asked := c.asked.Run
	if asked.LoadPhase.Skip || slices.ContainsFunc(c.Result.Lines,
		func(l record.LoadLine) bool { return len(l.Steps) > 0 }) {
		return nil
	}
	c.o.Progress.Note("loading the data")
	asked.LoadPhase.Only, asked.Objectives = true, nil
	o := c.o.Run
	o.Dir = filepath.Join(c.Dir, record.StepsDir, "load")
	r, err := c.o.Execute(ctx, asked, o)
	if r != nil {
		c.Result.Target = &r.Target
	}
	if err != nil {
		return fmt.Errorf("loading the data: %w", err)
	}
	return nil
}

// around is the time of a step besides its measured time: warm-up, opening, and waiting for a calm target.
func (c *session) around() time.Duration {
	around := c.warmup() + 500*time.Millisecond
	if c.o.Ask != nil {
		around += 1500 * time.Millisecond
	}
	return around
}

// warmup is the time of each step that is not measured, shorter if there is little time.
func (c *session) warmup() time.Duration {
	return min(max((c.asked.Within.Std()/60).Truncate(time.Second), time.Second), 2*time.Second)
}

// mostOfFirst is the most time for the line of all members up beside other lines. Its steps are not longer with more.
const mostOfFirst = 15 * time.Minute

// budget is the time for a line: the first one has as much as two others. What limits it is confirmed after that.
func (c *session) budget(i int) time.Duration {
	shares := len(c.Result.Lines) - i
	left := c.asked.Within.Std() - c.o.Run.Now().Sub(c.began)
	if i == 0 && c.o.Change != nil {
		left -= min(confirmTakes, left/4)
	}
	if i == 0 && shares > 1 {
		return min(mostOfFirst, left*2/time.Duration(shares+1))
	}
	return left / time.Duration(shares)
}

// withinFor is the time for all lines with which one with an event has so much, in whole minutes.
func (c *session) withinFor(line time.Duration) time.Duration {
	events := time.Duration(len(c.Result.Lines) - 1)
	return (min(line*(events+2), line*events+mostOfFirst) + time.Minute - 1).Truncate(time.Minute)
}

// estimate is the planned time of the lines that are left, without loading data. Lines with events take the time that
// is left.
func (c *session) estimate() time.Duration {
	c.began = c.o.Run.Now()
	if c.Result.Lines[0].Ended() {
		return c.asked.Within.Std()
	}
	first := c.budget(0)
	return c.asked.Within.Std() - first + c.pace(first).Time(first)
}

// pace are the times of the line of all members up. If steps have a length, trials have it too.
func (c *session) pace(budget time.Duration) search.Pace {
	if d := c.asked.Search.Duration.Std(); d > 0 {
		return search.Pace{Step: d, Trial: d, Around: c.around()}
	}
	return search.PaceWithin(budget, c.around())
}

// find searches a line.
func (c *session) find(ctx context.Context, i int) error {
	l := &c.Result.Lines[i]
	budget, began := c.budget(i), c.o.Run.Now()
	c.done = slices.Clone(l.Steps)
	o := procedure.LineOptions{Name: l.Name, Base: c.base(), Objectives: c.asked.Objectives, Search: c.asked.Search,
		Pace: c.pace(budget), Budget: budget, Left: func() time.Duration { return budget - c.o.Run.Now().Sub(began) },
		Done: func(now record.LoadLine) { c.update(i, now) }}
	perform := func(ctx context.Context, s procedure.Step) (procedure.StepResult, error) { return c.run(ctx, i, s) }
	if i > 0 {
		if !c.ofEvent(&o, l) {
			return c.Write()
		}
		perform = func(ctx context.Context, s procedure.Step) (procedure.StepResult, error) { return c.drill(ctx, i, s) }
	}
	c.o.Progress.Note(fmt.Sprintf("%s: with %s, at most %s", l.Name, strings.Join(c.asked.Objectives, ", "),
		o.Left().Round(time.Second)))
	line, err := procedure.Line(ctx, o, perform)
	c.update(i, line)
	if c.Result.Lines[i].Seconds = c.o.Run.Now().Sub(began).Seconds(); i > 0 {
		c.sumEvents(&c.Result.Lines[i])
	}
	if i == 0 {
		c.findLimit(ctx, &c.Result.Lines[0])
	}
	var of *run.Error
	if err != nil && ctx.Err() == nil && i > 0 && (!errors.As(err, &of) || of.Stage != run.Recording) {
		c.Result.Lines[i].Status, c.Result.Lines[i].Problem = record.LineFailed, err.Error()
		err = nil // the other lines may have a result
	}
	return errors.Join(err, c.Write())
}

// base is what all steps have in common.
func (c *session) base() spec.Run {
	asked := c.asked.Run
	asked.LoadPhase.Skip, asked.LoadPhase.Drop = true, false
	asked.Out, asked.Objectives = "", nil
	if asked.Load.Warmup == 0 {
		asked.Load.Warmup = spec.Duration(c.warmup())
	}
	return asked
}

// update takes over what is known of a line, and writes the end of its last step to the journal.
func (c *session) update(i int, now record.LoadLine) {
	l := &c.Result.Lines[i]
	now.Counts, now.Event, now.Seconds, now.LimitedBy = l.Counts, l.Event, l.Seconds, l.LimitedBy
	*l = now
	l.Steps = slices.Clone(now.Steps)
	if now.Status == record.LineRunning || now.Status == record.LineUndecided {
		for _, s := range c.done { // which were not performed again yet
			if s.Number > len(now.Steps) {
				l.Steps = append(l.Steps, s)
			}
		}
	}
	if n := len(now.Steps); n > c.noted[l.Name] {
		c.noted[l.Name] = n
		// What cannot be written is written, or fails, at the end of the line.
		_ = c.Note(record.EventEnd, job{l.Name, now.Steps[n-1]})
		_ = c.Store.Update(c.Result)
		c.o.Progress.Step(l.Name, now.Steps[n-1], c.asked.Within.Std()-c.o.Run.Now().Sub(c.began))
	}
}

// findings sets what is to be doubted about the whole.
func (c *session) findings() {
	var all []measure.Finding
	for i := range c.Result.Lines {
		l := &c.Result.Lines[i]
		for _, d := range l.Doubts {
			all = append(all, measure.Finding{ID: "line-doubtful", Severity: measure.Warning, Text: l.Name + ": " + d + "."})
		}
	}
	c.Result.Validity = append(slices.DeleteFunc(c.Result.Validity, func(f measure.Finding) bool { return f.ID == "line-doubtful" }),
		append(all, c.Doubts("steps")...)...)
	measure.SortFindings(c.Result.Validity)
}
