// Package conduct performs a plan and writes the study down: trial after trial, each with a record of its own, so that
// a study that ended early in whatever way goes on where it was.
//
// Three things on the disk say how far a study came. The record of a trial is its result. The journal has a line, on
// the disk before the study goes on, when a trial begins and when it ended. study.json is the whole, and is replaced
// after each trial. A resumed study believes the record first: a trial whose record is complete is finished, whether
// or not the journal got to say so.
//
// It plans nothing (package study), measures nothing (package run), and what the results mean is said by study/judge.
// It prints nothing: who wants to watch gives a [Progress].
package conduct

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/judge"
)

// Options are what a study needs besides its specification.
type Options struct {
	Runner   study.Runner
	Clock    study.Clock // nil for the real one
	Dir      string      // of the study; [Resume] has its own argument for it
	Tool     record.Tool
	Command  []string
	Progress Progress        // nil for none
	Abort    <-chan struct{} // closed: end the trial under way at once
	Plan     study.PlanOptions
	Labs     Labs   // brings up the lab of a study that has one; nil where none can be
	Budget   Budget // says how much may still be done; nil is all of it

	// Spec is the specification as it is now, for [Resume]: it must be the one that the study began with, and is needed
	// where that has credentials, because these are not kept. nil takes what was kept.
	Spec *spec.Study
	// RetryFailed makes [Resume] repeat trials that failed or ran out of time. Lost ones are always repeated.
	RetryFailed bool
	// TakeLeft makes [Resume] do trials as well that were left out for want of time.
	TakeLeft bool
	// Drop allows to drop data that this study did not load itself, where trials need a fresh start.
	Drop bool
	// Free returns what can still be written to a directory; nil for [record.FreeBytes].
	Free func(dir string) (bytes uint64, known bool)
}

// Progress is told how a study goes. Calls come from one goroutine at a time and must return soon.
type Progress interface {
	// Begin announces a trial, End what became of it.
	Begin(Standing)
	End(record.Trial)
	// Note is something to know that is no trial, in one line.
	Note(text string)
}

// Standing is where a study is when a trial begins.
type Standing struct {
	Trial     record.Trial
	Done      int // trials of Total that are over; those of procedures are not counted
	Total     int // 0 while a procedure runs: it decides itself how many it needs
	Blocks    int
	Procedure string
	// Left is how long the rest will take, judged by what was done; 0 if nothing is known.
	Left time.Duration
}

// Reason is why a study stopped before its last trial.
type Reason string

const (
	Interrupted Reason = "interrupted" // it was asked to
	Unreachable Reason = "unreachable" // the target is not there, or refuses
	DiskFull    Reason = "disk full"   // of the study, or of an embedded target
	TooManyFail Reason = "failures"    // too many trials failed one after the other
	BudgetUsed  Reason = "budget"      // the time that it may take is over
	OutOfTime   Reason = "out of time" // its procedures have no time left, see [Budget]
	Stuck       Reason = "stuck"       // a trial cannot even be aborted
	NotOurs     Reason = "not ours"    // a trial needs fresh data, and those that are there belong to somebody else
)

// Stop is the error of a study that stopped before its last trial. What was done is kept, and [Resume] goes on.
type Stop struct {
	Reason Reason
	Text   string // what happened, and what to do
	Err    error  // what it came from, nil for none
}

func (s *Stop) Error() string { return s.Text }
func (s *Stop) Unwrap() error { return s.Err }

// wrong marks an error of what was asked for.
func wrong(err error) error { return &run.Error{Stage: run.Specification, Err: err} }

// recording marks an error of writing things down.
func recording(err error) error {
	if err == nil {
		return nil
	}
	return &run.Error{Stage: run.Recording, Err: err}
}

// Run performs a study in a directory of its own. It returns the study as it is on the disk, without credentials,
// also beside an error; that is a [*Stop] where the study can go on later, and otherwise a [*run.Error]. A study
// that could not begin is nil.
func Run(ctx context.Context, want spec.Study, o Options) (*record.Study, error) {
	o.defaults()
	asked := want
	want, err := study.Scaled(want) // once: trials, procedures and the record have the values of here
	if err != nil {
		return nil, wrong(err)
	}
	if want.Lab != nil {
		want.Defaults() // the lab is the target
	}
	plan, err := study.NewPlan(want, o.Plan)
	if err != nil {
		return nil, wrong(err)
	}
	release, err := record.Hold(o.Dir)
	if err != nil {
		return nil, recording(err)
	}
	defer release()
	w, err := record.Create[*record.Study](o.Dir, want)
	if err != nil {
		return nil, recording(err)
	}
	defer w.Close()
	c := newConductor(o, w, want)
	c.study = &record.Study{
		Head: record.Head{SchemaVersion: record.SchemaVersion, Kind: record.KindStudy, Status: record.Running, Tool: o.Tool, Command: o.Command,
			Started: o.Clock.Now().UTC(), Environment: c.environment(), Validity: []measure.Finding{}},
	}
	if c.study.Specification, err = record.RedactedStudy(plan.Spec); err != nil {
		return nil, wrong(err)
	}
	if asked.Scale != nil && !asked.Scale.Applied {
		if asked, err = record.RedactedStudy(asked); err != nil {
			return nil, wrong(err)
		}
		c.study.Asked = &asked
	}
	if err := c.adopt(plan); err != nil {
		return nil, err
	}
	if err := c.start(); err != nil {
		return nil, err
	}
	err = c.perform(ctx)
	c.removeLab(ctx)
	return c.finish(err)
}

func (o *Options) defaults() {
	if o.Clock == nil {
		o.Clock = realClock{}
	}
	if o.Progress == nil {
		o.Progress = silent{}
	}
	if o.Free == nil {
		o.Free = record.FreeBytes
	}
	if o.Plan.Metric == nil {
		o.Plan.Metric = func(name string) (string, error) {
			m, err := judge.ParseMetric(name)
			return m.Class, err
		}
	}
}

// realClock is the time of this machine.
type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func (realClock) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// silent is the progress of a study that nobody watches.
type silent struct{}

func (silent) Begin(Standing)   {}
func (silent) End(record.Trial) {}
func (silent) Note(string)      {}

// conductor performs one study.
type conductor struct {
	o     Options
	w     *record.StudyWriter
	spec  spec.Study    // with credentials
	study *record.Study // without them
	plan  *study.Plan

	specs    map[string]spec.Run          // by the IDs of configurations as the study has them; with credentials
	labs     map[string]spec.Lab          // likewise; empty if the study brings none up
	todo     []record.Trial               // trials to do, in order
	attempts map[string]int               // the highest attempt of each trial that was seen anywhere
	resumed  bool                         // there were sessions before this one
	scanned  bool                         // attempts knows those of earlier sessions
	open     map[string]*record.TrialData // of attempts that began and are not known to have ended, by their records
	sessions []record.StudySession        // all of them, this one last
	// unreadable are the lines of the journal that say nothing.
	unreadable int
	number     uint64 // of the run that began last
	data       map[string]dataState
	pace       pace
	began      time.Time // of this session
	failures   int       // trials that failed, one after the other
	// unreached are the trials that did not reach their target, by that, since one was reached last.
	unreached map[string][]record.Trial
	total     int // trials of the plan
	// lab is the key of the lab that this session brought up, "" for none; labLeft is why it could not be removed.
	lab, labLeft string
}

func newConductor(o Options, w *record.StudyWriter, asked spec.Study) *conductor {
	return &conductor{
		o: o, w: w, spec: asked, began: o.Clock.Now(), attempts: map[string]int{}, data: map[string]dataState{},
		specs: map[string]spec.Run{}, labs: map[string]spec.Lab{}, open: map[string]*record.TrialData{}, pace: newPace(), unreached: map[string][]record.Trial{},
	}
}

func (c *conductor) environment() record.Environment {
	dirs := map[string]string{"record": c.o.Dir}
	if t, err := run.ParseTarget(c.spec.Run.Target); err == nil && t.Kind == "embedded" {
		dirs["embedded"] = t.Dir
	}
	return record.NewEnvironment(dirs)
}

// adopt takes a plan over as that of the study, with what is known of its trials.
func (c *conductor) adopt(plan *study.Plan) error {
	clean, err := c.w.Redacted(&record.Study{Base: plan.Base, Configurations: plan.Configurations, Trials: plan.Trials})
	if err != nil {
		return recording(err)
	}
	c.plan, c.total = plan, len(clean.Trials)
	known := c.study.Trials
	c.study.Base, c.study.Configurations, c.study.Trials = clean.Base, clean.Configurations, clean.Trials
	for _, t := range known {
		if t.Status != record.TrialPlanned {
			c.study.Place(t)
		}
	}
	return c.resolve(clean.Configurations)
}

// resolve finds the runs of configurations whose IDs are without credentials.
func (c *conductor) resolve(clean []record.Configuration) error {
	clear(c.specs)
	clear(c.labs)
	for i, planned := range c.plan.Configurations {
		spec, err := c.plan.RunSpec(planned.ID)
		if err != nil {
			return wrong(err)
		}
		if _, twice := c.specs[clean[i].ID]; twice {
			return wrong(fmt.Errorf("two configurations are called %s once credentials are taken out: give their levels names", clean[i].ID))
		}
		c.specs[clean[i].ID] = spec
		if l, ok := c.plan.LabSpec(planned.ID); ok {
			c.labs[clean[i].ID] = l
		}
	}
	return nil
}

// start writes the study for the first time in this session.
func (c *conductor) start() error {
	if err := c.w.Write(c.study); err != nil {
		return recording(err)
	}
	session := c.session()
	c.sessions = append(c.sessions, session)
	return recording(c.w.Append(record.StudyEvent{At: c.o.Clock.Now().UTC(), Event: record.EventSession, Session: &session}))
}

func (c *conductor) session() record.StudySession {
	e := c.environment()
	s := record.StudySession{Tool: c.o.Tool, Command: c.o.Command, Pid: syscall.Getpid(), Host: e.Host, CPU: e.CPU, Cores: e.Cores}
	if dir, err := filepath.Abs("."); err == nil {
		s.Directory = dir
	}
	return s
}

// perform does what is left of the study.
func (c *conductor) perform(ctx context.Context) error {
	if err := c.procedures(ctx); err != nil {
		return err
	}
	if err := c.reconcile(); err != nil {
		return err
	}
	c.todo = c.left()
	for {
		if err := c.fitBlocks(); err != nil || len(c.todo) == 0 {
			return err
		}
		t := c.todo[0]
		spec, ok := c.specs[t.Configuration]
		if !ok {
			return wrong(fmt.Errorf("trial %d belongs to the configuration %s, which the plan does not have: this study was planned by another version of plimsoll, go on with that one",
				t.Number, t.Configuration))
		}
		if _, _, err := c.try(ctx, job{trial: t, spec: c.seeded(t, spec)}); err != nil && !counted(err) {
			return err
		}
		c.todo = c.todo[1:]
		if c.failures >= maxFailures {
			return c.tooMany()
		}
	}
}

// maxFailures is after how many failed trials in a row a study stops: by then it is not bad luck.
const maxFailures = 3

func (c *conductor) tooMany() error {
	return &Stop{Reason: TooManyFail, Text: fmt.Sprintf(
		"%d trials failed one after the other, the last one with: %s. Remove the cause, then go on with plimsoll study resume %s (--retry-failed repeats them)",
		c.failures, c.lastProblem(), c.o.Dir)}
}

func (c *conductor) lastProblem() string {
	problem := "no reason given"
	for _, t := range c.study.Trials {
		if t.Status == record.TrialFailed || t.Status == record.TrialTimeout {
			problem = t.Problem
		}
	}
	return problem
}

// finish judges what there is and writes the study for the last time in this session. err is what stopped it.
func (c *conductor) finish(err error) (*record.Study, error) {
	s := c.study
	var stop *Stop
	switch {
	case err == nil:
		ended := c.o.Clock.Now().UTC()
		s.Status, s.Problem, s.Ended = record.Complete, "", &ended
	case errors.As(err, &stop):
		s.Status, s.Problem, s.Ended = record.Interrupted, err.Error(), nil
	default:
		s.Status, s.Problem, s.Ended = record.Failed, err.Error(), nil
	}
	c.findings()
	judge.Study(s)
	writeErr := c.w.Write(s)
	clean, redactErr := c.w.Redacted(s)
	if writeErr != nil && clean != nil {
		clean.Validity = append(clean.Validity, record.Unwritten(writeErr))
	}
	if unwritten := errors.Join(writeErr, redactErr); err == nil {
		err = recording(unwritten)
	} else if unwritten != nil {
		err = errors.Join(err, fmt.Errorf("and the study could not be written for the last time: %w", unwritten))
	}
	return clean, err
}
