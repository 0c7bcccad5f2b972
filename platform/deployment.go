package platform

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/internal/redact"
	"github.com/plimsoll-bench/plimsoll/internal/visible"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Deployment is a [Platform] that Plimsoll did not make. The members and their roles, Plimsoll's own connection to
// each, and the journal are the same for all of them. Each [Backend] has some actions. It must be closed.
type Deployment struct {
	backends []Backend
	members  []*member
	journals string

	mu      sync.Mutex
	secrets redact.Known
	held    *heldJournal // nil until the first fault
	watch   func(journal string) error
}

// Backend breaks and heals the members of one kind of deployment.
type Backend interface {
	// Actions are the actions of the table that it has.
	Actions() []*fault.Action
	// Machine is the machine of a member, as far as that is known without a request.
	Machine(m spec.PlatformMember) string
	// Steps prepares a fault on a member; nil if the fault names none. It changes nothing.
	Steps(ctx context.Context, f spec.Fault, m *spec.PlatformMember) (Steps, error)
	// Kind is its kind in journals, and Healer heals what they have of this kind.
	Kind() string
	Healer
	// Learn adds the credentials that it knows. They are hidden in all texts.
	Learn(k *redact.Known)
	// Close ends its connections.
	Close() error
}

// Checker is a [Backend] that refuses faults which the table of actions allows, and knows faults with commands.
type Checker interface {
	// Check checks a fault. It contacts nothing.
	Check(f spec.Fault) error
}

// Describer is a [Backend] that knows facts about its deployment.
type Describer interface {
	// Describe writes them into the record of a round.
	Describe(ctx context.Context, round *record.DrillRound) error
}

// Chronicler is a [Backend] that sees what its deployment does by itself.
type Chronicler interface {
	// Moments are what it saw since it was opened, in order of time.
	Moments() []Moment
}

// Moment is something that a deployment did. Kind is that of [record.DrillMoment].
type Moment struct {
	At         time.Time
	Kind, Text string
}

// Moments are what the platform saw since it was opened.
func (d *Deployment) Moments() (list []Moment) {
	for _, b := range d.backends {
		if of, ok := b.(Chronicler); ok {
			list = append(list, of.Moments()...)
		}
	}
	return list
}

// Describe writes what the platform knows of itself into the record of a round.
func (d *Deployment) Describe(ctx context.Context, round *record.DrillRound) error {
	for _, b := range d.backends {
		if of, ok := b.(Describer); ok {
			if err := of.Describe(ctx, round); err != nil {
				return err
			}
		}
	}
	return nil
}

// Healer heals faults by what a journal has of them.
type Healer interface {
	// Heal is the step that reverts a fault. undo is [Steps.Undo] as JSON. hide removes credentials.
	Heal(undo json.RawMessage, hide func(string) string) (Step, error)
}

// Steps are what a fault does to one member.
type Steps struct {
	// Target is the host or the member that is struck; empty for the member.
	Target string
	// Inject and Witness are the steps; the witness may be absent. The witness is polled until it sees the effect.
	Inject, Witness Step
	// Undo is what [Healer] needs to revert the fault; nil if it ends by itself. It is written to the journal.
	Undo any
	// Mode is the failure mode. Returns says that a member comes back while the fault lasts.
	Mode    string
	Returns bool
	// Timeout bounds each step.
	Timeout time.Duration
}

// Step is a command of the user, or a request to the API of a platform.
type Step struct {
	// Name is what the step is, such as "the inject command".
	Name string
	// Text is the step as a person would type it, without credentials.
	Text string
	// Run is nil if there is no such step. Its error says what failed. Exit code 0 of a witness means that it saw the
	// effect.
	Run func(ctx context.Context) (Command, error)
}

// ErrNotRun says that a step changed nothing, because it did not start.
var ErrNotRun = errors.New("the command did not start")

// Failed is the error of a step that ran and did not succeed.
func Failed(c Command) error { return failure{c} }

type failure struct{ Command }

func (f failure) Error() string {
	what := "the command"
	if f.Request {
		what = "the request"
	}
	return fmt.Sprintf("%s %s failed: %s", what, f.Text, f.detail())
}

// detail is the result of a command in one line.
func (c Command) detail() string {
	text := c.Problem
	if text == "" && !c.Request {
		text = fmt.Sprintf("exit code %d", c.Exit)
	}
	switch out := visible.Line(c.Output); {
	case out == "":
	case c.Request && text == "":
		text = out
	default:
		text += ", output: " + out
	}
	return text
}

// DeploymentOptions are what a deployment is made from.
type DeploymentOptions struct {
	// URI is the address of the deployment, with the credentials for its members.
	URI     string
	Members []spec.PlatformMember
	// Journals is the directory of the journals of all drills.
	Journals string
	// Watch starts a watchdog for the journal of this process: a process that runs [Watch] and outlives this one. Without
	// it, a killed drill leaves its faults in the journal.
	Watch func(journal string) error
	// Backends break the members. The first that has the action of a fault injects it. The first knows the machines.
	Backends []Backend
}

// NewDeployment makes a deployment. Nothing is contacted.
func NewDeployment(o DeploymentOptions) (*Deployment, error) {
	d := &Deployment{backends: o.Backends, journals: o.Journals, watch: o.Watch}
	d.secrets.Learn(o.URI)
	for _, m := range o.Members {
		uri, err := run.MemberURI(o.URI, m.Address)
		if err != nil {
			return nil, err
		}
		d.members = append(d.members, &member{PlatformMember: m, uri: uri})
	}
	for _, b := range d.backends {
		b.Learn(&d.secrets)
	}
	return d, nil
}

func (d *Deployment) Actions() (list []*fault.Action) {
	for _, a := range fault.Everywhere() {
		if slices.ContainsFunc(d.backends, func(b Backend) bool { return slices.Contains(b.Actions(), a) }) {
			list = append(list, a)
		}
	}
	return list
}

// backend is the backend of a fault. Commands that a fault has itself are for the last one.
func (d *Deployment) backend(f spec.Fault) Backend {
	for _, b := range d.backends {
		if f.Exec == nil && slices.Contains(b.Actions(), fault.Find(f.Action.Name)) {
			return b
		}
	}
	return d.backends[len(d.backends)-1]
}

// Nothing reverts the fault after the limit: steps run only as long as Plimsoll does.
func (d *Deployment) Fault(f spec.Fault, _ time.Duration) (Injector, error) {
	if err := d.check(f); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Action, err)
	}
	b := d.backend(f)
	d.mu.Lock()
	defer d.mu.Unlock()
	b.Learn(&d.secrets)
	return &stepInjector{platform: d, fault: f}, nil
}

// check refuses a fault that no backend can inject.
func (d *Deployment) check(f spec.Fault) error {
	if f.Exec == nil {
		if err := fault.Check(f); err != nil {
			return err
		}
		var names []string
		for _, a := range d.Actions() {
			names = append(names, a.Name)
		}
		if !slices.Contains(names, f.Action.Name) {
			return fmt.Errorf("the platform does not have it (it has: %s). Write its commands into a platform file",
				cmp.Or(strings.Join(names, ", "), "nothing"))
		}
	}
	if of, ok := d.backend(f).(Checker); ok {
		return of.Check(f)
	}
	return nil
}

// hide removes credentials: those of the address and of the steps, and named ones.
func (d *Deployment) hide(text string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.secrets.Hide(redact.InText(redact.Named(text)))
}

// Close ends the connections, and removes the journal if nothing is left to heal. The error names the faults that are
// left.
func (d *Deployment) Close() error {
	for _, m := range d.members {
		m.close()
	}
	var left []error
	for _, b := range d.backends {
		left = append(left, b.Close())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held == nil {
		return errors.Join(left...)
	}
	for _, r := range d.held.journal.Live() {
		e, err := entryOf(d.held.dir, r)
		if err == nil {
			err = fmt.Errorf("%s on %s is still in place. Revert it with: plimsoll platform heal", e.Fault, e.Member)
		}
		left = append(left, err)
	}
	return errors.Join(append(left, d.held.close())...)
}

// Plan is what a fault would do to one member. Nothing was done.
type Plan struct {
	// Member is the member with its address and machine, and Role its role now. Member is empty if the fault names none.
	Member, Role string
	// Target is what would be struck, if that is not the member.
	Target string
	// Inject, Heal and Witness are empty if there is no such step.
	Inject, Heal, Witness string
	Mode                  string
	Timeout               time.Duration
}

// Plan queries the roles of the members, and returns what a fault would do. There is more than one plan if the target
// is random without a seed: one of them would be done.
func (d *Deployment) Plan(ctx context.Context, f spec.Fault) ([]Plan, error) {
	if _, err := d.Fault(f, 0); err != nil {
		return nil, err
	}
	if f.Action.Target == "" {
		plan, err := d.plan(ctx, f, nil)
		return []Plan{plan}, err
	}
	members, err := d.Members(ctx)
	if err != nil {
		return nil, err
	}
	list, err := d.candidates(f, members)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Action, err)
	}
	var plans []Plan
	for _, m := range list {
		plan, err := d.plan(ctx, f, m)
		if err != nil {
			return nil, err
		}
		for i, other := range d.members {
			if other == m {
				plan.Role = members[i].Role
			}
		}
		plans = append(plans, plan)
	}
	return plans, nil
}

func (d *Deployment) plan(ctx context.Context, f spec.Fault, m *member) (Plan, error) {
	s, err := d.steps(ctx, f, m)
	if err != nil {
		return Plan{}, err
	}
	plan := Plan{Inject: s.Inject.Text, Witness: s.Witness.Text, Mode: s.Mode, Timeout: s.Timeout}
	if s.Undo != nil {
		undo, err := json.Marshal(s.Undo)
		if err != nil {
			return Plan{}, err
		}
		heal, err := d.backend(f).Heal(undo, d.hide)
		if err != nil {
			return Plan{}, err
		}
		plan.Heal = heal.Text
	}
	if m != nil {
		plan.Member = fmt.Sprintf("%s (address %s, machine %s)", m.Name, m.Address, d.backends[0].Machine(m.PlatformMember))
		if s.Target != m.Name {
			plan.Target = s.Target
		}
	}
	return plan, nil
}

// steps prepares a fault on a member, nil for none.
func (d *Deployment) steps(ctx context.Context, f spec.Fault, m *member) (Steps, error) {
	target := "the deployment"
	var named *spec.PlatformMember
	if m != nil {
		now := m.PlatformMember
		now.Machine = d.backends[0].Machine(now)
		named, target = &now, m.Name
	}
	s, err := d.backend(f).Steps(ctx, f, named)
	if err != nil {
		return s, fmt.Errorf("%s: %w", f.Action, err)
	}
	for _, text := range []*string{&s.Inject.Text, &s.Witness.Text} {
		*text = visible.Line(d.hide(*text))
	}
	s.Target = cmp.Or(s.Target, target)
	return s, nil
}
