// Package action is the table of what can be done to a lab: one value per action, with everything that help,
// documentation, validation, the supervisor, promises and verification have to know of it.
//
// A further action is a file with its value, and its line in [All]. ACTION:TARGET is read by package spec. Which
// faults are in place, and until when, is known to the supervisor (package lab). Package fault decides for how long a
// witness is looked for, and what a loss of writes means is judged by package drill.
package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Action is one thing that can be done to a lab.
type Action struct {
	Name string
	// On is what it is done to.
	On Kind
	// Implied is the target where none is named; empty where one has to be.
	Implied string
	// Help says in one line what happens to the target.
	Help string
	// Takes are the names of the [Details] that it takes. All take a seed.
	Takes []string
	// Needs is what a lab needs so that it can be done.
	Needs Need
	// Lasts says that it is in place until it is healed.
	Lasts bool
	// Manner is what clients notice, as in [record.DrillFault]; Isolated what they notice on an isolated host, where
	// that differs.
	Manner, Isolated string
	// Fate is what becomes of the processes of the target.
	Fate Fate
	// TakesDown says that a member is down or away while it lasts, so that it cannot be the primary.
	TakesDown bool
	// HandsOver says that a primary gives its role away, and stays.
	HandsOver bool
	// Damages says whether a fault stores other bytes than were written, which stay when it is healed; nil for never.
	Damages func(f spec.Fault) bool
	// Check says what is wrong with the details of a fault; nil for an action without any.
	Check func(f spec.Fault) error
	// Suits says what is wrong with the target in this lab; nil where On and Needs say it all.
	Suits func(j *Job) error
	// Apply returns when it is in effect.
	Apply func(ctx context.Context, j *Job) error
	// Undo heals it, and returns when that is done; nil for an action that does not last.
	Undo func(ctx context.Context, j *Job) error
	// Witness looks once whether somebody other than the lab's supervisor sees an effect. No evidence and no error is
	// that nothing is to be seen yet.
	Witness func(ctx context.Context, s *Scene) (evidence string, err error)
}

// All are all actions, in the order in which they are explained.
func All() []*Action {
	return []*Action{powerOff, powerLoss, cut, slow, pause, kill, stop, stepDown,
		diskFail, diskError, diskFull, diskSlow, diskHang, diskCorrupt, diskTorn, diskLie}
}

// Kind is what an action is done to.
type Kind uint8

// The kinds of targets. An action on hosts alone takes a member or a role for the host that it stands on.
const (
	Host Kind = 1 << iota
	Member
	Disk
)

// String is the kind as it stands in usage texts: HOST|MEMBER.
func (k Kind) String() string {
	var words []string
	for i, word := range []string{"HOST", "MEMBER", "DISK"} {
		if k&(1<<i) != 0 {
			words = append(words, word)
		}
	}
	return strings.Join(words, "|")
}

// Need is what a lab needs so that an action can be done.
type Need uint8

// The needs.
const (
	NeedsNothing  Need = iota
	NeedsIsolated      // hosts with a link of their own
	NeedsDisks         // virtual disks
	NeedsFaults        // virtual disks of the fault filesystem
)

// Fate is what becomes of the processes of a target.
type Fate uint8

// The fates. A later one ends what an earlier one keeps in place: a process that is killed is not paused any more.
const (
	GoOn    Fate = iota
	Stand        // where they are, until it is healed
	End          // and the lab does not start them again before it is healed
	NoPower      // with their host
)

// Detail is a part of a fault besides its action, its target and the seed: a key in files, and a flag.
type Detail struct {
	Name, Help string
	given      func(f spec.Fault) bool
}

// Details are all there are.
var Details = []Detail{
	{"from", "the other host", func(f spec.Fault) bool { return f.From != "" }},
	{"direction", "seen from the host: both, in or out", func(f spec.Fault) bool { return f.Direction != "" }},
	{"rate", "bytes per second, such as 1MB", func(f spec.Fault) bool { return f.Rate != 0 }},
	{"delay", "how much longer requests take, such as 20ms", func(f spec.Fault) bool { return f.Delay != 0 }},
	{"errno", "EIO (default), ENOSPC, EROFS, …", func(f spec.Fault) bool { return f.Errno != "" }},
	{"ops", "only these requests: read, write, flush", func(f spec.Fault) bool { return len(f.Ops) > 0 }},
	{"probability", "the share of requests or blocks that is hit; 0 is all",
		func(f spec.Fault) bool { return f.Probability != 0 }},
	{"keep", "the share of what was not flushed that survives", func(f spec.Fault) bool { return f.Keep != 0 }},
}

// Usage is the help of the flag of a detail, with the actions that take it.
func (d Detail) Usage() string {
	of := takers(d.Name)
	if len(of) > 1 && !slices.ContainsFunc(of, func(name string) bool { return Find(name).On != Disk }) {
		return "of faults of disks: " + d.Help
	}
	return fmt.Sprintf("of %s: %s", strings.Join(of, " and "), d.Help)
}

// takers are the names of the actions that take a detail.
func takers(detail string) (names []string) {
	for _, a := range All() {
		if slices.Contains(a.Takes, detail) {
			names = append(names, a.Name)
		}
	}
	return names
}

// Names are the names of all actions, in the order in which they are explained.
func Names() (names []string) {
	for _, a := range All() {
		names = append(names, a.Name)
	}
	return names
}

// Find is the action of a name; nil if there is none.
func Find(name string) *Action {
	for _, a := range All() {
		if a.Name == name {
			return a
		}
	}
	return nil
}

// Unseats says whether a primary that it is done to stops being one.
func (a *Action) Unseats() bool { return a.TakesDown || a.HandsOver }

// Usage is the action with what it is done to, as it is written in `plimsoll lab fail`.
func (a *Action) Usage() string {
	if a.Implied != "" {
		return a.Name
	}
	return a.Name + " " + a.On.String()
}

// Check says what is wrong with a fault, as far as that can be told without a lab.
func Check(f spec.Fault) error {
	a := Find(f.Strike.Action)
	switch {
	case a == nil:
		return Refuse("there is no action %q%s (actions: %s)", f.Strike.Action, nearest.DidYouMean(f.Strike.Action, Names()),
			strings.Join(Names(), ", "))
	case f.Strike.Target == "":
		return Refuse("what is to be broken? Name a host, a member, a role such as primary, or MEMBER/DISK")
	case f.For < 0 || f.Rate < 0 || f.Delay < 0:
		return Refuse("a time and a rate cannot be negative")
	}
	for _, d := range Details {
		if d.given(f) && !slices.Contains(a.Takes, d.Name) {
			return Refuse("%s takes no %s, which is for %s", a.Name, d.Name, strings.Join(takers(d.Name), ", "))
		}
	}
	if a.Check == nil {
		return nil
	}
	return a.Check(f)
}

// ErrRefused says that a request made no sense; nothing was done.
var ErrRefused = errors.New("refused")

// refusal is an error whose text is the reason alone.
type refusal string

func (r refusal) Error() string        { return string(r) }
func (r refusal) Is(target error) bool { return target == ErrRefused }

// Refuse makes an error that is [ErrRefused], and whose text is the reason alone.
func Refuse(format string, a ...any) error { return refusal(fmt.Sprintf(format, a...)) }
