package conduct

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/campaign"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/procedure"
)

// The procedures in their order. firstNumber is the number before that of their first trial, so the same trial of a
// procedure has the same number in every session.
const (
	threads  = "threads"
	steady   = "steady"
	capacity = "capacity"

	perProcedure = 10_000
)

var firstNumber = map[string]int{threads: 0, steady: perProcedure, capacity: 2 * perProcedure}

// search runs the procedures of a study.
type search struct {
	*session
	asked *spec.Procedures // with defaults
	base  spec.Run         // with what was found so far
}

// findBase runs the procedures, applies their results to the base, and plans the study with it. Results and trials of
// earlier sessions are reused.
func (s *session) findBase(ctx context.Context) error {
	p := s.Result.Specification.Procedures
	if p == nil {
		return nil
	}
	s.spec.Procedures = p
	f := &search{session: s, asked: p, base: s.spec.Run}
	for _, name := range []string{threads, steady} {
		if name == threads && p.Threads == nil || name == steady && p.Steady == nil {
			continue
		}
		if err := f.choose(ctx, name); err != nil {
			return err
		}
	}
	if err := f.replan(); err != nil {
		return err
	}
	if p.Capacity != nil && s.Result.Capacity == nil {
		return f.capacity(ctx)
	}
	return nil
}

// choose runs a procedure that sets a value of the base, unless an earlier session did.
func (f *search) choose(ctx context.Context, name string) error {
	found := &f.Result.Procedures
	i := slices.IndexFunc(*found, func(r record.ProcedureResult) bool { return r.Name == name })
	if i < 0 {
		f.o.Progress.Note("procedure " + name)
		base := f.base
		err := base.Complete()
		if err != nil {
			return f.ofProcedure(name, err)
		}
		var result record.ProcedureResult
		if name == threads {
			result, err = procedure.Threads(ctx, base, *f.asked.Threads, f.trier(name))
		} else {
			result, err = procedure.Steady(ctx, base, *f.asked.Steady, f.trier(name))
		}
		if err != nil {
			return f.ofProcedure(name, err)
		}
		*found = append(*found, result)
		if err := f.Write(); err != nil {
			return err
		}
		i = len(*found) - 1
	}
	var err error
	if f.base, err = fix(f.base, (*found)[i]); err != nil {
		return f.ofProcedure(name, err)
	}
	return nil
}

// capacity searches the rate that holds the objectives: those of the study, or else those of its base run.
func (f *search) capacity(ctx context.Context) error {
	f.o.Progress.Note("procedure " + capacity)
	base := f.base
	if err := base.Complete(); err != nil {
		return f.ofProcedure(capacity, err)
	}
	objectives := f.spec.Objectives
	if len(objectives) == 0 {
		objectives = f.spec.Run.Objectives
	}
	result, err := procedure.Capacity(ctx, base, objectives, *f.asked.Capacity, f.trier(capacity))
	if err != nil {
		return f.ofProcedure(capacity, err)
	}
	f.Result.Capacity = &result
	return f.Write()
}

// ofProcedure adds the name of the procedure to an error, unless it stops the study.
func (f *search) ofProcedure(name string, err error) error {
	var stop *campaign.Stop
	switch {
	case errors.As(err, &stop):
		return stop
	case errors.Is(err, context.Canceled):
		return f.Interruption()
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

// replan plans the study with the results of the procedures.
func (f *search) replan() error {
	spec := f.spec
	spec.Run, spec.Budget = f.base, 0 // the plan was checked before; the budget is for each session
	o := f.o.Plan
	o.Rate, o.FillRate = f.measured()
	o.Redeploy, _ = redeployed(f.Result.Trials)
	plan, err := study.NewPlan(spec, o)
	if err != nil {
		return campaign.Wrong(fmt.Errorf("with the results of the procedures: %w", err))
	}
	if len(plan.Trials) > 0 {
		rest := plan.Estimate
		rest.Seconds, rest.Procedures = rest.Seconds-rest.Procedures, 0
		f.o.Progress.Note("the compared trials take about " + rest.Text())
	}
	if err := f.adopt(plan); err != nil {
		return err
	}
	return f.Write()
}

// measured returns the operations per second of the last trial of a procedure without a limited rate, and the bytes per
// second of the last load phase, for the estimate; 0 if unknown.
func (f *search) measured() (rate, fill float64) {
	for _, t := range f.Result.Trials {
		if t.Kind != record.TrialSearch || t.Status != record.TrialDone {
			continue
		}
		r, err := record.OpenBelow(f.Dir, t.Record)
		if err != nil {
			continue
		}
		if p := r.Phase("measure"); p != nil && !r.Specification.Load.Open() && r.Specification.Load.Pace == 0 {
			rate = p.Rates.Achieved
		}
		if load := r.Fill; load != nil && load.Inserted > 0 && load.Seconds > 0 {
			fill = float64(dataBytes(f.plan, r.Specification)) * float64(load.Inserted) / float64(load.Records) / load.Seconds
		}
	}
	return rate, fill
}

// trier runs the trials of a procedure, or returns the same trials of an earlier session.
func (f *search) trier(name string) procedure.Try {
	step := 0
	return func(ctx context.Context, asked spec.Run, what string) (study.Result, record.Trial, error) {
		step++
		t := record.Trial{Number: firstNumber[name] + step, Kind: record.TrialSearch, Configuration: what,
			Status: record.TrialPlanned}
		j := job{trial: t, spec: seeded(f.Result.Specification.Seed, t, asked), procedure: name, step: step}
		if result, done, ok, err := f.replay(j); ok || err != nil {
			return result, done, err
		}
		err := f.search(length(asked.Load))
		var result study.Result
		if err == nil {
			result, t, err = f.try(ctx, j)
		}
		if many := f.TooMany(); many != nil {
			err = many
		}
		var stop *campaign.Stop
		if errors.As(err, &stop) {
			t.Status = record.TrialLost // for the procedure, which must end: a failed trial would be a result
			return study.Result{}, t, stop
		}
		return result, t, err
	}
}

// replay returns the trial of a procedure from an earlier session, if it can be used.
func (f *search) replay(j job) (study.Result, record.Trial, bool, error) {
	last, err := f.lastAttempt(j)
	if err != nil || last == nil {
		return study.Result{}, record.Trial{}, false, err
	}
	switch last.Status {
	case record.TrialDone:
		if f.o.RetryFailed && worthless(*last) {
			break
		}
		dir := filepath.Join(f.Dir, last.Record)
		r, err := record.OpenRun(dir)
		if err != nil || !r.Of(j.spec) {
			return study.Result{}, record.Trial{}, false, nil // it must be measured again
		}
		return resultIn(dir, r), *last, true, nil
	case record.TrialFailed, record.TrialTimeout:
		if !f.o.RetryFailed {
			return study.Result{}, *last, true, &countedError{errors.New(last.Problem)}
		}
	}
	return study.Result{}, record.Trial{}, false, nil
}

// lastAttempt returns the last attempt of a trial, after reading its record if needed.
func (f *search) lastAttempt(j job) (*record.Trial, error) {
	if err := f.closeAttempts(j.trial, j.procedure); err != nil {
		return nil, err
	}
	var last *record.Trial
	for i := range f.Result.Trials {
		t := &f.Result.Trials[i]
		if t.Kind == record.TrialSearch && t.Number == j.trial.Number && t.Status != record.TrialPlanned {
			last = t
		}
	}
	return last, nil
}
