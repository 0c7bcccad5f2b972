// Package fault is the catalogue of faults and of planned events: names, help, what they need and take, what clients
// notice, and the checks of a request. It breaks nothing. Labs do it in package lab/action; package platform and those
// in it do it in other deployments.
//
// To add an action, add a row to the table in table.go, and what does it: a value in lab/action or a case of a
// platform.
package fault

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Action is one kind of fault or planned event.
type Action struct {
	Name string
	On   Kind
	// Platform is the only platform that has the action; empty for an action of labs, which commands can do elsewhere.
	Platform string
	// Implied is the target if none is named; empty if a target is required.
	Implied string
	// Help says in one line what happens to the target.
	Help string
	// Takes are the names of the [Details] that the action accepts. All actions accept a seed.
	Takes []string
	Needs Need
	// Event says that the action is planned maintenance that ends by itself.
	Event bool
	// Plain says that commands of MongoDB alone do it, so that a deployment needs no platform for it.
	Plain bool
	// DrillOnly says that a drill does it in any deployment, and a lab does not do it by itself.
	DrillOnly bool
	// NoLab is why it cannot be done in a lab; empty if it can.
	NoLab string
	// Lacking is why documentdb does not have the action; empty if it does.
	Lacking string
	// Lasts says that the fault is in place until it is healed.
	Lasts bool
	// Mode is the failure mode that clients see. Isolated is the one on an isolated host, if it differs.
	Mode, Isolated string
	Fate           Fate
	// TakesDown says that a member is down or unreachable while the fault lasts, so that it cannot be the primary.
	TakesDown bool
	// HandsOver says that a primary gives its role to another member and keeps running.
	HandsOver bool
	// Damages says whether a fault stores wrong bytes, which healing does not correct; nil for never.
	Damages func(f spec.Fault) bool
	// Check checks the details of a fault; nil for an action without details.
	Check func(f spec.Fault) error
}

// The failure modes: what clients notice of a fault.
const (
	Crash     = "crash"      // connections break
	BlackHole = "black-hole" // connections hang
	Planned   = "planned"    // the server announces that it goes
	Storage   = "disk"       // the server runs and its storage does not work as it should
	Late      = "slow"       // everything works, later
	Unknown   = "unknown"    // another program did it
)

// Modes are the failure modes, in the order in which results show them.
func Modes() []string { return []string{Crash, BlackHole, Planned, Storage, Late, Unknown} }

// All are all actions of labs and of deployments with commands, in the order of the documentation.
func All() []*Action { return everywhere[:len(ofLabs)] }

// Everywhere are all actions: those of [All], and those that only other platforms have.
func Everywhere() []*Action { return everywhere }

// everywhere has one pointer for each action, so that pointers can be compared.
var everywhere = func() (list []*Action) {
	rows := slices.Concat(ofLabs, onKubernetes, onVSphere)
	for i := range rows {
		list = append(list, &rows[i])
	}
	return list
}()

// Kind is a set of kinds of targets.
type Kind uint8

// The kinds of targets. For an action on hosts alone, a member or a role stands for its host.
const (
	Host Kind = 1 << iota
	Member
	Disk
	Set        // a replica set or shard, or all of them
	Collection // of the workload's database
)

// String is the kind in usage texts: HOST|MEMBER.
func (k Kind) String() string {
	var words []string
	for i, word := range []string{"HOST", "MEMBER", "DISK", "SET", "COLLECTION"} {
		if k&(1<<i) != 0 {
			words = append(words, word)
		}
	}
	return strings.Join(words, "|")
}

// Need is what an action needs of a lab.
type Need uint8

// The needs.
const (
	NeedsNothing  Need = iota
	NeedsIsolated      // isolated hosts
	NeedsDisks         // virtual disks
	NeedsFaults        // virtual disks of the fault filesystem
	NeedsSet           // a replica set
	NeedsShards        // a sharded cluster
)

// Fate is what happens to the processes of a target.
type Fate uint8

// The fates. A later one replaces an earlier one: a process that was killed is not paused any more.
const (
	Unaffected Fate = iota
	Paused          // until the fault is reverted
	End             // the lab does not restart them before the fault is reverted
	NoPower         // like their host
)

// Detail is an attribute of a fault besides its action, its target and the seed: a key in files, and a flag.
type Detail struct {
	Name, Help string
	Given      func(f spec.Fault) bool
}

var Details = []Detail{
	{"from", "the other host", func(f spec.Fault) bool { return f.From != "" }},
	{"direction", "seen from the host: both, in or out", func(f spec.Fault) bool { return f.Direction != "" }},
	{"rate", "bytes per second, such as 1MB", func(f spec.Fault) bool { return f.Rate != 0 }},
	{"cores", "cores, such as 0.5", func(f spec.Fault) bool { return f.Cores != 0 }},
	{"delay", "additional time per request, such as 20ms", func(f spec.Fault) bool { return f.Delay != 0 }},
	{"errno", "EIO (default), ENOSPC, EROFS, …", func(f spec.Fault) bool { return f.Errno != "" }},
	{"ops", "only these requests: read, write, flush", func(f spec.Fault) bool { return len(f.Ops) > 0 }},
	{"probability", "the share of requests or blocks that the fault affects; 0 means all",
		func(f spec.Fault) bool { return f.Probability != 0 }},
	{"keep", "the share of unflushed data that survives", func(f spec.Fault) bool { return f.Keep != 0 }},
}

// Usage is the help of the flag of a detail, with the actions that accept it.
func (d Detail) Usage() string {
	of := takers(d.Name)
	if len(of) > 1 && !slices.ContainsFunc(of, func(name string) bool { return Find(name).On != Disk }) {
		return "for disk faults: " + d.Help
	}
	return fmt.Sprintf("for %s: %s", strings.Join(of, " and "), d.Help)
}

// takers are the names of the actions that accept a detail.
func takers(detail string) (names []string) {
	for _, a := range All() {
		if slices.Contains(a.Takes, detail) {
			names = append(names, a.Name)
		}
	}
	return names
}

// Complete returns faults with the implied target where none is named.
func Complete(faults []spec.Fault) []spec.Fault {
	faults = slices.Clone(faults)
	for i := range faults {
		if a := Find(faults[i].Action.Name); a != nil && faults[i].Action.Target == "" {
			faults[i].Action.Target = a.Implied
		}
	}
	return faults
}

// Names are the names of all actions of labs, in the order of [All].
func Names() (names []string) {
	for _, a := range All() {
		names = append(names, a.Name)
	}
	return names
}

// Find returns the action of a name; nil if there is none.
func Find(name string) *Action {
	for _, a := range Everywhere() {
		if a.Name == name {
			return a
		}
	}
	return nil
}

// Unseats says whether a primary that is the target loses its role.
func (a *Action) Unseats() bool { return a.TakesDown || a.HandsOver }

// Planned says whether the action is maintenance: an event, or a change of members.
func (a *Action) Planned() bool { return a.Event || a.Name == RemoveMember || a.Name == AddMember }

// InLab says whether a lab does the action by itself. Others need a drill.
func (a *Action) InLab() bool { return a.Platform == "" && !a.DrillOnly && a.NoLab == "" }

// Usage is the action with the kinds of its targets, as in `plimsoll lab fail`.
func (a *Action) Usage() string {
	if a.Implied != "" {
		return a.Name
	}
	return a.Name + " " + a.On.String()
}

// Check checks a fault as far as that is possible without a lab.
func Check(f spec.Fault) error {
	a := Find(f.Action.Name)
	switch {
	case a == nil:
		return Refuse("there is no action %q%s (actions: %s)", f.Action.Name, nearest.DidYouMean(f.Action.Name, Names()),
			strings.Join(Names(), ", "))
	case f.Action.Target == "":
		return Refuse("%s needs a target: a host, a member, a role such as primary, or MEMBER/DISK", a.Name)
	case f.For < 0 || f.Rate < 0 || f.Delay < 0:
		return Refuse("a time and a rate cannot be negative")
	}
	for _, d := range Details {
		if d.Given(f) && !slices.Contains(a.Takes, d.Name) {
			return Refuse("%s does not accept %s (only: %s)", a.Name, d.Name, strings.Join(takers(d.Name), ", "))
		}
	}
	if a.Check == nil {
		return nil
	}
	return a.Check(f)
}

// ErrRefused says that a request was not valid. Nothing was changed.
var ErrRefused = errors.New("refused")

type refusal string

func (r refusal) Error() string        { return string(r) }
func (r refusal) Is(target error) bool { return target == ErrRefused }

// Refuse makes an error that is [ErrRefused], and whose text is the reason alone.
func Refuse(format string, a ...any) error { return refusal(fmt.Sprintf(format, a...)) }
