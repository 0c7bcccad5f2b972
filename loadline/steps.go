package loadline

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/study/procedure"
)

// begin returns the result of a step of an earlier session, or begins the step.
func (c *session) begin(ctx context.Context, i int, s procedure.Step) (step record.LineStep, known bool, err error) {
	l := &c.Result.Lines[i]
	step = record.LineStep{Number: s.Number, Attempt: 1, Phase: s.Phase, Offered: float64(s.Spec.Load.Rate)}
	if at := slices.IndexFunc(c.done, func(x record.LineStep) bool { return x.Number == s.Number }); at >= 0 {
		have := c.done[at]
		same := have.Offered == step.Offered && have.Verdict != record.StepLost && have.Verdict != ""
		if same && (have.Verdict == record.StepFailed || record.KindIn(c.path(have.Record)) != "") {
			c.noted[l.Name] = max(c.noted[l.Name], s.Number)
			return have, true, nil
		}
		step.Attempt = have.Attempt + 1
	}
	step.Record = c.recordOf(i, step)
	for record.KindIn(c.path(step.Record)) != "" { // an attempt that was interrupted
		step.Attempt++
		step.Record = c.recordOf(i, step)
	}
	started := c.o.Run.Now()
	step.Restless = c.calm(ctx)
	step.Calm = c.o.Run.Now().Sub(started).Seconds()
	utc := started.UTC()
	step.Started = &utc
	return step, false, c.Note(record.EventBegin, job{l.Name, step})
}

// recordOf is the directory of a step of the line i, relative to that of the search.
func (c *session) recordOf(i int, s record.LineStep) string {
	return fmt.Sprintf("%s/%d-%03d-%d", record.StepsDir, i+1, s.Number, s.Attempt)
}

func (c *session) path(rel string) string { return filepath.Join(c.Dir, filepath.FromSlash(rel)) }

// run performs a step without an event: a run.
func (c *session) run(ctx context.Context, i int, s procedure.Step) (procedure.StepResult, error) {
	step, known, err := c.begin(ctx, i, s)
	if err != nil {
		return procedure.StepResult{Step: step}, err
	}
	dir := c.path(step.Record)
	var r *record.Run
	if known {
		r, _ = record.OpenRun(dir) // a step that failed has none
	} else {
		o := c.o.Run
		o.Dir = dir
		r, err = c.o.Execute(ctx, s.Spec, o)
		if r != nil && c.o.Run.Loaded == nil { // counting large data again takes long, and fills the cache with them
			c.o.Run.Loaded = r.Fill
		}
		step.Seconds = c.o.Run.Now().Sub(*step.Started).Seconds()
	}
	return c.concluded(ctx, step, dir, r, err)
}

// concluded is the result of a step. An error of the target is a result; one of the request or of the record ends the
// search.
func (c *session) concluded(ctx context.Context, step record.LineStep, dir string, r *record.Run,
	err error) (procedure.StepResult, error) {
	result := procedure.StepResult{Run: r, Step: step, Intervals: func(f func(*measure.Interval) error) error {
		_, err := record.EachInterval(dir, f)
		return err
	}}
	if r != nil && c.Result.Target == nil {
		c.Result.Target = &r.Target
	}
	var of *run.Error
	switch {
	case ctx.Err() != nil:
		return result, ctx.Err()
	case err == nil:
	case errors.As(err, &of) && of.Stage == run.Measuring:
		result.Run, result.Step.Why = nil, err.Error()
	default:
		return result, err
	}
	return result, nil
}
