package conduct

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll-bench/plimsoll/campaign"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/judge"
)

// session runs a study from its beginning, or from the end of an earlier session, until it is complete or stopped.
type session struct {
	campaign.Session[*record.Study, job]
	o       Options
	spec    spec.Study // with credentials
	plan    *study.Plan
	resumed bool                // there were sessions before this one
	runs    map[string]spec.Run // by the IDs of configurations as the study has them; with credentials
	labs    map[string]spec.Lab // likewise; empty if the study brings none up

	attempts *attempts
	data     *dataSets
	lab      *deployment
	disks    *storage
	queue    queue
	pace     pace
}

// maxFailures is the number of failed trials in a row after which a study stops.
const maxFailures = 3

func newSession(o Options, w *record.StudyWriter, of *record.Study, asked spec.Study) *session {
	s := &session{o: o, spec: asked, runs: map[string]spec.Run{}, labs: map[string]spec.Lab{},
		attempts: &attempts{dir: o.Dir, study: of, open: map[string]*record.TrialData{}, highest: map[string]int{}},
		data:     &dataSets{dir: o.Dir, reload: asked.Reload, drop: o.Drop, places: map[string]dataState{}},
		lab:      &deployment{labs: o.Labs, clock: o.Clock, progress: o.Progress, dir: o.Dir},
		disks:    &storage{open: o.Storage, progress: o.Progress},
	}
	s.Session = campaign.Session[*record.Study, job]{Dir: o.Dir, Result: of, Store: w, Journal: s, Now: o.Clock.Now,
		Tool: o.Tool, Command: o.Command, OnEnd: func(j job) { o.Progress.End(j.trial) },
		Budget: campaign.Budget{Limit: asked.Budget.Std(), Began: o.Clock.Now()},
		Streak: campaign.Streak[job]{Most: maxFailures, Noun: "trials"}}
	return s
}

func (s *session) Append(at time.Time, event string, session *record.StudySession, j *job) error {
	e := record.StudyEvent{At: at, Event: event, Session: session}
	if j != nil {
		e.Trial, e.Procedure, e.Step, e.Data = &j.trial, j.procedure, j.step, j.data
	}
	return s.Store.Append(e)
}

func (s *session) Place(j job) { s.Result.Place(j.trial) }

func (s *session) RecordOf(j job) string { return j.trial.Record }

func environment(dir, target string) record.Environment {
	dirs := map[string]string{"record": dir}
	if t, err := run.ParseTarget(target); err == nil && t.Kind == "embedded" {
		dirs["embedded"] = t.Dir
	}
	return record.NewEnvironment(dirs)
}

// adopt makes a plan that of the study, with the results of its trials so far.
func (s *session) adopt(plan *study.Plan) error {
	clean, err := s.Store.Redacted(&record.Study{Base: plan.Base, Configurations: plan.Configurations,
		Trials: plan.Trials})
	if err != nil {
		return campaign.Unwritten(err)
	}
	s.plan, s.queue.total, s.queue.each = plan, len(clean.Trials), int(plan.Spec.Trials)
	of := s.Result
	known := of.Trials
	of.Base, of.Configurations, of.Trials = clean.Base, clean.Configurations, clean.Trials
	for _, t := range known {
		if t.Status != record.TrialPlanned {
			of.Place(t)
		}
	}
	return s.resolve(clean.Configurations)
}

// resolve finds the runs of configurations whose IDs are without credentials.
func (s *session) resolve(clean []record.Configuration) error {
	clear(s.runs)
	clear(s.labs)
	for i, planned := range s.plan.Configurations {
		spec, err := s.plan.RunSpec(planned.ID)
		if err != nil {
			return campaign.Wrong(err)
		}
		if _, twice := s.runs[clean[i].ID]; twice {
			return campaign.Wrong(fmt.Errorf("without credentials, two configurations have the name %s. Give their levels names", clean[i].ID))
		}
		s.runs[clean[i].ID] = spec
		if l, ok := s.plan.LabSpec(planned.ID); ok {
			s.labs[clean[i].ID] = l
		}
	}
	return nil
}

// perform runs the rest of the study, and writes it at the end of the session.
func (s *session) perform(ctx context.Context) (*record.Study, error) {
	if err := s.Begin(); err != nil {
		return nil, err
	}
	err := s.disks.begin(ctx, s.spec, s.Result)
	if err == nil {
		err = s.findBase(ctx)
	}
	if err == nil {
		err = s.performTrials(ctx)
	}
	s.disks.end(ctx)
	if s.plan.Lab != nil {
		s.lab.remove(ctx, s.plan.Lab.Name)
	}
	return s.Finish(err, func() {
		c := conducted{session: s, study: s.Result}
		c.replaceFindings()
		judge.Study(s.Result)
	})
}

func (s *session) performTrials(ctx context.Context) error {
	if err := s.reconcile(); err != nil {
		return err
	}
	s.queue.todo = left(s.Result, s.o.RetryFailed)
	next := func() (job, bool, error) {
		if err := errors.Join(s.fitBlocks(), s.endDecided()); err != nil || len(s.queue.todo) == 0 {
			return job{}, false, err
		}
		t := s.queue.todo[0]
		spec, ok := s.runs[t.Configuration]
		if !ok {
			return job{}, false, campaign.Wrong(fmt.Errorf("trial %d belongs to configuration %s, which is not in the plan, because another version of plimsoll planned this study. "+
				"Resume it with that version",
				t.Number, t.Configuration))
		}
		return job{trial: t, spec: seeded(s.Result.Specification.Seed, t, spec)}, true, nil
	}
	return s.All(ctx, next, func(j job) error {
		_, _, err := s.try(ctx, j)
		if err != nil && !counted(err) {
			return err
		}
		s.queue.todo = s.queue.todo[1:]
		return nil
	})
}
