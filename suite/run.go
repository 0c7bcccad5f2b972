package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/campaign"
	"github.com/plimsoll-bench/plimsoll/internal/mac"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/suite/judge"
)

// Options are what a suite needs besides its plan.
type Options struct {
	Dir    string // of the suite; [Resume] has its own argument for it
	Runner Runner
	// Labs removes labs that drills and probes left which were killed; nil where there can be none.
	Labs     run.Labs
	Progress Progress // nil for none
	Abort    <-chan struct{}
	Tool     record.Tool
	Command  []string
	Now      func() time.Time // nil for the real one
	// ExitCode is the exit code of the command line for a conclusion, which suite.json keeps of each part; nil for none.
	ExitCode func(record.Conclusion) int
	// RetryFailed makes [Resume] repeat parts that failed. Those that were lost are always done again.
	RetryFailed bool
	// Against is the deployment that the suite began with, for [Resume]: it is needed where it has credentials, because
	// these are not kept.
	Against string
	// Limit, for [Resume], is the new time for the whole suite, including the time so far; 0 keeps it. A longer one
	// restores what was cut because the suite ran late.
	Limit time.Duration
	// Key marks the plan as one of this user, for [Resume]. A nil key marks nothing.
	Key *mac.Key
	// Plan is the plan of the suite, made again from its files, for [Resume]. It must be the one that the suite began
	// with. It is needed if the user of Key did not write the record; nil uses the recorded one.
	Plan *Plan
	// Free returns what can still be written to a directory; nil for [record.FreeBytes].
	Free func(dir string) (bytes uint64, known bool)
}

func (o *Options) defaults() {
	if o.Progress == nil {
		o.Progress = silent{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Free == nil {
		o.Free = record.FreeBytes
	}
}

type silent struct{}

func (silent) Begin(Status)    {}
func (silent) End(record.Part) {}
func (silent) Note(string)     {}

// session performs the parts of a suite from its beginning, or from the end of an earlier session, until all are done
// or it is stopped.
type session struct {
	campaign.Session[*record.Suite, record.Part]
	o     Options
	plans []record.PartPlan // as Result.Parts
	fresh bool              // no part has begun since the plan was made
	more  bool              // there is more time than there was
	at    int               // the part that is next
	under *under            // the pace of the study that is running, while it asks
	again map[string]bool   // studies that do what was left out of them
	skip  map[string]bool   // parts that failed and that there is no time to repeat
}

func (c *session) Append(at time.Time, event string, session *record.StudySession, p *record.Part) error {
	return c.Store.Append(record.SuiteEvent{At: at, Event: event, Session: session, Part: p})
}

func (c *session) Place(p record.Part) {
	i := slices.IndexFunc(c.Result.Parts, func(have record.Part) bool { return have.Name == p.Name })
	c.Result.Parts[i] = p
}

func (c *session) RecordOf(p record.Part) string { return p.Record }

// Run does a plan in a directory of its own. It returns the suite as it is on the disk, without credentials, also
// beside an error; that is a [*campaign.Stop] if the suite can be resumed. A suite that could not begin is nil.
func Run(ctx context.Context, plan *Plan, o Options) (*record.Suite, error) {
	o.defaults()
	if err := roomFor(plan, o); err != nil {
		return nil, campaign.Unwritten(err)
	}
	w, end, err := campaign.Create[*record.Suite](o.Dir, nil, o.Key)
	if err != nil {
		return nil, err
	}
	defer end()
	w.AddSecrets(spec.Run{Target: plan.Against})
	c := newSession(o, &record.Suite{
		Head: record.Head{SchemaVersion: record.SchemaVersion, Kind: record.KindSuite, Status: record.Running, Tool: o.Tool,
			Command: o.Command, Started: o.Now().UTC(),
			Environment: record.NewEnvironment(map[string]string{"record": o.Dir}), Validity: []measure.Finding{}},
		Specification: plan.Folder.Spec, Source: plan.Folder.Dir,
		Budget: plan.Budget, Limit: spec.Duration(plan.Limit), Scale: plan.Scale, Against: plan.Against, Left: plan.Left,
	})
	c.Store, c.fresh = w, true
	for _, p := range plan.Parts {
		c.Result.Parts = append(c.Result.Parts, p.Part)
		c.plans = append(c.plans, p.Plan)
	}
	// The plan is written before suite.json, so that every suite can be resumed.
	if err := record.WritePlan(w, c.plans); err != nil {
		return nil, campaign.Unwritten(err)
	}
	return c.perform(ctx)
}

func newSession(o Options, s *record.Suite) *session {
	c := &session{o: o, again: map[string]bool{}, skip: map[string]bool{}}
	c.Session = campaign.Session[*record.Suite, record.Part]{Dir: o.Dir, Result: s, Journal: c, Now: o.Now, Tool: o.Tool,
		Command: o.Command, OnEnd: o.Progress.End, Budget: campaign.Budget{Limit: allowed(s), Began: o.Now()}}
	return c
}

// roomFor refuses a suite whose records would not fit on their disk.
func roomFor(plan *Plan, o Options) error {
	need := int64(0)
	for i := range plan.Parts {
		if s := plan.Parts[i].Study; s != nil {
			need += s.Estimate.RecordBytes
		}
	}
	if free, known := o.Free(o.Dir); known && free < uint64(need) {
		return fmt.Errorf("the disk of %s has %d MiB free, but the records of this suite need about %d MiB. Free space, or use another "+
			"directory (--out)", o.Dir, free>>20, need>>20)
	}
	return nil
}

// Resume continues a suite that ended before its last part, for whatever reason. It returns what [Run] does. A complete
// suite is returned as it is.
func Resume(ctx context.Context, dir string, o Options) (*record.Suite, error) {
	o.Dir = filepath.Clean(dir)
	o.defaults()
	s, release, err := campaign.Reopen[*record.Suite](dir)
	if err != nil {
		return nil, err
	}
	defer release()
	c := newSession(o, s)
	if err := c.recall(); err != nil {
		return nil, err
	}
	if s.Status == record.Complete && !c.retries() && !(c.more && len(s.LateParts()) > 0) {
		return s, nil
	}
	w, end, err := campaign.Continue[*record.Suite](dir, nil, o.Key)
	if err != nil {
		return nil, err
	}
	defer end()
	c.Store = w
	w.AddSecrets(spec.Run{Target: o.Against})
	s.Status, s.Problem, s.Ended, s.SuiteJudgement = record.Running, "", nil, nil
	return c.perform(ctx)
}

// recall reads the plan and the journal of earlier sessions.
func (c *session) recall() error {
	plans, own, err := record.ReadSuitePlan(c.Dir, c.o.Key)
	if err == nil && (!own || c.o.Plan != nil) {
		plans, err = sameParts(plans, c.o.Plan)
	}
	if c.plans = plans; err == nil {
		err = c.reach()
	}
	if err != nil {
		return campaign.Wrong(err)
	}
	events, unreadable, err := record.ReadSuiteJournal(c.Dir)
	c.Unreadable = unreadable
	for _, e := range events {
		if e.Session != nil {
			c.Sessions = append(c.Sessions, *e.Session)
		}
	}
	if err == nil {
		c.Budget.Spent, err = record.SuiteWorked(c.Dir, time.Time{})
	}
	if err != nil {
		return campaign.Unwritten(err)
	}
	if c.more, err = c.longer(); err != nil {
		return campaign.Wrong(err)
	}
	return nil
}

// sameParts returns the parts of a plan that was made again, if they are those that the suite began with.
func sameParts(recorded []record.PartPlan, plan *Plan) ([]record.PartPlan, error) {
	if plan == nil {
		return nil, errors.New("the record was not written by this user with this PLIMSOLL_HOME, or was changed, so what its " +
			"plan names is not started. Give the folder of the suite again (--file FOLDER)")
	}
	if len(plan.Parts) != len(recorded) {
		return nil, fmt.Errorf("--file: the suite has %d parts there, but %d in the record. Begin another suite",
			len(plan.Parts), len(recorded))
	}
	var parts []record.PartPlan
	for i, began := range recorded {
		if began.Before != nil {
			began = *began.Before
		}
		now := plan.Parts[i].Plan
		if !record.SamePlan(began, now) {
			return nil, fmt.Errorf("--file: part %s is another one in the record. Undo the changes of its files, give the flags of "+
				"the first 'plimsoll suite run' again, or begin another suite", now.Name)
		}
		parts = append(parts, now)
	}
	return parts, nil
}

// reach puts the deployment with its credentials into what is left to do.
func (c *session) reach() error {
	if len(c.plans) != len(c.Result.Parts) {
		return fmt.Errorf("%s has %d parts, but %s has %d, because another version of plimsoll made this suite. Resume it with that version",
			record.SuitePlan, len(c.plans), record.SuiteFile, len(c.Result.Parts))
	}
	for i, p := range c.Result.Parts {
		plan := c.plans[i]
		none := plan.Study == nil && plan.Drill == nil && plan.Probe == nil
		if plan.Name != p.Name || none && p.Status != record.PartLeft || !none && kindOf(plan) != p.Kind {
			return fmt.Errorf("%s does not describe part %d (%s), so it is damaged. Begin the suite again", record.SuitePlan, i+1, p.Name)
		}
	}
	if c.o.Against != "" && shown(c.o.Against) != shown(c.Result.Against) {
		return fmt.Errorf("--target: the suite loads %s, which cannot be changed. Begin another suite for %s", cmp.Or(shown(c.Result.Against), "labs of its own"), shown(c.o.Against))
	}
	for i := range c.plans {
		over := c.Result.Parts[i].Status == record.PartDone || c.Result.Parts[i].Status == record.PartLeft
		if over && c.o.Limit == 0 {
			continue
		}
		for p := &c.plans[i]; p != nil; p = p.Before {
			s := p.Study
			if s == nil {
				continue
			}
			if c.o.Against != "" && record.HasHidden(*s) {
				s.Run.Target = c.o.Against
			}
			if record.HasHidden(*s) {
				return errors.New("the record does not contain the credentials of the target. Give it again (--target URI)")
			}
		}
	}
	return nil
}

// retries reports whether there are parts that failed and are to be done again.
func (c *session) retries() bool {
	return c.o.RetryFailed && slices.ContainsFunc(c.Result.Parts, func(p record.Part) bool {
		return p.Status == record.PartFailed
	})
}

// perform does what is left, and writes the suite at the end of the session.
func (c *session) perform(ctx context.Context) (*record.Suite, error) {
	if err := c.Begin(); err != nil {
		return nil, err
	}
	if err := c.takeUp(); err != nil {
		return nil, err
	}
	return c.Finish(c.parts(ctx), func() {
		c.Result.Validity = append(findings(c.Result), c.Doubts("parts")...)
		measure.SortFindings(c.Result.Validity)
		c.Result.SuiteJudgement = judge.Of(c.Dir, c.Result)
	})
}

// parts does one part after the other. One that fails does not stop those behind it.
func (c *session) parts(ctx context.Context) error {
	i := -1
	next := func() (record.Part, bool, error) {
		for i++; i < len(c.Result.Parts); i++ {
			switch p := c.Result.Parts[i]; {
			case p.Status == record.PartDone || p.Status == record.PartLeft:
			case p.Status == record.PartFailed && !c.o.RetryFailed:
			default:
				return p, true, nil
			}
		}
		return record.Part{}, false, nil
	}
	return c.All(ctx, next, func(record.Part) error {
		if err := c.fitParts(ctx, i); err != nil {
			return err
		}
		if part := c.Result.Parts[i]; part.Status == record.PartLeft || c.skip[part.Name] {
			return nil
		}
		return c.part(ctx, i)
	})
}
