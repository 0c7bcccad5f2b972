// Package run takes one run from its specification to its record: it opens the target, sees to the data,
// makes the load, judges the result and writes everything down.
//
// What it joins lives elsewhere: workload, store, load, measure, record. Commands, studies and drills
// call [Execute]; nothing here prints, reads flags or looks at the environment.
package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// Stage is the part of a run in which an error came up.
type Stage string

const (
	// Specification: the run cannot be done as it was asked for. Nothing was touched.
	Specification Stage = "specification"
	// Reaching: the target cannot be reached, or refuses.
	Reaching Stage = "target"
	// Recording: the record cannot be written.
	Recording Stage = "record"
	// Filling: the data could not be loaded.
	Filling Stage = "load phase"
	// Measuring: the load itself could not be made.
	Measuring Stage = "measure"
)

// Error says in which stage a run failed. The text is that of Err.
type Error struct {
	Stage Stage
	Err   error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

func at(s Stage, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Stage: s, Err: err}
}

// Progress is told how a run goes. Calls come from one goroutine at a time and must return soon.
type Progress interface {
	// Step announces what is done next, in one line.
	Step(text string)
	// Begin announces a load: the load phase or the measured run.
	Begin(Plan)
	// Interval and Event pass on what the load reports.
	Interval(d measure.Dims, iv *measure.Interval)
	Event(e measure.Event)
}

// Plan is what is known of a load before it begins.
type Plan struct {
	Phase      string        // [load.PhaseLoad] or [load.PhaseMeasure]
	Warmup     time.Duration // before the measured time
	Duration   time.Duration // of the measured time, 0 if operations end it
	Operations int64         // that end it, 0 if the duration does; documents in the load phase
	Offered    float64       // operations per second of an open loop, 0 otherwise
}

// Options are what a run needs besides its specification.
type Options struct {
	Tool     record.Tool      // the program that runs, for the record
	Dir      string           // where the record goes; it is made and must be empty or absent
	Progress Progress         // nil for none
	Abort    <-chan struct{}  // closed: end at once
	Ceiling  *Ceiling         // what this machine's client can do; nil if it was never calibrated
	Now      func() time.Time // wall clock
	Client   int              // number of this process among Clients, from 0
	Clients  int              // load processes that share the data set; 0 means 1
	Command  []string         // the command line, for the record
}

// Execute does the run that spec asks for. It returns the record of it, whose Validity and Objectives
// say what the result is worth, also when it returns an error after measuring has begun. The
// specification must have passed [record.RunSpec.Validate].
func Execute(ctx context.Context, spec record.RunSpec, opts Options) (*record.Run, error) {
	r, err := prepare(spec, opts)
	if err != nil {
		return nil, at(Specification, err)
	}
	if err := r.openTarget(ctx); err != nil {
		var wrong *store.AddressError
		if errors.As(err, &wrong) {
			return nil, at(Specification, err)
		}
		return nil, at(Reaching, orEnded(ctx, err))
	}
	defer r.closeTarget()
	release, err := record.Hold(opts.Dir)
	if err != nil {
		return nil, at(Recording, err)
	}
	defer release()
	if err := r.openRecord(); err != nil {
		return nil, at(Recording, err)
	}
	return r.finish(r.perform(ctx))
}

// runner is one run under way.
type runner struct {
	spec     record.RunSpec
	opts     Options
	target   Target
	workload workload.Workload
	config   load.Config
	store    store.Store
	info     store.Info
	writer   *record.Writer
	cores    float64       // that this process may use
	started  time.Time     // wall clock, when the record was opened
	begun    time.Time     // run time zero of the record: when its first load began
	shift    time.Duration // from there to when the last load began
	fill     *record.FillResult
	report   load.Report
}

// prepare checks everything that can be checked without touching the target.
func prepare(spec record.RunSpec, opts Options) (*runner, error) {
	if opts.Progress == nil {
		opts.Progress = silent{}
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	target, err := ParseTarget(spec.Target)
	if err != nil {
		return nil, err
	}
	r := &runner{spec: spec, opts: opts, target: target, started: opts.Now()}
	if r.workload, err = openWorkload(spec, opts, r.started); err != nil {
		return nil, err
	}
	if r.config, err = loadConfig(spec, opts.Abort); err != nil {
		return nil, err
	}
	return r, nil
}

// perform does the load phase and the measured run.
func (r *runner) perform(ctx context.Context) error {
	if err := r.loadData(ctx); err != nil {
		return at(Filling, orEnded(ctx, err))
	}
	if r.spec.LoadPhase.Only || ctx.Err() != nil {
		return ctx.Err()
	}
	return at(Measuring, r.measure(ctx))
}

// measure makes the load whose result counts.
func (r *runner) measure(ctx context.Context) error {
	c := r.config
	r.opts.Progress.Begin(Plan{
		Phase: load.PhaseMeasure, Warmup: c.Warmup, Duration: c.Duration, Operations: c.Operations, Offered: c.Rate,
	})
	report, err := load.Run(ctx, c, r.workload, r.store, r.sink(c.Scheduled()))
	r.report = report
	if err != nil {
		return err
	}
	if report.Interrupted {
		return context.Canceled
	}
	return nil
}

// sink sends what a load reports to the record and to whoever watches.
func (r *runner) sink(scheduled bool) measure.Sink {
	return &tee{run: r, dims: load.Dims(r.workload, scheduled)}
}

// tee passes on what one load reports. Each load has a clock of its own, which the record is told when
// the first report comes.
type tee struct {
	run   *runner
	dims  measure.Dims
	begun bool
}

func (t *tee) begin(at time.Duration) error {
	if t.begun {
		return nil
	}
	t.begun = true
	started := t.run.opts.Now().Add(-at)
	if t.run.begun.IsZero() {
		t.run.begun = started
	}
	t.run.shift = started.Sub(t.run.begun)
	return t.run.writer.Begin(t.dims, started)
}

func (t *tee) Interval(iv *measure.Interval) error {
	if err := t.begin(iv.End); err != nil {
		return err
	}
	t.run.opts.Progress.Interval(t.dims, iv)
	return t.run.writer.Interval(iv)
}

func (t *tee) Event(e measure.Event) error {
	if err := t.begin(e.At); err != nil {
		return err
	}
	t.run.opts.Progress.Event(e)
	return t.run.writer.Event(e)
}

// silent is the progress of a run that nobody watches.
type silent struct{}

func (silent) Step(string)                              {}
func (silent) Begin(Plan)                               {}
func (silent) Interval(measure.Dims, *measure.Interval) {}
func (silent) Event(measure.Event)                      {}

// interrupted reports whether err only says that the run was asked to end. A deadline that passed does
// not: that is a target which does not answer.
func interrupted(err error) bool { return errors.Is(err, context.Canceled) }

// orEnded returns err or, where the run was asked to end, that: a call that is cut short says all kinds
// of things about a server that does not answer.
func orEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil && err != nil {
		return context.Canceled
	}
	return err
}

// openTarget opens the target and asks it what it is.
func (r *runner) openTarget(ctx context.Context) error {
	r.opts.Progress.Step("opening " + r.target.String())
	st, err := r.target.Open(ctx, r.spec.Client, r.storeConfig(), nil)
	if err != nil {
		return err
	}
	r.store = st
	if r.info, err = st.Info(ctx); err != nil {
		r.closeTarget()
		return fmt.Errorf("ask %s what it is: %w", r.target, err)
	}
	return nil
}

// storeConfig is how the target is opened.
func (r *runner) storeConfig() store.Config {
	return store.Config{
		Database: r.spec.Database,
		Concern:  Concern(r.spec.Durability),
		Sessions: max(r.config.MaxWorkers(), int(r.spec.LoadPhase.Parallel)),
		Timeout:  r.config.Timeout,
	}
}

// closeTarget closes the target. A client whose operations were abandoned may wait for them for ever, and
// after an abort nobody waits at all: the result is written, and closing cannot change it.
func (r *runner) closeTarget() {
	if r.store == nil {
		return
	}
	closed := make(chan struct{})
	go func(st store.Store) { _ = st.Close(); close(closed) }(r.store)
	r.store = nil
	select {
	case <-closed:
	case <-r.opts.Abort:
	case <-time.After(max(closeAtMost, r.config.Timeout)):
	}
}

// closeAtMost is how long closing the target may take at least.
const closeAtMost = 10 * time.Second
