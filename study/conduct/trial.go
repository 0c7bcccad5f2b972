package conduct

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/campaign"
	"github.com/plimsoll-bench/plimsoll/fleet"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/judge"
)

// job is a trial to run. Those of procedures have its name and the step.
type job struct {
	trial     record.Trial
	spec      spec.Run // with credentials
	procedure string
	step      int
	data      *record.TrialData // what it works on; nil for targets that store nothing
}

// countedError is a failed trial that does not stop the study.
type countedError struct{ err error }

func (e *countedError) Error() string { return e.err.Error() }
func (e *countedError) Unwrap() error { return e.err }

func counted(err error) bool { return errors.As(err, new(*countedError)) }

// try runs a trial with everything around it, and records its beginning and its end. An error is a [*campaign.Stop], a
// [*run.Error] of writing, or a [countedError].
func (s *session) try(ctx context.Context, j job) (study.Result, record.Trial, error) {
	if err := s.ready(ctx, &j); err != nil {
		return study.Result{}, j.trial, err
	}
	lab, err := s.lacksLab(ctx, &j)
	if err != nil {
		return study.Result{}, j.trial, err
	}
	if name, ok := spec.LabOf(j.spec.Target); ok && lab == nil {
		s.lab.recover(ctx, name)
	}
	if j.data, err = s.data.arrange(&j); err != nil {
		return study.Result{}, j.trial, err
	}
	started := s.o.Clock.Now()
	utc := started.UTC()
	t := &j.trial
	t.Attempt = s.attempts.next(*t, j.procedure)
	t.Record = dirOf(*t, j.procedure)
	t.Status, t.Started, t.Problem, t.Seconds, t.Values, t.Validity = record.TrialRunning, &utc, "", 0, nil, nil
	t.Redeployed, t.Storage = 0, nil
	var result study.Result
	stop := s.Do(&j, func() error {
		s.o.Progress.Begin(s.status(*t, j))
		result, err = s.measure(ctx, &j, lab, started)
		return err
	})
	switch {
	case stop != nil:
		return result, *t, stop
	case t.Status != record.TrialDone:
		return result, *t, &countedError{errors.New(t.Problem)}
	}
	return result, *t, nil
}

// measure brings up the lab that a trial lacks, runs the trial, and sets what became of it. An error stops the study.
func (s *session) measure(ctx context.Context, j *job, lab *spec.Lab, started time.Time) (
	result study.Result, err error) {
	t := &j.trial
	if lab != nil {
		var engine string
		t.Redeployed, engine, err = s.lab.deploy(ctx, *lab, t.Configuration)
		s.Result.Engine = cmp.Or(engine, s.Result.Engine)
	}
	if err == nil {
		err = s.disks.arrange(ctx, t, j.spec.StoragePolicy)
	}
	ending := ending{err: err, asked: err != nil && (ctx.Err() != nil || closed(s.o.Abort))}
	if err == nil {
		result, ending = s.supervise(ctx, study.Request{
			Spec: j.spec, Dir: filepath.Join(s.Dir, t.Record), Configuration: t.Configuration, Trial: t.Number,
			Number: s.attempts.nextNumber(started),
		}, s.deadline(j.spec))
	}
	if r := result.Run; r != nil && s.Result.Engine == "" && record.NotMongoDB(s.Result.Base.Target) == "" &&
		record.NotMongoDB(r.Target.Software()) != "" { // the address does not say it
		s.Result.Engine = strings.TrimSpace(r.Target.Software() + " " + r.Target.Version)
	}
	t.Seconds = max(0, s.o.Clock.Now().Sub(started).Seconds()-t.Preparing()) // a clock may be set back
	stop := s.conclude(j, result, ending)
	j.data = s.data.after(j.data, result.Run)
	s.lab.failed = t.Status != record.TrialDone
	if t.Status == record.TrialDone {
		s.pace.learn(*t)
		s.pace.learnFill(*t, filled(result.Run))
	}
	if stop != nil {
		return result, errors.Join(stop, s.loseUnreached())
	}
	return result, nil
}

// lacksLab returns the lab that must be brought up for a trial, nil for none.
func (s *session) lacksLab(ctx context.Context, j *job) (*spec.Lab, error) {
	lab, ofLab := s.labs[j.trial.Configuration]
	if j.procedure != "" && s.plan.Lab != nil {
		lab, ofLab = *s.plan.Lab, true
	}
	if !ofLab {
		return nil, nil
	}
	lacks, err := s.lab.needed(ctx, lab)
	if err != nil || !lacks {
		return nil, err
	}
	s.data.removed(spec.LabTarget(lab.Name))
	return &lab, nil
}

// ready checks before a trial that the study was not interrupted, that the budget suffices and that there is space.
// Then it waits for the settling time.
func (s *session) ready(ctx context.Context, j *job) error {
	if ctx.Err() != nil {
		return s.Interruption()
	}
	if err := s.mayBegin(j.trial); err != nil {
		return err
	}
	if err := s.room(j.spec); err != nil {
		return err
	}
	if settle := s.spec.Settle.Std(); settle > 0 {
		if err := s.o.Clock.Sleep(ctx, settle); err != nil {
			return s.Interruption()
		}
	}
	return nil
}

// loseUnreached marks trials as lost that failed since a target was last reached. They are repeated, because their
// configurations are not the cause.
func (s *session) loseUnreached() error {
	_, unreached := s.Streak.Unreached()
	for _, j := range unreached {
		j.trial.Status = record.TrialLost
		if err := s.Note(record.EventEnd, j); err != nil {
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
func (s *session) conclude(j *job, r study.Result, e ending) error {
	t := &j.trial
	var at *run.Error
	s.evaluate(t, r.Run)
	switch {
	case e.stuck && e.asked:
		t.Status, t.Problem = record.TrialLost, "the study was interrupted during the trial, and the trial did not end"
		return s.Interruption()
	case e.stuck:
		t.Status, t.Problem = record.TrialTimeout, "it did not end within "+figure.Duration(e.limit)+", even after an abort"
		return &campaign.Stop{Reason: campaign.Stuck, Err: e.err, Text: fmt.Sprintf(
			"trial %d does not end; its target may hang. Fix that, then continue with: plimsoll study resume %s", t.Number, s.Dir)}
	case e.err == nil && r.Run != nil && r.Run.Status == record.Complete && cutShort(r.Run) == "":
		t.Status = record.TrialDone
		s.Streak.Done()
		return nil
	case e.late:
		t.Status = record.TrialTimeout
		t.Problem = "it exceeded its deadline of " + figure.Duration(e.limit) + " (deadline in the specification)"
		s.Streak.Failed(t.Problem)
		return nil
	case e.asked:
		t.Status, t.Problem = record.TrialLost, "the study was interrupted during the trial"
		return s.Interruption()
	case campaign.Full(e.err):
		t.Status, t.Problem = record.TrialLost, e.err.Error()
		return &campaign.Stop{Reason: campaign.DiskFull, Err: e.err, Text: fmt.Sprintf(
			"a disk is full, so trial %d was aborted and will be repeated. Free space for the study in %s and for its target, then "+
				"continue with: plimsoll study resume %s",
			t.Number, s.Dir, s.Dir)}
	case errors.As(e.err, &at) && at.Stage == run.Reaching:
		return s.notReached(j, e.err)
	}
	t.Status, t.Problem = record.TrialFailed, problemOf(r, e.err)
	s.Streak.Failed(t.Problem)
	return nil
}

// targetOf names what a connection depends on.
func targetOf(asked spec.Run) string { return asked.Target + " " + asked.Client }

// notReached sets the status of a trial whose target cannot be reached, and returns an error if that stops the study.
func (s *session) notReached(j *job, err error) error {
	var targets []string
	if j.procedure == "" {
		for _, asked := range s.runs {
			targets = append(targets, targetOf(asked))
		}
	}
	t := &j.trial
	t.Problem = err.Error()
	if !s.Streak.NoneReached(targetOf(j.spec), targets) {
		t.Status = record.TrialFailed
		s.Streak.NotReached(targetOf(j.spec), *j)
		return nil
	}
	t.Status = record.TrialLost
	text := fmt.Sprintf("trial %d: %v.", t.Number, err)
	if tried, _ := s.Streak.Unreached(); len(tried) > 1 {
		text = fmt.Sprintf("none of the %d targets of the study can be reached (%s), the last one because: %v.", len(tried), namesOf(tried), err)
	}
	return &campaign.Stop{Reason: campaign.Unreachable, Err: err, Text: text + " Then continue with: plimsoll study resume " + s.Dir}
}

// namesOf lists targets without credentials, with their clients if needed.
func namesOf(targets []string) string {
	var names []string
	for _, target := range targets {
		address, client, _ := strings.Cut(target, " ")
		name := store.Redact(address)
		if slices.Contains(names, name) {
			name += " with client " + client
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
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
