package drill

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/lab/action"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/run/fleet"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Lab is a running lab, as a drill needs it.
type Lab interface {
	run.Lab
	fault.Lab
	// Repair rebuilds a volume and says what it did.
	Repair(ctx context.Context, volume string) (string, error)
	Close() error
}

// Progress is told how a drill goes. Calls come from several goroutines and must return soon.
type Progress interface {
	run.Progress
	// Note says what the drill does, or what happened, in one line.
	Note(text string)
}

// Options are what a drill needs besides its specification.
type Options struct {
	// Run are the options that every round gets: tool, command, clock, abort, ceiling. What a round decides itself is
	// overwritten.
	Run run.Options
	// Dir is where the record goes; it must be empty or absent.
	Dir      string
	Progress Progress // nil for none
	// Open finds the lab that a target lab:NAME means.
	Open func(ctx context.Context, name string) (Lab, error)
	Labs run.Labs // nil where labs cannot be brought up
	// Launch starts the load processes of drills that have several; nil where there cannot be more than one.
	Launch fleet.Launcher
	// Mark gets the moments at which somebody else breaks and heals the target, of an external drill.
	Mark <-chan time.Time
}

// Check says what is wrong with a complete specification, as far as that can be told without touching anything.
func Check(asked spec.Drill) error {
	errs := []error{run.CheckClients(asked.Run)}
	for _, f := range asked.Faults {
		if err := action.Check(f); err != nil {
			errs = append(errs, fmt.Errorf("fault: %q: %w", f.Strike, err))
		}
	}
	return errors.Join(errs...)
}

// campaign is one drill under way.
type campaign struct {
	spec     spec.Drill
	o        Options
	result   *record.Drill
	writer   *record.DrillWriter
	progress *standing          // what o.Progress is
	placed   []record.LabMember // as the first round found them
}

// labLabel is the label of a lab that says which drill brought it up.
const labLabel = "drill"

// removeAtMost is how long removing the lab may take in the end.
const removeAtMost = 3 * time.Minute

// Run does the drill that a complete specification asks for and returns its record, which is there also with an error
// once the drill has begun. When ctx ends, faults are healed first and what was written until then is audited.
func Run(ctx context.Context, asked spec.Drill, o Options) (*record.Drill, error) {
	if err := Check(asked); err != nil {
		return nil, &run.Error{Stage: run.Specification, Err: err}
	}
	if o.Progress == nil {
		o.Progress = silent{}
	}
	if o.Run.Now == nil {
		o.Run.Now = time.Now
	}
	release, err := record.Hold(o.Dir)
	if err != nil {
		return nil, &run.Error{Stage: run.Recording, Err: err}
	}
	defer release()
	w, err := record.CreateDrill(o.Dir, asked)
	if err != nil {
		return nil, &run.Error{Stage: run.Recording, Err: err}
	}
	c := &campaign{spec: asked, o: o, writer: w, result: &record.Drill{
		Head: record.Head{SchemaVersion: record.SchemaVersion, Kind: record.KindDrill, Status: record.Running,
			Tool: o.Run.Tool, Command: o.Run.Command,
			Started: o.Run.Now().UTC(), Validity: []measure.Finding{}}, Specification: asked, Verdict: record.Unknown,
		Reasons: []string{}, Rounds: []record.DrillRound{},
	}}
	if err := w.Write(c.result); err != nil {
		return nil, &run.Error{Stage: run.Recording, Err: err}
	}
	c.progress = newStanding(o.Progress, w, o.Run.Now, int(asked.Repeat))
	c.o.Progress = c.progress
	defer w.Ended()
	err = c.rounds(ctx)
	c.removeLab(ctx)
	return c.finish(ctx, err)
}

// rounds does one round after the other.
func (c *campaign) rounds(ctx context.Context) error {
	for n := 1; n <= int(c.spec.Repeat); n++ {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		c.progress.round(n)
		if c.spec.Repeat > 1 {
			c.o.Progress.Note(fmt.Sprintf("round %d of %d", n, c.spec.Repeat))
		}
		if err := c.bringUp(ctx, n); err != nil {
			return err
		}
		c.placement(ctx, n)
		c.result.Rounds = append(c.result.Rounds, record.DrillRound{Number: n,
			Record: filepath.ToSlash(filepath.Join(record.RoundsDir, strconv.Itoa(n))),
			Status: record.Running, Verdict: record.Unknown, Faults: []record.DrillFault{}, Moments: []record.DrillMoment{},
			Effects: []record.DrillEffect{}})
		if err := c.writer.Write(c.result); err != nil {
			return &run.Error{Stage: run.Recording, Err: err}
		}
		r := &c.result.Rounds[n-1]
		err := c.round(ctx, r)
		c.summarize()
		if werr := c.writer.Write(c.result); err == nil && werr != nil {
			err = &run.Error{Stage: run.Recording, Err: werr}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bringUp brings up the lab of the specification, if it has one and it is not there from the round before.
func (c *campaign) bringUp(ctx context.Context, round int) error {
	if c.spec.Lab == nil || round > 1 && !c.spec.Fresh {
		return nil
	}
	spec := *c.spec.Lab
	if c.o.Labs == nil {
		return &run.Error{Stage: run.Specification, Err: errors.New("lab: labs cannot be brought up from here; load one that runs (run.target: lab:NAME)")}
	}
	have, err := c.o.Labs.Find(ctx, spec.Name)
	if err != nil {
		return &run.Error{Stage: run.Reaching, Err: err}
	}
	if have != nil && !c.ours(have) {
		owner, why := Left(have)
		if why != "" {
			return &run.Error{Stage: run.Reaching, Err: fmt.Errorf(
				"there is a lab %s already, %s: remove it (plimsoll lab down %[1]s), or give the lab of the drill another name (lab.name)", spec.Name, why)}
		}
		c.o.Progress.Note(fmt.Sprintf("removing the lab %s, which the drill in %s left: it is over", spec.Name, owner))
	}
	c.o.Progress.Note("bringing up the lab " + spec.Name)
	spec.Labels = map[string]string{labLabel: c.owner()}
	if err = c.o.Labs.Down(ctx, spec.Name); err == nil {
		err = c.o.Labs.Up(ctx, spec)
	}
	if err != nil {
		return &run.Error{Stage: run.Reaching, Err: fmt.Errorf("the lab %s cannot be brought up: %w", spec.Name, err)}
	}
	return nil
}

// owner is the value of the label: the directory of the drill, which no other drill has.
func (c *campaign) owner() string {
	if dir, err := filepath.Abs(c.o.Dir); err == nil {
		return dir
	}
	return c.o.Dir
}

func (c *campaign) ours(l *record.Lab) bool {
	return l.Specification.Labels[labLabel] == c.owner()
}

// removeLab removes what the drill brought up.
func (c *campaign) removeLab(ctx context.Context) {
	if c.spec.Lab == nil || c.o.Labs == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeAtMost)
	defer cancel()
	name := c.spec.Lab.Name
	l, err := c.o.Labs.Find(ctx, name)
	if err == nil && (l == nil || !c.ours(l)) {
		return
	}
	if err == nil {
		c.o.Progress.Note("removing the lab " + name)
		err = c.o.Labs.Down(ctx, name)
	}
	if err != nil {
		c.find("lab-left", measure.Note, "the lab %s could not be removed: %v; plimsoll lab down %s tries again", name, err, name)
	}
}

// find notes a reason to take the result with care.
func (c *campaign) find(id string, severity measure.Severity, format string, a ...any) {
	for _, f := range c.result.Validity {
		if f.ID == id {
			return
		}
	}
	c.result.Validity = append(c.result.Validity, measure.Finding{ID: id, Severity: severity,
		Text: fmt.Sprintf(format, a...)})
}

// summarize says what all rounds together show, those of each manner apart.
func (c *campaign) summarize() {
	d := c.result
	d.Verdict, d.Reasons = whole(d.Rounds)
	d.Manners = d.ByManner()
	for i := range d.Manners {
		m := &d.Manners[i]
		read := 0
		if m.Losses != nil {
			read = len(m.Losses.Values)
		}
		m.Statement = statement(read, m.Lossy)
	}
	d.Outages, d.Losses, d.Statement = nil, nil, ""
	if len(d.Manners) == 1 {
		m := d.Manners[0]
		d.Outages, d.Losses, d.Statement = m.Outages, m.Losses, m.Statement
	}
}

// finish writes the record for the last time.
func (c *campaign) finish(ctx context.Context, err error) (*record.Drill, error) {
	d := c.result
	ended := c.o.Run.Now().UTC()
	d.Ended, d.Status = &ended, record.Complete
	switch {
	case ctx.Err() != nil || errors.Is(err, context.Canceled):
		d.Status = record.Interrupted
		err = nil
	case err != nil:
		d.Status, d.Problem = record.Failed, err.Error()
	}
	if len(d.Rounds) == 0 {
		d.Verdict, d.Reasons = whole(nil)
	}
	measure.SortFindings(d.Validity)
	if werr := c.writer.Write(d); werr != nil {
		d.Validity = append(d.Validity, record.Unwritten(werr))
		if err == nil {
			err = &run.Error{Stage: run.Recording, Err: werr}
		}
	}
	if clean, rerr := c.writer.Redacted(d); rerr == nil {
		d = clean
	}
	return d, err
}
