package conduct

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/run/fleet"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/judge"
)

// job is a trial to be done. Those of procedures have the name and the step of theirs.
type job struct {
	trial     record.Trial
	spec      spec.Run // with credentials
	procedure string
	step      int
}

// countedError is the failure of a trial that the study outlives.
type countedError struct{ err error }

func (e *countedError) Error() string { return e.err.Error() }
func (e *countedError) Unwrap() error { return e.err }

func counted(err error) bool { return errors.As(err, new(*countedError)) }

// try does a trial: it sees to everything around it, writes down that it begins and what became of it. An error is a
// [*Stop], a [*run.Error] of writing things down, or marks a failure that is written down and counted.
func (c *conductor) try(ctx context.Context, j job) (study.Result, record.Trial, error) {
	if err := c.ready(ctx, &j); err != nil {
		return study.Result{}, j.trial, err
	}
	fresh, err := c.needsLab(ctx, &j)
	if err != nil {
		return study.Result{}, j.trial, err
	}
	data, err := c.arrange(&j)
	if err != nil {
		return study.Result{}, j.trial, err
	}
	started := c.o.Clock.Now()
	utc := started.UTC()
	t := j.trial
	t.Attempt = c.attempts[nameOf(t, j.procedure)] + 1
	c.attempts[nameOf(t, j.procedure)] = t.Attempt
	t.Record = dirOf(t, j.procedure)
	t.Status, t.Started, t.Problem, t.Seconds, t.Values, t.Validity = record.TrialRunning, &utc, "", 0, nil, nil
	t.Redeployed = 0
	if err := c.note(record.EventBegin, t, j, data); err != nil {
		return study.Result{}, t, err
	}
	c.o.Progress.Begin(c.standing(t, j))
	if fresh {
		t.Redeployed, err = c.deploy(ctx, &j)
	}
	result, ending := study.Result{}, ending{err: err, asked: err != nil && (ctx.Err() != nil || closed(c.o.Abort))}
	if err == nil {
		result, ending = c.supervise(ctx, study.Request{
			Spec: j.spec, Dir: filepath.Join(c.o.Dir, t.Record), Configuration: t.Configuration, Trial: t.Number,
			Number: c.nextNumber(started),
		}, c.deadline(j.spec))
	}
	t.Seconds = max(0, c.o.Clock.Now().Sub(started).Seconds()-t.Redeployed) // a clock may be set back
	stop := c.conclude(&t, j, result, ending)
	data = c.settled(data, result)
	if err := c.over(t, j, data); err != nil {
		return result, t, err
	}
	if t.Status == record.TrialDone {
		c.pace.learnFill(t, filled(result.Run))
	}
	if stop != nil {
		return result, t, errors.Join(stop, c.giveBack())
	}
	if t.Status != record.TrialDone {
		return result, t, &countedError{errors.New(t.Problem)}
	}
	return result, t, nil
}

// ready makes sure that a trial may begin: nobody ended the study, the budget lasts, there is room, and it is calm.
func (c *conductor) ready(ctx context.Context, j *job) error {
	if ctx.Err() != nil {
		return c.interrupted()
	}
	if err := c.withinBudget(j.trial); err != nil {
		return err
	}
	if err := c.room(j.spec); err != nil {
		return err
	}
	if settle := c.spec.Settle.Std(); settle > 0 {
		if err := c.o.Clock.Sleep(ctx, settle); err != nil {
			return c.interrupted()
		}
	}
	return nil
}

func (c *conductor) interrupted() error {
	return &Stop{Reason: Interrupted, Text: "interrupted; go on with plimsoll study resume " + c.o.Dir, Err: context.Canceled}
}

// note writes into the journal and into the list.
func (c *conductor) note(kind string, t record.Trial, j job, d *record.TrialData) error {
	e := record.StudyEvent{At: c.o.Clock.Now().UTC(), Event: kind, Trial: &t, Procedure: j.procedure, Step: j.step, Data: d}
	if err := c.w.Append(e); err != nil {
		return c.fullOr(err)
	}
	c.study.Place(t)
	return nil
}

// over writes down how a trial ended. Its record is on the disk by then.
func (c *conductor) over(t record.Trial, j job, d *record.TrialData) error {
	if err := c.w.SyncBelow(t.Record); err != nil {
		return c.fullOr(err)
	}
	if err := c.note(record.EventEnd, t, j, d); err != nil {
		return err
	}
	c.pace.session++
	switch t.Status {
	case record.TrialDone:
		c.failures = 0
		clear(c.unreached)
		c.pace.learn(t)
	case record.TrialFailed, record.TrialTimeout:
		if !c.wasNotReached(t) {
			c.failures++
			clear(c.unreached)
		}
	}
	c.o.Progress.End(t)
	if err := c.w.Update(c.study); err != nil {
		return c.fullOr(err)
	}
	return nil
}

// fullOr explains an error of writing the study down. A full disk is no reason to give the study up.
func (c *conductor) fullOr(err error) error {
	if full(err) {
		return &Stop{Reason: DiskFull, Text: err.Error(), Err: err}
	}
	return recording(err)
}

func full(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// ending is how a trial came to its end.
type ending struct {
	err   error // what the runner said
	asked bool  // the study was asked to end meanwhile
	late  bool  // the deadline passed
	limit time.Duration
	stuck bool // it did not return even when it was aborted
}

// conclude says what became of a trial, and returns what stops the study, if that does.
func (c *conductor) conclude(t *record.Trial, j job, r study.Result, e ending) error {
	var at *run.Error
	c.evaluate(t, r)
	switch {
	case e.stuck && e.asked:
		t.Status, t.Problem = record.TrialLost, "the study was interrupted while it was under way, and it did not end"
		return c.interrupted()
	case e.stuck:
		t.Status, t.Problem = record.TrialTimeout, "it could not be ended within "+figure.Duration(e.limit)+", not even by aborting it"
		return &Stop{Reason: Stuck, Err: e.err, Text: fmt.Sprintf(
			"trial %d cannot be ended: its target may hang. See to that, then go on with plimsoll study resume %s", t.Number, c.o.Dir)}
	case e.err == nil && r.Run != nil && r.Run.Status == record.Complete && cutShort(r.Run) == "":
		t.Status = record.TrialDone
		return nil
	case e.late:
		t.Status = record.TrialTimeout
		t.Problem = "its deadline of " + figure.Duration(e.limit) + " passed (deadline in the specification)"
		return nil
	case e.asked:
		t.Status, t.Problem = record.TrialLost, "the study was interrupted while it was under way"
		return c.interrupted()
	case full(e.err):
		t.Status, t.Problem = record.TrialLost, e.err.Error()
		return &Stop{Reason: DiskFull, Err: e.err, Text: fmt.Sprintf(
			"a disk is full, so trial %d was given up and will be repeated: free space for the study in %s and for its target, then go on with plimsoll study resume %s",
			t.Number, c.o.Dir, c.o.Dir)}
	case errors.As(e.err, &at) && at.Stage == run.Reaching:
		return c.notReached(t, j, e.err)
	}
	t.Status, t.Problem = record.TrialFailed, problemOf(r, e.err)
	return nil
}

func problemOf(r study.Result, err error) string {
	switch {
	case err != nil:
		return err.Error()
	case r.Run == nil:
		return "it left no result"
	case r.Run.Problem != "":
		return r.Run.Problem
	case cutShort(r.Run) != "":
		return cutShort(r.Run)
	}
	return "its run ended as " + string(r.Run.Status)
}

// cutShort says why a run that came to its end is no trial: it lost a load process, so its load became another one
// than was asked for. "" for all others.
func cutShort(r *record.Run) string {
	if r.Course.EndedBy != fleet.EventLost {
		return ""
	}
	for _, f := range r.Validity {
		if f.ID == fleet.EventLost {
			return f.Text
		}
	}
	return "a load process was lost"
}

// evaluate takes from the result what the study keeps of it.
func (c *conductor) evaluate(t *record.Trial, r study.Result) {
	if r.Run == nil {
		return
	}
	if r.Run.Phase("measure") != nil {
		t.Values = judge.Values(r.Run, judge.Metrics(c.spec, r.Run))
	}
	for _, f := range r.Run.Validity {
		if f.Severity != measure.Note {
			t.Validity = append(t.Validity, f)
		}
	}
}

// How long a trial may take to end once it was cancelled, and once more when it was aborted.
const (
	cancelGrace = 30 * time.Second
	abortGrace  = 30 * time.Second
)

// supervise runs a trial. At its deadline, or when the study is to end, it is cancelled; if it does not end then, or
// if the study is to end at once, it is aborted; and if that does not help either, it is left behind.
func (c *conductor) supervise(ctx context.Context, q study.Request, limit time.Duration) (study.Result, ending) {
	trial, cancel := context.WithCancel(ctx)
	defer cancel()
	abort := make(chan struct{})
	q.Abort = abort
	type answer struct {
		result study.Result
		err    error
	}
	answers := make(chan answer, 1)
	go func() {
		result, err := c.o.Runner.Trial(trial, q)
		answers <- answer{result, err}
	}()
	e := ending{limit: limit}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	aborted, ended, atOnce := false, ctx.Done(), c.o.Abort
	for {
		select {
		case a := <-answers:
			e.err = a.err
			e.asked = e.asked || ctx.Err() != nil || closed(c.o.Abort) // both may have come at once
			return a.result, e
		case <-ended: // trial ends with it
			e.asked, ended = true, nil
			if !e.late && !aborted { // it is being ended already, and must not get more time for that
				timer.Reset(q.Spec.Load.Timeout.Std() + cancelGrace)
			}
		case <-atOnce:
			e.asked, aborted, atOnce = true, true, nil
			cancel()
			close(abort)
			timer.Reset(abortGrace)
		case <-timer.C:
			switch {
			case aborted:
				e.stuck = true
				return study.Result{}, e
			case e.asked || e.late:
				aborted, atOnce = true, nil
				close(abort)
				timer.Reset(abortGrace)
			default:
				e.late = true
				cancel()
				timer.Reset(q.Spec.Load.Timeout.Std() + cancelGrace)
			}
		}
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
