package drill

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/drill/ledger"
	"github.com/plimsoll-bench/plimsoll/drill/transactions"
	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/fleet"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Lab is a running lab, as a drill needs it.
type Lab interface {
	run.Lab
	platform.Lab
	// Repair rebuilds a volume and reports what it did.
	Repair(ctx context.Context, volume string) (string, error)
	Close() error
}

// Progress receives the progress of a drill. Calls come from several goroutines and must return soon.
type Progress interface {
	run.Progress
	// Note receives what the drill does, or what happened, in one line.
	Note(text string)
}

// Options are what a drill needs besides its specification.
type Options struct {
	// Run are the options of each round's run: tool, command, clock, abort, ceiling. A round overwrites the others.
	Run run.Options
	// Dir is the directory of the record. It must be empty or absent.
	Dir      string
	Progress Progress // nil for none
	// Open opens the lab of a target lab:NAME.
	Open func(ctx context.Context, name string) (Lab, error)
	Labs run.Labs // nil where labs cannot be brought up
	// Places finds the places of the load clients; nil where there can be only one client.
	Places fleet.Placers
	// Platform breaks a target that is not a lab; nil where nothing can. [Run] does not close it.
	Platform platform.Platform
	// Patience is the longest time without an answer of a server or a lab after the load; 0 is two minutes.
	Patience time.Duration
	// Anyway begins although members of the deployment are down or late.
	Anyway bool
	// Mark receives the times at which the user begins and ends an external fault.
	Mark <-chan time.Time
}

// Check returns what is wrong with a complete specification, as far as that is known without a target.
func Check(asked spec.Drill) error {
	errs := []error{run.CheckClients(asked.Run), checkObjectives(asked), checkTransactions(asked)}
	if asked.Lab != nil && asked.Run.Workload.IsFile() {
		errs = append(errs, run.CheckLab(*asked.Lab, asked.Run))
	}
	_, lab := spec.LabOf(asked.Run.Target)
	for _, f := range fault.Complete(asked.Faults) {
		if f.Exec != nil {
			continue // spec checked it
		}
		if err := fault.Check(f); err != nil {
			errs = append(errs, fmt.Errorf("fault: %q: %w", f.Action, err))
		} else if !lab && asked.Platform == "" && !fault.Find(f.Action.Name).Plain {
			errs = append(errs, fmt.Errorf("faults: on a target that is not a lab, a drill needs the commands that inject %s. "+
				"Name a platform file (--platform), or set external: true and inject the fault yourself", f.Action))
		}
	}
	return errors.Join(errs...)
}

// checkObjectives refuses objectives for operations that the workload does not have.
func checkObjectives(asked spec.Drill) error {
	classes := ledger.Classes()
	if asked.Run.Workload.Name == spec.WorkloadTransactions {
		classes = transactions.Classes()
	} else if asked.Run.Workload.Name != spec.WorkloadLedger {
		var err error
		if classes, err = run.Classes(asked.Run); err != nil {
			return err
		}
	}
	return run.CheckObjectives(asked.Run, classes)
}

// runner performs one drill: all its rounds.
type runner struct {
	spec     spec.Drill
	o        Options
	result   *record.Drill
	writer   *record.DrillWriter
	progress *statusWriter
	members  []record.LabMember // as they were before the first round
}

// labLabel is the label of a lab that names the drill that brought it up.
const labLabel = "drill"

const removeAtMost = 3 * time.Minute

// Run runs a drill from a complete specification and returns its record, also with an error if the drill had begun.
// When ctx ends, Run heals the faults and audits what was written until then.
func Run(ctx context.Context, asked spec.Drill, o Options) (*record.Drill, error) {
	if err := Check(asked); err != nil {
		return nil, &run.Error{Stage: run.Specification, Err: err}
	}
	asked.Faults = fault.Complete(asked.Faults)
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
	c := &runner{spec: asked, o: o, writer: w, result: &record.Drill{
		Head: record.Head{SchemaVersion: record.SchemaVersion, Kind: record.KindDrill, Status: record.Running,
			Tool: o.Run.Tool, Command: o.Run.Command,
			Started: o.Run.Now().UTC(), Validity: []measure.Finding{}}, Specification: asked,
		Verdict: record.Unknown,
		Reasons: []string{}, Rounds: []record.DrillRound{},
	}}
	if err := w.Write(c.result); err != nil {
		return nil, &run.Error{Stage: run.Recording, Err: err}
	}
	c.progress = newStatusWriter(o.Progress, w, o.Run.Now, int(asked.Repeat))
	defer w.Ended()
	ctx = wait.Listen(ctx, wait.Listener{Say: c.progress.Note})
	err = c.rounds(ctx)
	c.removeLab(ctx)
	return c.finish(ctx, err)
}

func (c *runner) rounds(ctx context.Context) error {
	for n := 1; n <= int(c.spec.Repeat); n++ {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		asked, delay := c.spec.Round(n)
		c.progress.round(n, asked.Measured())
		if c.spec.Repeat > 1 {
			c.progress.Note(fmt.Sprintf("round %d of %d%s", n, c.spec.Repeat, laterText(delay)))
		}
		if err := c.bringUp(ctx, n); err != nil {
			return err
		}
		c.checkMembers(ctx, n)
		c.result.Rounds = append(c.result.Rounds, record.DrillRound{Number: n,
			Record: filepath.ToSlash(filepath.Join(record.RoundsDir, strconv.Itoa(n))),
			Delay:  int64(delay), Status: record.Running, Verdict: record.Unknown,
			Faults: []record.DrillFault{}, Moments: []record.DrillMoment{}, Effects: []record.DrillEffect{}})
		if err := c.writer.Write(c.result); err != nil {
			return &run.Error{Stage: run.Recording, Err: err}
		}
		r := &c.result.Rounds[n-1]
		err := c.round(ctx, asked, r)
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

// laterText says by how much the faults of a round are later.
func laterText(delay time.Duration) string {
	if delay == 0 {
		return ""
	}
	return fmt.Sprintf(", with its faults %s later", figure.Duration(delay))
}

// bringUp brings up the lab of the specification, unless the lab of the round before is kept.
func (c *runner) bringUp(ctx context.Context, round int) error {
	if c.spec.Lab == nil || round > 1 && !c.spec.Fresh {
		return nil
	}
	spec := *c.spec.Lab
	if c.o.Labs == nil {
		return &run.Error{Stage: run.Specification, Err: errors.New(
			"lab: this program cannot bring up labs. Use a lab that is running (run.target: lab:NAME)")}
	}
	have, err := c.o.Labs.Find(ctx, spec.Name)
	if err != nil {
		return &run.Error{Stage: run.Reaching, Err: err}
	}
	if have != nil && !c.ours(have) {
		owner, why := Left(have)
		if why != "" {
			return &run.Error{Stage: run.Reaching, Err: fmt.Errorf(
				"the lab %s exists already: %s. Remove it with: plimsoll lab down %[1]s. Or give the lab of the drill another name "+
					"(lab.name)", spec.Name, why)}
		}
		c.progress.Note(fmt.Sprintf("removing the lab %s, which the drill in %s left behind", spec.Name, owner))
	}
	c.progress.Note("starting the lab " + spec.Name)
	spec.Labels = map[string]string{labLabel: c.owner()}
	if err = c.o.Labs.Down(ctx, spec.Name); err == nil {
		err = c.o.Labs.Up(ctx, spec)
	}
	if err != nil {
		return &run.Error{Stage: run.Reaching, Err: fmt.Errorf("cannot start the lab %s: %w", spec.Name, err)}
	}
	return nil
}

// checkMembers compares the hosts of members with those of the first round. High availability may have started members
// on other hosts, so the same fault strikes something else.
func (c *runner) checkMembers(ctx context.Context, round int) {
	name, ok := spec.LabOf(c.spec.Run.Target) // also of a lab that the drill brings up
	if !ok || c.o.Labs == nil {
		return
	}
	l, err := c.o.Labs.Find(ctx, name)
	if err != nil || l == nil {
		return // the round reports it
	}
	c.result.Engine = l.EngineText()
	if c.members == nil {
		c.members = l.Members
		return
	}
	var moved []string
	for _, m := range l.Members {
		i := slices.IndexFunc(c.members, func(b record.LabMember) bool { return b.Name == m.Name })
		if i >= 0 && c.members[i].Host != m.Host {
			moved = append(moved, fmt.Sprintf("%s on %s instead of %s", m.Name, m.Host, c.members[i].Host))
		}
	}
	if len(moved) > 0 {
		how := "Bring the lab up again before each drill"
		if c.spec.Lab != nil {
			how = "Let the drill bring it up again for each round (fresh: true)"
		}
		c.find("placement", measure.Warning, "round %d began with %s. Rounds are not comparable, because the same fault may "+
			"have struck something else. %s", round, strings.Join(moved, ", "), how)
	}
}

// nameVendor replaces the name of the program by that of the vendor if others build the server.
func (c *runner) nameVendor(vendor string) {
	if version, ok := strings.CutPrefix(c.result.Engine, "mongod "); ok && vendor != "" && vendor != server.VendorMongoDB {
		c.result.Engine = vendor + " " + version
	}
}

// owner is the value of the label: the directory of the drill.
func (c *runner) owner() string {
	if dir, err := filepath.Abs(c.o.Dir); err == nil {
		return dir
	}
	return c.o.Dir
}

func (c *runner) ours(l *record.Lab) bool {
	return l.Specification.Labels[labLabel] == c.owner()
}

// removeLab removes the lab that the drill brought up.
func (c *runner) removeLab(ctx context.Context) {
	if c.spec.Lab == nil || c.o.Labs == nil {
		return
	}
	ctx, stop := c.must(ctx, ctx)
	defer stop()
	name := c.spec.Lab.Name
	removal := wait.Wait{Name: "removal of the lab " + name, Limit: removeAtMost}
	if err := removal.Do(ctx, func(ctx context.Context) error {
		l, err := c.o.Labs.Find(ctx, name)
		if err != nil || l == nil || !c.ours(l) {
			return err
		}
		c.progress.Note("removing the lab " + name)
		return c.o.Labs.Down(ctx, name)
	}); err != nil {
		c.find("lab-left", measure.Note, "the lab %s could not be removed: %v. Try again with: plimsoll lab down %[1]s", name, err)
	}
}

// find adds a finding, once for each id.
func (c *runner) find(id string, severity measure.Severity, format string, a ...any) {
	for _, f := range c.result.Validity {
		if f.ID == id {
			return
		}
	}
	c.result.Validity = append(c.result.Validity, measure.Finding{ID: id, Severity: severity,
		Text: fmt.Sprintf(format, a...)})
}

// summarize computes what all rounds show, and what the rounds of each failure mode show.
func (c *runner) summarize() {
	d := c.result
	d.Verdict, d.Reasons = overall(d.Rounds)
	d.Modes = d.ByMode()
	for i := range d.Modes {
		m := &d.Modes[i]
		read := 0
		if m.Losses != nil {
			read = len(m.Losses.Values)
		}
		m.Statement = statement(read, m.Lossy)
	}
	d.Outages, d.Losses, d.Statement = nil, nil, ""
	if len(d.Modes) == 1 {
		m := d.Modes[0]
		d.Outages, d.Losses, d.Statement = m.Outages, m.Losses, m.Statement
	}
}

// finish completes the record.
func (c *runner) finish(ctx context.Context, err error) (*record.Drill, error) {
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
		d.Verdict, d.Reasons = overall(nil)
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

// silent is the [Progress] of a drill without one.
type silent struct{}

func (silent) Step(string)                              {}
func (silent) Begin(run.Plan)                           {}
func (silent) Interval(measure.Dims, *measure.Interval) {}
func (silent) Event(measure.Event)                      {}
func (silent) Note(string)                              {}
