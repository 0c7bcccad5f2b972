package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/mac"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
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

func (silent) Begin(Standing)  {}
func (silent) End(record.Part) {}
func (silent) Note(string)     {}

// Interrupted is the error of a suite that was interrupted. Its results are kept, and [Resume] continues.
type Interrupted struct{ Dir string }

func (e *Interrupted) Error() string {
	return "interrupted. Continue with: plimsoll suite resume " + e.Dir
}

// wrong marks an error of the specification, recording one of writing.
func wrong(err error) error { return &run.Error{Stage: run.Specification, Err: err} }

func recording(err error) error {
	if err == nil {
		return nil
	}
	return &run.Error{Stage: run.Recording, Err: err}
}

// conductor does one suite.
type conductor struct {
	o     Options
	w     *record.SuiteWriter
	suite *record.Suite
	plans []record.PartPlan // as suite.Parts
	began time.Time         // of this session
	spent time.Duration     // by the sessions before
	fresh bool              // no part has begun since the plan was made
	more  bool              // there is more time than there was
	at    int               // the part that is looked at
	under *under            // what the study that is under way says of the machine, while it asks
	again map[string]bool   // studies that do what was left out of them
	skip  map[string]bool   // parts that failed and that there is no time to repeat
}

// Run does a plan in a directory of its own. It returns the suite as it is on the disk, without credentials, also
// beside an error; that is [*Interrupted] where it was asked to stop. A suite that could not begin is nil.
func Run(ctx context.Context, plan *Plan, o Options) (*record.Suite, error) {
	o.defaults()
	release, err := record.Hold(o.Dir)
	if err != nil {
		return nil, recording(err)
	}
	defer release()
	if err := roomFor(plan, o); err != nil {
		return nil, recording(err)
	}
	w, err := record.Create[*record.Suite](o.Dir, nil)
	if err != nil {
		return nil, recording(err)
	}
	defer w.Close()
	w.Sign(o.Key)
	w.AddSecrets(spec.Run{Target: plan.Against})
	c := newConductor(o, &record.Suite{
		Head: record.Head{SchemaVersion: record.SchemaVersion, Kind: record.KindSuite, Status: record.Running, Tool: o.Tool,
			Command: o.Command, Started: o.Now().UTC(),
			Environment: record.NewEnvironment(map[string]string{"record": o.Dir}), Validity: []measure.Finding{}},
		Specification: plan.Folder.Spec, Source: plan.Folder.Dir,
		Budget: plan.Budget, Limit: spec.Duration(plan.Limit), Scale: plan.Scale, Against: plan.Against, Left: plan.Left,
	})
	c.w, c.fresh = w, true
	for _, p := range plan.Parts {
		c.suite.Parts = append(c.suite.Parts, p.Part)
		c.plans = append(c.plans, p.Plan)
	}
	// The plan is written before suite.json, so that every suite can be resumed.
	if err := record.WritePlan(w, c.plans); err != nil {
		return nil, recording(err)
	}
	return c.conduct(ctx)
}

func newConductor(o Options, s *record.Suite) *conductor {
	return &conductor{o: o, began: o.Now(), suite: s, again: map[string]bool{}, skip: map[string]bool{}}
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
	if !safeopen.Exists(dir, record.SuiteFile) {
		_, err := record.OpenSuite(dir)
		return nil, wrong(err)
	}
	release, err := record.Hold(dir)
	if err != nil {
		return nil, recording(err)
	}
	defer release()
	s, err := record.ReadHeld[*record.Suite](dir)
	if err != nil {
		return nil, wrong(err)
	}
	plans, own, err := record.ReadSuitePlan(dir, o.Key)
	if err != nil {
		return nil, wrong(err)
	}
	if !own || o.Plan != nil {
		if plans, err = sameParts(plans, o.Plan); err != nil {
			return nil, wrong(err)
		}
	}
	c := newConductor(o, s)
	c.plans = plans
	if err := c.reach(); err != nil {
		return nil, wrong(err)
	}
	if c.spent, err = record.SuiteWorked(dir, time.Time{}); err != nil {
		return nil, recording(err)
	}
	if c.more, err = c.longer(); err != nil {
		return nil, wrong(err)
	}
	if s.Status == record.Complete && !c.retries() && !(c.more && len(s.LateParts()) > 0) {
		return s, nil
	}
	if c.w, err = record.Continue[*record.Suite](dir, nil); err != nil {
		return nil, recording(err)
	}
	defer c.w.Close()
	c.w.Sign(o.Key)
	c.w.AddSecrets(spec.Run{Target: o.Against})
	s.Status, s.Problem, s.Ended, s.SuiteJudgement = record.Running, "", nil, nil
	return c.conduct(ctx)
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
func (c *conductor) reach() error {
	if len(c.plans) != len(c.suite.Parts) {
		return fmt.Errorf("%s has %d parts, but %s has %d, because another version of plimsoll made this suite. Resume it with that version",
			record.SuitePlan, len(c.plans), record.SuiteFile, len(c.suite.Parts))
	}
	for i, p := range c.suite.Parts {
		plan := c.plans[i]
		none := plan.Study == nil && plan.Drill == nil && plan.Probe == nil
		if plan.Name != p.Name || none && p.Status != record.PartLeft || !none && kindOf(plan) != p.Kind {
			return fmt.Errorf("%s does not describe part %d (%s), so it is damaged. Begin the suite again", record.SuitePlan, i+1, p.Name)
		}
	}
	if c.o.Against != "" && shown(c.o.Against) != shown(c.suite.Against) {
		return fmt.Errorf("--target: the suite loads %s, which cannot be changed. Begin another suite for %s", cmp.Or(shown(c.suite.Against), "labs of its own"), shown(c.o.Against))
	}
	for i := range c.plans {
		over := c.suite.Parts[i].Status == record.PartDone || c.suite.Parts[i].Status == record.PartLeft
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
func (c *conductor) retries() bool {
	return c.o.RetryFailed && slices.ContainsFunc(c.suite.Parts, func(p record.Part) bool {
		return p.Status == record.PartFailed
	})
}

// conduct does what is left.
func (c *conductor) conduct(ctx context.Context) (*record.Suite, error) {
	if err := c.w.Write(c.suite); err != nil {
		return nil, recording(err)
	}
	session := record.StudySession{Tool: c.o.Tool, Command: c.o.Command, Pid: syscall.Getpid(),
		Host: c.suite.Environment.Host}
	if dir, err := filepath.Abs("."); err == nil {
		session.Directory = dir
	}
	if err := c.w.Append(record.SuiteEvent{At: c.o.Now().UTC(), Event: record.EventSession,
		Session: &session}); err != nil {
		return nil, recording(err)
	}
	if err := c.takeUp(); err != nil {
		return nil, recording(err)
	}
	return c.finish(c.parts(ctx))
}

// parts does one part after the other. One that fails does not stop those behind it.
func (c *conductor) parts(ctx context.Context) error {
	for i := range c.suite.Parts {
		part := &c.suite.Parts[i]
		switch part.Status {
		case record.PartDone, record.PartLeft:
			continue
		case record.PartFailed:
			if !c.o.RetryFailed {
				continue
			}
		}
		if ctx.Err() != nil {
			return &Interrupted{c.o.Dir}
		}
		if err := c.fitParts(ctx, i); err != nil {
			return err
		}
		if part.Status == record.PartLeft || c.skip[part.Name] {
			continue
		}
		if err := c.part(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// finish writes the suite at the end of the session. err is what stopped it.
func (c *conductor) finish(err error) (*record.Suite, error) {
	s := c.suite
	ended := c.o.Now().UTC()
	var stop *Interrupted
	switch {
	case err == nil:
		s.Status, s.Problem, s.Ended = record.Complete, "", &ended
	case errors.As(err, &stop):
		s.Status, s.Problem, s.Ended = record.Interrupted, err.Error(), nil
	default:
		s.Status, s.Problem, s.Ended = record.Failed, err.Error(), nil
	}
	s.Validity = findings(s)
	s.SuiteJudgement = judge.Of(c.o.Dir, s)
	writeErr := c.w.Write(s)
	clean, redactErr := c.w.Redacted(s)
	if unwritten := errors.Join(writeErr, redactErr); unwritten != nil {
		if clean != nil {
			clean.Validity = append(clean.Validity, record.Unwritten(unwritten))
		}
		err = errors.Join(err, recording(fmt.Errorf("the suite could not be written at its end: %w", unwritten)))
	}
	return clean, err
}
