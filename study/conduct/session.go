package conduct

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/judge"
)

// session runs a study from its beginning, or from the end of an earlier session, until it is complete or stopped.
type session struct {
	o       Options
	spec    spec.Study // with credentials
	plan    *study.Plan
	resumed bool                // there were sessions before this one
	runs    map[string]spec.Run // by the IDs of configurations as the study has them; with credentials
	labs    map[string]spec.Lab // likewise; empty if the study brings none up

	log    *logbook
	data   *dataSets
	lab    *deployment
	disks  *storage
	queue  queue
	budget budget
	pace   pace
	streak streak
}

func newSession(o Options, w *record.StudyWriter, s *record.Study, asked spec.Study) *session {
	return &session{o: o, spec: asked, runs: map[string]spec.Run{}, labs: map[string]spec.Lab{},
		log:    newLogbook(o, w, s),
		data:   &dataSets{dir: o.Dir, reload: asked.Reload, drop: o.Drop, places: map[string]dataState{}},
		lab:    &deployment{labs: o.Labs, clock: o.Clock, progress: o.Progress, dir: o.Dir},
		disks:  &storage{open: o.Storage, progress: o.Progress},
		budget: budget{dir: o.Dir, clock: o.Clock, began: o.Clock.Now(), limit: asked.Budget.Std(), shared: o.Budget},
		pace:   newPace(),
		streak: streak{unreached: map[string][]record.Trial{}},
	}
}

func environment(dir, target string) record.Environment {
	dirs := map[string]string{"record": dir}
	if t, err := run.ParseTarget(target); err == nil && t.Kind == "embedded" {
		dirs["embedded"] = t.Dir
	}
	return record.NewEnvironment(dirs)
}

// describe returns the session for the journal.
func (s *session) describe() record.StudySession {
	e := environment(s.o.Dir, s.spec.Run.Target)
	d := record.StudySession{Tool: s.o.Tool, Command: s.o.Command, Pid: syscall.Getpid(), Host: e.Host, CPU: e.CPU,
		Cores: e.Cores}
	if dir, err := filepath.Abs("."); err == nil {
		d.Directory = dir
	}
	return d
}

// adopt makes a plan that of the study, with the results of its trials so far.
func (s *session) adopt(plan *study.Plan) error {
	clean, err := s.log.w.Redacted(&record.Study{Base: plan.Base, Configurations: plan.Configurations,
		Trials: plan.Trials})
	if err != nil {
		return recording(err)
	}
	s.plan, s.queue.total, s.queue.each = plan, len(clean.Trials), int(plan.Spec.Trials)
	of := s.log.study
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
			return wrong(err)
		}
		if _, twice := s.runs[clean[i].ID]; twice {
			return wrong(fmt.Errorf("without credentials, two configurations have the name %s. Give their levels names", clean[i].ID))
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
	if err := s.log.begin(s.describe()); err != nil {
		return nil, err
	}
	err := s.disks.begin(ctx, s.spec, s.log.study)
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
	return s.finish(err)
}

func (s *session) performTrials(ctx context.Context) error {
	if err := s.reconcile(); err != nil {
		return err
	}
	s.queue.todo = s.log.left(s.o.RetryFailed)
	for {
		if err := s.fitBlocks(); err != nil || len(s.queue.todo) == 0 {
			return err
		}
		t := s.queue.todo[0]
		spec, ok := s.runs[t.Configuration]
		if !ok {
			return wrong(fmt.Errorf("trial %d belongs to configuration %s, which is not in the plan, because another version of plimsoll planned this study. "+
				"Resume it with that version",
				t.Number, t.Configuration))
		}
		j := job{trial: t, spec: seeded(s.log.study.Specification.Seed, t, spec)}
		if _, _, err := s.try(ctx, j); err != nil && !counted(err) {
			return err
		}
		s.queue.todo = s.queue.todo[1:]
		if s.streak.failures >= maxFailures {
			return s.tooMany()
		}
	}
}

// maxFailures is the number of failed trials in a row after which a study stops.
const maxFailures = 3

func (s *session) tooMany() error {
	return &Stop{Reason: TooManyFail, Text: fmt.Sprintf(
		"%d trials failed in a row, the last one with: %s. Remove the cause, then continue with: plimsoll study resume %s "+
			"(--retry-failed repeats them)",
		s.streak.failures, lastProblem(s.log.study.Trials), s.o.Dir)}
}

// finish judges the study and writes it at the end of the session. err is what stopped it.
func (s *session) finish(err error) (*record.Study, error) {
	of := s.log.study
	var stop *Stop
	switch {
	case err == nil:
		ended := s.o.Clock.Now().UTC()
		of.Status, of.Problem, of.Ended = record.Complete, "", &ended
	case errors.As(err, &stop):
		of.Status, of.Problem, of.Ended = record.Interrupted, err.Error(), nil
	default:
		of.Status, of.Problem, of.Ended = record.Failed, err.Error(), nil
	}
	c := conducted{logbook: s.log, data: s.data, lab: s.lab, disks: s.disks, total: s.queue.total}
	c.replaceFindings()
	judge.Study(of)
	return s.log.close(err)
}
