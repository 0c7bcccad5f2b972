package conduct

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/procedure"
)

// The procedures in the order in which they run, with the number before that of their first trial: the same trial of a
// procedure has the same number in every session, whatever the procedures before it needed.
const (
	threads  = "threads"
	steady   = "steady"
	capacity = "capacity"

	perProcedure = 10_000
)

var firstNumber = map[string]int{threads: 0, steady: perProcedure, capacity: 2 * perProcedure}

// procedures finds what the specification leaves to be found, fixes it in the base, and plans the study with that.
// What earlier sessions found is taken from the study, and what they measured on the way from its records.
func (c *conductor) procedures(ctx context.Context) error {
	p := c.study.Specification.Procedures // with defaults
	if p == nil {
		return nil
	}
	c.spec.Procedures = p
	base := c.spec.Run
	for _, name := range []string{threads, steady} {
		if name == threads && p.Threads == nil || name == steady && p.Steady == nil {
			continue
		}
		result, known := c.found(name)
		if !known {
			var err error
			if result, err = c.find(ctx, name, base); err != nil {
				return c.ofProcedure(name, err)
			}
			c.study.Procedures = append(c.study.Procedures, result)
			if err := c.w.Write(c.study); err != nil {
				return c.fullOr(err)
			}
		}
		var err error
		if base, err = fix(base, result); err != nil {
			return c.ofProcedure(name, err)
		}
	}
	if err := c.replan(base); err != nil {
		return err
	}
	if p.Capacity != nil && c.study.Capacity == nil {
		return c.searchCapacity(ctx, base, *p.Capacity)
	}
	return nil
}

func (c *conductor) found(name string) (record.ProcedureResult, bool) {
	for _, r := range c.study.Procedures {
		if r.Name == name {
			return r, true
		}
	}
	return record.ProcedureResult{}, false
}

// find runs one of the procedures that choose something for the base.
func (c *conductor) find(ctx context.Context, name string, base spec.Run) (record.ProcedureResult, error) {
	c.o.Progress.Note("procedure " + name)
	base.Defaults()
	if name == threads {
		return procedure.Threads(ctx, base, *c.spec.Procedures.Threads, c.trier(name))
	}
	return procedure.Steady(ctx, base, *c.spec.Procedures.Steady, c.trier(name))
}

func (c *conductor) searchCapacity(ctx context.Context, base spec.Run, asked spec.Capacity) error {
	c.o.Progress.Note("procedure " + capacity)
	base.Defaults()
	result, err := procedure.Capacity(ctx, base, c.objectives(), asked, c.trier(capacity))
	if err != nil {
		return c.ofProcedure(capacity, err)
	}
	c.study.Capacity = &result
	if err := c.w.Write(c.study); err != nil {
		return c.fullOr(err)
	}
	return nil
}

// objectives are what a rate must hold: those of the study, or else those of its base run.
func (c *conductor) objectives() []string {
	if len(c.spec.Objectives) > 0 {
		return c.spec.Objectives
	}
	return c.spec.Run.Objectives
}

// ofProcedure says which procedure an error ended, unless it is one that stops the study anyway.
func (c *conductor) ofProcedure(name string, err error) error {
	var stop *Stop
	switch {
	case errors.As(err, &stop):
		return stop
	case errors.Is(err, context.Canceled):
		return c.interrupted()
	}
	return fmt.Errorf("procedure %s: %w", name, err)
}

// fix sets what a procedure chose.
func fix(base spec.Run, r record.ProcedureResult) (spec.Run, error) {
	if r.Chosen <= 0 {
		return base, nil
	}
	set := map[string]any{r.Path: int(r.Chosen)}
	switch r.Path {
	case "load.duration":
		set = map[string]any{r.Path: time.Duration(r.Chosen * float64(time.Second)).String(), "load.operations": nil}
	case "load.operations":
		set["load.duration"] = nil
	}
	return study.Apply(base, set)
}

// replan plans the study from the base with everything that was found.
func (c *conductor) replan(base spec.Run) error {
	spec := c.spec
	spec.Run, spec.Budget = base, 0 // the budget was held against the plan before; each session has its own
	o := c.o.Plan
	o.Rate, o.FillRate = c.measured()
	o.Redeploy, _ = c.redeployed()
	plan, err := study.NewPlan(spec, o)
	if err != nil {
		return wrong(fmt.Errorf("with what the procedures chose: %w", err))
	}
	if len(plan.Trials) > 0 {
		rest := plan.Estimate
		rest.Seconds, rest.Procedures = rest.Seconds-rest.Procedures, 0
		c.o.Progress.Note("the trials that are compared take about " + rest.Text())
	}
	if err := c.adopt(plan); err != nil {
		return err
	}
	if err := c.w.Write(c.study); err != nil {
		return c.fullOr(err)
	}
	return nil
}

// measured are the operations per second of the last trial of a procedure that sent as fast as it could, and the bytes
// per second of the last load phase: the rest of the study is estimated with them. 0 is unknown.
func (c *conductor) measured() (rate, fill float64) {
	for _, t := range c.study.Trials {
		if t.Kind != record.TrialSearch || t.Status != record.TrialDone {
			continue
		}
		r, err := record.OpenBelow(c.o.Dir, t.Record)
		if err != nil {
			continue
		}
		if p := r.Phase("measure"); p != nil && !r.Specification.Load.Open() && r.Specification.Load.Pace == 0 {
			rate = p.Rates.Achieved
		}
		if f := r.Fill; f != nil && f.Inserted > 0 && f.Seconds > 0 {
			fill = float64(c.dataBytes(r.Specification)) * float64(f.Inserted) / float64(f.Records) / f.Seconds
		}
	}
	return rate, fill
}

// trier makes the trials of a procedure, or returns what an earlier session measured in the same place.
func (c *conductor) trier(name string) procedure.Try {
	step := 0
	return func(ctx context.Context, asked spec.Run, what string) (study.Result, record.Trial, error) {
		step++
		t := record.Trial{Number: firstNumber[name] + step, Kind: record.TrialSearch, Configuration: what, Status: record.TrialPlanned}
		j := job{trial: t, spec: c.seeded(t, asked), procedure: name, step: step}
		if result, done, ok, err := c.replay(j); ok || err != nil {
			return result, done, err
		}
		err := c.timeToSearch(asked)
		var result study.Result
		if err == nil {
			result, t, err = c.try(ctx, j)
		}
		if c.failures >= maxFailures {
			err = c.tooMany()
		}
		var stop *Stop
		if errors.As(err, &stop) {
			t.Status = record.TrialLost // for the procedure, which must end: a failed trial would be a result
			return study.Result{}, t, stop
		}
		return result, t, err
	}
}

// replay returns what an earlier session made of a trial of a procedure.
func (c *conductor) replay(j job) (study.Result, record.Trial, bool, error) {
	last, err := c.lastAttempt(j)
	if err != nil || last == nil {
		return study.Result{}, record.Trial{}, false, err
	}
	switch last.Status {
	case record.TrialDone:
		if c.o.RetryFailed && worthless(*last) {
			break
		}
		dir := filepath.Join(c.o.Dir, last.Record)
		r, err := record.OpenRun(dir)
		if err != nil || !sameRun(r.Specification, j.spec) {
			return study.Result{}, record.Trial{}, false, nil // it must be measured again
		}
		return study.Result{Run: r, Seconds: func() ([]study.Second, error) { return Seconds(dir) }}, *last, true, nil
	case record.TrialFailed, record.TrialTimeout:
		if !c.o.RetryFailed {
			return study.Result{}, *last, true, &countedError{errors.New(last.Problem)}
		}
	}
	return study.Result{}, record.Trial{}, false, nil
}

// lastAttempt finds what is known of the last attempt of a trial, after looking at its record if that must decide.
func (c *conductor) lastAttempt(j job) (*record.Trial, error) {
	if err := c.settle(j.trial, j.procedure); err != nil {
		return nil, err
	}
	var last *record.Trial
	for i := range c.study.Trials {
		t := &c.study.Trials[i]
		if t.Kind == record.TrialSearch && t.Number == j.trial.Number && t.Status != record.TrialPlanned {
			last = t
		}
	}
	return last, nil
}
