package spec

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"time"
)

// Platform describes a deployment that Plimsoll did not make: its members, and the commands that break them.
type Platform struct {
	// Members are all members that may be broken. No other member ever is.
	Members []PlatformMember `json:"members" yaml:"members"`
	// Actions are the commands of each action that the platform has, by the name of the action, such as kill or power-off.
	Actions map[string]Commands `json:"actions,omitempty" yaml:"actions,omitempty"`
	// VSphere is the vCenter whose virtual machines the members are. Commands of the same action replace its own.
	VSphere *VSphere `json:"vsphere,omitempty" yaml:"vsphere,omitempty"`
}

// PlatformMember is one member of a deployment. Address is where Plimsoll reaches it, as host:port.
type PlatformMember struct {
	Name    string `json:"name" yaml:"name"`
	Address string `json:"address" yaml:"address"`
	// Machine is the name by which commands know its machine; absent, the host of the address.
	Machine string `json:"machine,omitempty" yaml:"machine,omitempty"`
	// Zone is the name of the site, rack or zone of its machine.
	Zone string `json:"zone,omitempty" yaml:"zone,omitempty"`
	// VM is the virtual machine of the member on vSphere: its name, its inventory path, or tag:NAME. Absent, it is found
	// by the host of the address.
	VM string `json:"vm,omitempty" yaml:"vm,omitempty"`
}

// Commands inject a fault, revert it, and tell whether it has an effect. Each is a program and its arguments, without a
// shell. {member}, {address}, {host}, {machine} and {action} in an argument are replaced.
type Commands struct {
	// Inject returns with exit code 0 when the fault is in effect.
	Inject []string `json:"inject" yaml:"inject"`
	// Heal reverts the fault; absent, the fault ends without it.
	Heal []string `json:"heal,omitempty" yaml:"heal,omitempty"`
	// Witness returns with exit code 0 if it sees the effect. It is repeated until it does.
	Witness []string `json:"witness,omitempty" yaml:"witness,omitempty"`
	// FailureMode is what clients notice; absent, it is unknown.
	FailureMode string `json:"failure_mode,omitempty" yaml:"failure_mode,omitempty" jsonschema:"enum=crash,enum=black-hole,enum=planned,enum=disk,enum=slow,enum=unknown"`
	// Timeout bounds each command; absent, 30 s.
	Timeout Duration `json:"timeout,omitempty" yaml:"timeout,omitempty"`
}

// execAction is the action of a fault whose commands are in the drill's file.
const execAction = "exec"

const (
	maxMembers        = 1000
	maxWords          = 200
	longestCommand    = 10 * time.Minute
	defaultCommandFor = 30 * time.Second
)

// ReadPlatform reads a platform file in YAML, as strictly as [ReadRun], and completes it.
func ReadPlatform(r io.Reader) (Platform, error) {
	p, err := ReadStrict[Platform](r, "platform file")
	if err != nil {
		return Platform{}, err
	}
	return p, p.complete()
}

// complete fills in the defaults, and returns the first mistake.
func (p *Platform) complete() error {
	switch {
	case len(p.Members) == 0:
		return errors.New("members: there is none. Name each member that may be broken, with its address")
	case len(p.Members) > maxMembers:
		return fmt.Errorf("members: %d are more than %d", len(p.Members), maxMembers)
	case len(p.Actions) == 0 && p.VSphere == nil:
		return errors.New("actions: there is none. Add an action, such as kill, with the command that injects it")
	}
	for i := range p.Members {
		m := &p.Members[i]
		if err := m.complete(); err != nil {
			return fmt.Errorf("members[%d].%w", i, err)
		}
		for _, other := range p.Members[:i] {
			if m.Name == other.Name || m.Address == other.Address {
				return fmt.Errorf("members[%d]: %s (%s) has the name or the address of another member", i, m.Name, m.Address)
			}
		}
	}
	if p.VSphere != nil {
		if err := p.VSphere.complete(); err != nil {
			return fmt.Errorf("vsphere.%w", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Actions)) {
		c := p.Actions[name]
		if err := c.complete(); err != nil {
			return fmt.Errorf("actions.%s.%w", name, err)
		}
		p.Actions[name] = c
	}
	return nil
}

func (m *PlatformMember) complete() error {
	host, port, err := net.SplitHostPort(m.Address)
	switch {
	case m.Name == "":
		return errors.New("name: there is none. Add one, such as db1")
	case strings.ContainsAny(m.Name, "/ \t\n") || slices.Contains(MemberRoles, m.Name):
		return fmt.Errorf("name: %q contains a slash or a space, or is the name of a role. Use a name such as db1", m.Name)
	case err != nil || host == "" || port == "":
		return fmt.Errorf("address: %q is not of the form HOST:PORT, such as db1.example.com:27017", m.Address)
	}
	m.Machine = cmp.Or(m.Machine, host)
	return errors.Join(plainName("name", m.Name), plainName("machine", m.Machine), plainName("zone", m.Zone))
}

// complete fills in the defaults, and returns the first mistake.
func (c *Commands) complete() error {
	c.Timeout = cmp.Or(c.Timeout, Duration(defaultCommandFor))
	if len(c.Inject) == 0 {
		return errors.New("inject: there is no command. Write a program and its arguments as a list")
	}
	for _, step := range []struct {
		key   string
		words []string
	}{{"inject", c.Inject}, {"heal", c.Heal}, {"witness", c.Witness}} {
		switch {
		case len(step.words) > maxWords:
			return fmt.Errorf("%s: %d words are more than %d", step.key, len(step.words), maxWords)
		case len(step.words) > 0 && strings.TrimSpace(step.words[0]) == "":
			return fmt.Errorf("%s: the first word is empty, but it is the program", step.key)
		case slices.ContainsFunc(step.words, func(w string) bool { return strings.ContainsRune(w, 0) }):
			return fmt.Errorf("%s: a word contains a zero byte", step.key)
		}
	}
	if c.Timeout < 0 || c.Timeout.Std() > longestCommand {
		return fmt.Errorf("timeout: %v is not between 0 and %v", c.Timeout, longestCommand)
	}
	return oneOf("failure_mode", c.FailureMode, "crash", "black-hole", "planned", "disk", "slow", "unknown")
}

// KubernetesScheme begins the address of a deployment in Kubernetes: k8s:NAMESPACE/NAME.
const KubernetesScheme = "k8s:"

// InKubernetes says whether a target or a platform is in Kubernetes.
func InKubernetes(word string) bool { return strings.HasPrefix(word, KubernetesScheme) }

// MemberRoles are the roles that a target may have instead of the name of a member.
var MemberRoles = []string{"primary", "secondary", "standalone", "arbiter", "router", "config", "random"}
