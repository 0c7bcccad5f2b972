package command

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/mongouri"
	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/internal/redact"
	"github.com/plimsoll-bench/plimsoll/lab/action"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Options are what a platform is made from.
type Options struct {
	// URI is the address of the deployment, with the credentials for its members.
	URI string
	// File names the members and the commands. Without members, the hosts of the address are the members.
	File spec.Platform
	// Journals is the directory of the journals of all drills.
	Journals string
}

// Platform is a [platform.Platform] whose members commands break. It must be closed.
type Platform struct {
	members  []*member
	actions  map[string]spec.Commands
	journals string

	mu      sync.Mutex
	secrets redact.Known
	book    *book // nil until the first fault
}

// New makes a platform. Nothing is contacted.
func New(o Options) (*Platform, error) {
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
		if action.Find(name) == nil {
			return nil, fmt.Errorf("actions: there is no action %q%s (actions: %s)", name,
				nearest.DidYouMean(name, action.Names()), strings.Join(action.Names(), ", "))
		}
		if err := checkWords(o.File.Actions[name]); err != nil {
			return nil, fmt.Errorf("actions.%s.%w", name, err)
		}
	}
	p := &Platform{actions: o.File.Actions, journals: o.Journals}
	p.secrets.Learn(o.URI)
	learnEnvironment(&p.secrets)
	for _, c := range o.File.Actions {
		learnWords(&p.secrets, c)
	}
	for _, m := range o.File.Members {
		uri, err := run.MemberURI(o.URI, m.Address)
		if err != nil {
			return nil, err
		}
		p.members = append(p.members, &member{PlatformMember: m, uri: uri})
	}
	return p, nil
}

// hostsOf are the members of a deployment that no platform file describes.
func hostsOf(a mongouri.Address) (list []spec.PlatformMember, err error) {
	if a.Scheme != "mongodb" {
		return nil, errors.New("the address has no members, because DNS has its hosts (mongodb+srv). Name the members in a " +
			"platform file (--platform)")
	}
	for _, h := range strings.Split(a.Hosts, ",") {
		host, _, err := net.SplitHostPort(h)
		if err != nil {
			host, h = h, net.JoinHostPort(h, "27017")
		}
		list = append(list, spec.PlatformMember{Name: h, Address: h, Machine: host})
	}
	return list, nil
}

// Close ends the connections to the members, and removes the journal if nothing is left to heal.
func (p *Platform) Close() error {
	for _, m := range p.members {
		m.close()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.book == nil {
		return nil
	}
	return p.book.close()
}

// Actions implements [platform.Platform].
func (p *Platform) Actions() (list []*action.Action) {
	for _, a := range action.All() {
		if _, ok := p.actions[a.Name]; ok {
			list = append(list, a)
		}
	}
	return list
}

// Fault implements [platform.Platform]. Nothing reverts the fault after the limit: commands run only as long as
// Plimsoll does.
func (p *Platform) Fault(f spec.Fault, _ time.Duration) (platform.Injector, error) {
	c, err := p.commandsOf(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Strike, err)
	}
	return &injector{platform: p, fault: f, commands: c}, nil
}

// commandsOf returns the commands of a fault.
func (p *Platform) commandsOf(f spec.Fault) (spec.Commands, error) {
	if f.Exec != nil {
		p.mu.Lock()
		learnWords(&p.secrets, *f.Exec)
		p.mu.Unlock()
		if err := checkWords(*f.Exec); err != nil {
			return *f.Exec, err
		}
		if word := memberWord(*f.Exec); f.Strike.Target == "" && word != "" {
			return *f.Exec, fmt.Errorf("%s stands for a member, and the fault names none. Write fault: exec:MEMBER", word)
		}
		return *f.Exec, nil
	}
	if err := action.Check(f); err != nil {
		return spec.Commands{}, err
	}
	for _, d := range action.Details {
		if d.Given(f) {
			return spec.Commands{}, fmt.Errorf("%s: commands do not get this detail. Write it into the command", d.Name)
		}
	}
	c, ok := p.actions[f.Strike.Action]
	if !ok {
		return c, fmt.Errorf("the platform file has no commands for %s (it has: %s)", f.Strike.Action,
			strings.Join(slices.Sorted(maps.Keys(p.actions)), ", "))
	}
	return c, nil
}

// hide removes credentials: those of the address, of the commands and of their environment, and named ones.
func (p *Platform) hide(text string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.secrets.Hide(redact.InText(redact.Named(text)))
}

// learnEnvironment learns the credentials that commands get in their environment.
func learnEnvironment(k *redact.Known) {
	for _, pair := range (&exec.Cmd{}).Environ() {
		name, value, _ := strings.Cut(pair, "=")
		if redact.SecretName(name) && len(value) >= shortestSecret {
			k.Add(value)
		}
		k.Learn(value)
	}
}

// shortestSecret is the length of the shortest value that is taken for a credential because of its name.
const shortestSecret = 6

// learnWords learns the credentials in commands: --password VALUE, --token=VALUE, and -P of ipmitool.
func learnWords(k *redact.Known, c spec.Commands) {
	for _, words := range [][]string{c.Inject, c.Heal, c.Witness} {
		for i, w := range words {
			k.Learn(w)
			name, value, inside := strings.Cut(strings.TrimLeft(w, "-"), "=")
			if !inside && i+1 < len(words) {
				value = words[i+1]
			}
			secret := redact.SecretName(name) || w == "-P" && strings.HasSuffix(words[0], "ipmitool")
			if strings.HasPrefix(w, "-") && secret && value != "" {
				k.Add(value)
			}
		}
	}
}
