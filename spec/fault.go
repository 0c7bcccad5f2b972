package spec

import (
	"strings"

	"go.yaml.in/yaml/v4"
)

// Fault is one thing that is broken: what is done to what, when, and with which details.
type Fault struct {
	// What is done to what, as ACTION:PLACE, such as kill:primary, power-off:host1, cut:primary, disk-lie:primary/d1.
	// With Exec it is exec, or exec:MEMBER.
	Action Action `json:"fault" yaml:"fault"`
	// Exec are the commands that break a target that is not a lab.
	Exec *Commands `json:"exec,omitempty" yaml:"exec,omitempty"`
	// At is when, since the measured time began; or AtWorkers when so many virtual users are there.
	At        Duration `json:"at,omitempty" yaml:"at,omitempty"`
	AtWorkers Count    `json:"at_workers,omitempty" yaml:"at_workers,omitempty"`
	// For is how long until it is healed; absent, until the end of the measured time.
	For Duration `json:"for,omitempty" yaml:"for,omitempty"`
	// Stay leaves it unhealed until the audit of what is left is done.
	Stay bool `json:"stay,omitempty" yaml:"stay,omitempty"`
	// From, Direction, Rate, Cores, Delay, Errno, Ops, Probability, Keep and Seed are the details of some actions.
	From        string   `json:"from,omitempty" yaml:"from,omitempty"`
	Direction   string   `json:"direction,omitempty" yaml:"direction,omitempty" jsonschema:"enum=both,enum=in,enum=out"`
	Rate        Size     `json:"rate,omitempty" yaml:"rate,omitempty"`
	Cores       float64  `json:"cores,omitempty" yaml:"cores,omitempty"`
	Delay       Duration `json:"delay,omitempty" yaml:"delay,omitempty"`
	Errno       string   `json:"errno,omitempty" yaml:"errno,omitempty"`
	Ops         []string `json:"ops,omitempty" yaml:"ops,omitempty"`
	Probability Share    `json:"probability,omitempty" yaml:"probability,omitempty"`
	// Keep is the share of unflushed writes that survives a power loss.
	Keep Share  `json:"keep,omitempty" yaml:"keep,omitempty"`
	Seed uint64 `json:"seed,omitempty" yaml:"seed,omitempty"`
}

// Action is what is done to what. As text it is ACTION:PLACE, or a word alone where nothing is named that it is done
// to.
type Action struct {
	Name string
	// Target is a host, a member, or a disk as MEMBER/DISK by its name, or a role: "primary", "secondary", "router",
	// "gateway", "config", also SET/primary; "random" with a seed chooses a member with data. For actions on hosts, a
	// member or a role means the host that it stands on; for those on disks, all disks of its volume.
	Target string
}

// ParseAction reads ACTION:PLACE. What lacks one of them is found by [Drill.Validate].
func ParseAction(text string) Action {
	name, target, _ := strings.Cut(text, ":")
	return Action{Name: name, Target: target}
}

// String writes the form that [ParseAction] reads.
func (a Action) String() string {
	if a.Target == "" {
		return a.Name
	}
	return a.Name + ":" + a.Target
}

// MarshalText writes the form that [ParseAction] reads.
func (a Action) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads the form of [ParseAction].
func (a *Action) UnmarshalText(b []byte) error { *a = ParseAction(string(b)); return nil }

// MarshalYAML writes the form that [ParseAction] reads.
func (a Action) MarshalYAML() (any, error) { return a.String(), nil }

// UnmarshalYAML reads the form of [ParseAction].
func (a *Action) UnmarshalYAML(n *yaml.Node) error {
	return scalar(n, a, func(text string) (Action, error) { return ParseAction(text), nil })
}
