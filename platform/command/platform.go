package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/internal/mongouri"
	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/internal/redact"
	"github.com/plimsoll-bench/plimsoll/internal/shellword"
	"github.com/plimsoll-bench/plimsoll/internal/visible"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Options are what a platform is made from.
type Options struct {
	// URI is the address of the deployment, with the credentials for its members.
	URI string
	// File names the members and the commands. Without members, the hosts of the address are the members.
	File spec.Platform
	// API breaks the members without commands; nil if there is none.
	API platform.Backend
	// Journals is the directory of the journals of all drills.
	Journals string
	// Watch starts the watchdog, see [platform.DeploymentOptions].
	Watch func(journal string) error
}

// Kind is the kind of these platforms in journals.
const Kind = "command"

// backend is a [platform.Backend] of commands.
type backend struct {
	actions map[string]spec.Commands

	mu    sync.Mutex
	execs []spec.Commands // of faults that have their own
}

// New makes a platform. Nothing is contacted.
func New(o Options) (*platform.Deployment, error) {
	address, err := mongouri.Parse(o.URI)
	if err != nil {
		return nil, fmt.Errorf("commands break MongoDB deployments only, and the target is none: %w", err)
	}
	if len(o.File.Members) == 0 {
		if o.File.Members, err = hostsOf(address); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.File.Actions)) {
		if fault.Find(name) == nil {
			return nil, fmt.Errorf("actions: there is no action %q%s (actions: %s)", name,
				nearest.DidYouMean(name, fault.Names()), strings.Join(fault.Names(), ", "))
		}
		if err := checkWords(o.File.Actions[name]); err != nil {
			return nil, fmt.Errorf("actions.%s.%w", name, err)
		}
	}
	backends := []platform.Backend{&backend{actions: o.File.Actions}}
	if o.API != nil {
		backends = slices.Insert(backends, 0, o.API)
	}
	return platform.NewDeployment(platform.DeploymentOptions{URI: o.URI, Members: o.File.Members, Journals: o.Journals,
		Watch: o.Watch, Backends: backends})
}

// hostsOf are the members of a deployment that no platform file describes.
func hostsOf(a mongouri.Address) (list []spec.PlatformMember, err error) {
	if a.Scheme != "mongodb" {
		return nil, errors.New("the address has no members, because DNS has its hosts (mongodb+srv). Name the members in a " +
			"platform file (--platform)")
	}
	for _, h := range strings.Split(a.Hosts, ",") {
		h = mongouri.WithPort(h)
		host, _, err := net.SplitHostPort(h)
		if err != nil {
			host = h // a socket
		}
		list = append(list, spec.PlatformMember{Name: h, Address: h, Machine: host})
	}
	return list, nil
}

func (b *backend) Actions() (list []*fault.Action) {
	for _, a := range fault.Everywhere() {
		if _, ok := b.actions[a.Name]; ok {
			list = append(list, a)
		}
	}
	return list
}

func (b *backend) Kind() string { return Kind }

func (b *backend) Close() error { return nil }

func (b *backend) Machine(m spec.PlatformMember) string { return m.Machine }

var _ platform.Checker = (*backend)(nil)

func (b *backend) Check(f spec.Fault) error {
	_, err := b.commandsOf(f)
	return err
}

// commandsOf returns the commands of a fault.
func (b *backend) commandsOf(f spec.Fault) (spec.Commands, error) {
	if f.Exec != nil {
		b.mu.Lock()
		b.execs = append(b.execs, *f.Exec)
		b.mu.Unlock()
		if err := checkWords(*f.Exec); err != nil {
			return *f.Exec, err
		}
		if word := memberWord(*f.Exec); f.Action.Target == "" && word != "" {
			return *f.Exec, fmt.Errorf("%s stands for a member, and the fault names none. Write fault: exec:MEMBER", word)
		}
		return *f.Exec, nil
	}
	for _, d := range fault.Details {
		if d.Given(f) {
			return spec.Commands{}, fmt.Errorf("%s: commands do not get this detail. Write it into the command", d.Name)
		}
	}
	return b.actions[f.Action.Name], nil
}

func (b *backend) Steps(_ context.Context, f spec.Fault, m *spec.PlatformMember) (platform.Steps, error) {
	c, err := b.commandsOf(f)
	if err != nil {
		return platform.Steps{}, err
	}
	var known redact.Known
	b.Learn(&known)
	hide := func(text string) string { return known.Hide(redact.InText(redact.Named(text))) }
	env := values(f.Action.Name, m)
	c = filled(c, env)
	s := platform.Steps{Mode: c.FailureMode, Timeout: c.Timeout.Std(),
		Inject:  step("the inject command", c.Inject, "", env, c.Timeout.Std(), hide),
		Witness: step("the witness command", c.Witness, "", env, c.Timeout.Std(), hide)}
	if len(c.Heal) > 0 {
		u := undo{Heal: c.Heal, Env: env, Timeout: c.Timeout.Std()}
		if u.Dir, err = os.Getwd(); err != nil {
			return s, fmt.Errorf("the heal command needs the current directory: %w", err)
		}
		s.Undo = u
	}
	if a := fault.Find(f.Action.Name); a != nil && a.On == fault.Host && m != nil {
		s.Target = m.Machine // with all members on it
	}
	return s, nil
}

// step is a step that runs a command in a directory, "" for the current one; none without words.
func step(name string, words []string, dir string, env map[string]string, limit time.Duration,
	hide func(string) string) platform.Step {
	if len(words) == 0 {
		return platform.Step{}
	}
	run := func(ctx context.Context) (platform.Command, error) { return execute(ctx, words, dir, env, limit, hide) }
	return platform.Step{Name: name, Text: visible.Line(hide(shellword.Join(words))), Run: run}
}

// undo is what the journal has of a fault: the command that reverts it, and what it gets to know. It runs in the
// directory in which the fault was injected, because it may name files there, and the watchdog runs elsewhere.
type undo struct {
	Heal    []string          `json:"heal"`
	Dir     string            `json:"dir,omitempty"`
	Env     map[string]string `json:"env"`
	Timeout time.Duration     `json:"timeout"`
}

// Healer heals faults of journals.
type Healer struct{}

func (Healer) Heal(text json.RawMessage, hide func(string) string) (platform.Step, error) {
	var u undo
	if err := json.Unmarshal(text, &u); err != nil {
		return platform.Step{}, fmt.Errorf("the heal command cannot be read: %w", err)
	}
	var known redact.Known
	learnEnvironment(&known)
	learnWords(&known, spec.Commands{Heal: u.Heal})
	return step("the heal command", u.Heal, u.Dir, u.Env, u.Timeout, func(text string) string { return hide(known.Hide(text)) }), nil
}

func (b *backend) Heal(text json.RawMessage, hide func(string) string) (platform.Step, error) {
	return Healer{}.Heal(text, hide)
}

func (b *backend) Learn(k *redact.Known) {
	learnEnvironment(k)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range slices.AppendSeq(slices.Clone(b.execs), maps.Values(b.actions)) {
		learnWords(k, c)
	}
}

// learnEnvironment learns the credentials that commands get in their environment.
func learnEnvironment(k *redact.Known) {
	for _, pair := range (&exec.Cmd{}).Environ() {
		name, value, _ := strings.Cut(pair, "=")
		if redact.SecretVariable(name, value) && len(value) >= shortestSecret {
			k.Add(value)
		}
		k.Learn(value)
	}
}

// shortestSecret is the length of the shortest value that is taken for a credential because of its name.
const shortestSecret = 6

func learnWords(k *redact.Known, c spec.Commands) {
	for _, words := range [][]string{c.Inject, c.Heal, c.Witness} {
		k.LearnCommand(words)
	}
}
