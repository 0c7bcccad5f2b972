package conduct

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/fleet"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/judge"
)

// job is a trial to run. Those of procedures have its name and the step.
type job struct {
	trial     record.Trial
	spec      spec.Run // with credentials
	procedure string
	step      int
}

// countedError is a failed trial that does not stop the study.
type countedError struct{ err error }

func (e *countedError) Error() string { return e.err.Error() }
func (e *countedError) Unwrap() error { return e.err }

func counted(err error) bool { return errors.As(err, new(*countedError)) }

// try runs a trial with everything around it, and records its beginning and its end. An error is a [*Stop], a
// [*run.Error] of writing, or a [countedError].
func (s *session) try(ctx context.Context, j job) (study.Result, record.Trial, error) {
	if err := s.ready(ctx, &j); err != nil {
		return study.Result{}, j.trial, err
	}
	lab, ofLab := s.labOf(&j)
	fresh := false
	if ofLab {
		var err error
		if fresh, err = s.lab.needed(ctx, lab); err != nil {
			return study.Result{}, j.trial, err
		}
	}
	if fresh {
		s.data.removed(spec.LabTarget(lab.Name))
	}
	data, err := s.data.arrange(&j)
	if err != nil {
		return study.Result{}, j.trial, err
	}
	started := s.o.Clock.Now()
	utc := started.UTC()
	t := j.trial
	t.Attempt = s.log.nextAttempt(t, j.procedure)
	t.Record = dirOf(t, j.procedure)
	t.Status, t.Started, t.Problem, t.Seconds, t.Values, t.Validity = record.TrialRunning, &utc, "", 0, nil, nil
	t.Redeployed, t.Storage = 0, nil
	if err := s.log.note(record.EventBegin, t, j, data); err != nil {
		return study.Result{}, t, err
	}
	s.o.Progress.Begin(s.standing(t, j))
	if fresh {
		var engine string
		t.Redeployed, engine, err = s.lab.deploy(ctx, lab, t.Configuration)
		s.log.study.Engine = cmp.Or(engine, s.log.study.Engine)
	}
	if err == nil {
		err = s.disks.arrange(ctx, &t, j.spec.StoragePolicy)
	}
	result, ending := study.Result{}, ending{err: err, asked: err != nil && (ctx.Err() != nil || closed(s.o.Abort))}
	if err == nil {
		result, ending = s.supervise(ctx, study.Request{
			Spec: j.spec, Dir: filepath.Join(s.o.Dir, t.Record), Configuration: t.Configuration, Trial: t.Number,
			Number: s.log.nextNumber(started),
		}, s.deadline(j.spec))
	}
	t.Seconds = max(0, s.o.Clock.Now().Sub(started).Seconds()-t.Preparing()) // a clock may be set back
	stop := s.conclude(&t, j, result, ending)
	if err := s.ended(t, j, s.data.after(data, result.Run)); err != nil {
		return result, t, err
	}
	if t.Status == record.TrialDone {
		s.pace.learnFill(t, filled(result.Run))
	}
	if stop != nil {
		return result, t, errors.Join(stop, s.loseInnocent())
	}
	if t.Status != record.TrialDone {
		return result, t, &countedError{errors.New(t.Problem)}
	}
	return result, t, nil
}

// labOf returns the lab of a trial, if the study has one.
func (s *session) labOf(j *job) (spec.Lab, bool) {
	if j.procedure != "" && s.plan.Lab != nil {
		return *s.plan.Lab, true
	}
	l, ok := s.labs[j.trial.Configuration]
	return l, ok
}

// ready checks before a trial that the study was not interrupted, that the budget suffices and that there is space.
// Then it waits for the settling time.
func (s *session) ready(ctx context.Context, j *job) error {
	if ctx.Err() != nil {
		return interrupted(s.o.Dir)
	}
	if err := s.mayBegin(j.trial); err != nil {
		return err
	}
	if err := s.room(j.spec); err != nil {
		return err
	}
	if settle := s.spec.Settle.Std(); settle > 0 {
		if err := s.o.Clock.Sleep(ctx, settle); err != nil {
			return interrupted(s.o.Dir)
		}
	}
	return nil
}

func interrupted(dir string) error {
	return &Stop{Reason: Interrupted, Text: "interrupted. Continue with: plimsoll study resume " + dir, Err: context.Canceled}
}

// ended records the end of a trial, after its record was synced.
func (s *session) ended(t record.Trial, j job, d *record.TrialData) error {
	if err := s.log.w.SyncBelow(t.Record); err != nil {
		return unwritten(err)
	}
	if err := s.log.note(record.EventEnd, t, j, d); err != nil {
		return err
	}
	s.budget.trials++
	s.streak.ended(t)
	if t.Status == record.TrialDone {
		s.pace.learn(t)
	}
	s.o.Progress.End(t)
	return unwritten(s.log.w.Update(s.log.study))
}

// loseInnocent marks trials as lost that failed since a target was last reached.
func (s *session) loseInnocent() error {
	for _, t := range s.streak.innocent(s.log.study.Trials) {
		t.Status = record.TrialLost
		if err := s.log.note(record.EventEnd, t, job{}, nil); err != nil {
			return err
		}
	}
	return nil
}

// ending is how a trial ended.
type ending struct {
	err   error // of the runner
	asked bool  // the study was interrupted
	late  bool  // the deadline passed
	limit time.Duration
	stuck bool // it did not return after an abort
}

// conclude sets the status of a trial, and returns an error if that stops the study.
func (s *session) conclude(t *record.Trial, j job, r study.Result, e ending) error {
	var at *run.Error
	s.evaluate(t, r.Run)
	switch {
	case e.stuck && e.asked:
		t.Status, t.Problem = record.TrialLost, "the study was interrupted during the trial, and the trial did not end"
		return interrupted(s.o.Dir)
	case e.stuck:
		t.Status, t.Problem = record.TrialTimeout, "it did not end within "+figure.Duration(e.limit)+", even after an abort"
		return &Stop{Reason: Stuck, Err: e.err, Text: fmt.Sprintf(
			"trial %d does not end; its target may hang. Fix that, then continue with: plimsoll study resume %s", t.Number, s.o.Dir)}
	case e.err == nil && r.Run != nil && r.Run.Status == record.Complete && cutShort(r.Run) == "":
		t.Status = record.TrialDone
		return nil
	case e.late:
		t.Status = record.TrialTimeout
		t.Problem = "it exceeded its deadline of " + figure.Duration(e.limit) + " (deadline in the specification)"
		return nil
	case e.asked:
		t.Status, t.Problem = record.TrialLost, "the study was interrupted during the trial"
		return interrupted(s.o.Dir)
	case full(e.err):
		t.Status, t.Problem = record.TrialLost, e.err.Error()
		return &Stop{Reason: DiskFull, Err: e.err, Text: fmt.Sprintf(
			"a disk is full, so trial %d was aborted and will be repeated. Free space for the study in %s and for its target, then "+
				"continue with: plimsoll study resume %s",
			t.Number, s.o.Dir, s.o.Dir)}
	case errors.As(e.err, &at) && at.Stage == run.Reaching:
		return s.notReached(t, j, e.err)
	}
	t.Status, t.Problem = record.TrialFailed, problemOf(r, e.err)
	return nil
}

// notReached sets the status of a trial whose target cannot be reached, and returns an error if that stops the study.
func (s *session) notReached(t *record.Trial, j job, err error) error {
	var targets []spec.Run
	if j.procedure == "" {
		targets = slices.Collect(maps.Values(s.runs))
	}
	t.Problem = err.Error()
	if none := s.streak.notReached(*t, j.spec, targets); !none {
		t.Status = record.TrialFailed
		return nil
	}
	t.Status = record.TrialLost
	text := fmt.Sprintf("trial %d: %v.", t.Number, err)
	if n := len(s.streak.unreached); n > 1 {
		text = fmt.Sprintf("none of the %d targets of the study can be reached (%s), the last one because: %v.", n, s.streak.names(), err)
	}
	return &Stop{Reason: Unreachable, Err: err, Text: text + " Then continue with: plimsoll study resume " + s.o.Dir}
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
	return "its run is " + string(r.Run.Status)
}

// cutShort returns why a run that ended is not a valid trial, or "": it lost a load process, so its load was not the
// requested one.
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

// evaluate sets the values and the findings of a trial from its run.
func (s *session) evaluate(t *record.Trial, r *record.Run) {
	if r == nil {
		return
	}
	if r.Phase("measure") != nil {
		metrics := judge.Metrics(s.spec, r)
		t.Values, t.NoAnswer = judge.Values(r, metrics), judge.NoAnswer(r, metrics)
	}
	for _, f := range r.Validity {
		// Trials are as long as the study says and are compared within blocks, so a short one is no doubt of its own.
		if f.Severity != measure.Note && f.ID != "too-short" {
			t.Validity = append(t.Validity, f)
		}
	}
}

// The time for a trial to end after it was cancelled, and after it was aborted.
const (
	cancelGrace = 30 * time.Second
	abortGrace  = 30 * time.Second
)

// supervise runs a trial. It cancels the trial at its deadline or when the study is interrupted, aborts it if it does
// not end then or if the study must end at once, and abandons it if it still does not end.
func (s *session) supervise(ctx context.Context, q study.Request, limit time.Duration) (study.Result, ending) {
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
		result, err := s.o.Runner.Trial(trial, q)
		answers <- answer{result, err}
	}()
	e := ending{limit: limit}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	aborted, ended, atOnce := false, ctx.Done(), s.o.Abort
	for {
		select {
		case a := <-answers:
			e.err = a.err
			e.asked = e.asked || ctx.Err() != nil || closed(s.o.Abort) // both may have come at once
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
