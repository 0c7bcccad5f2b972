package platform

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/lab/action"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Lab is what an injector needs of a lab; [lab.Handle] is one.
type Lab interface {
	action.Lab
	Name() string
	Fail(ctx context.Context, f spec.Fault, limit time.Duration) (record.LabFault, error)
	Heal(ctx context.Context, what lab.Healing) ([]record.LabFault, error)
	EventsSince(ctx context.Context, seq int64) ([]record.LabEvent, error)
}

// OfLab returns the platform that a lab is. Its supervisor reverts a fault after its time limit, even if the process
// that injected it has ended.
func OfLab(l Lab) Platform { return labPlatform{l} }

type labPlatform struct{ lab Lab }

func (p labPlatform) Members(ctx context.Context) ([]record.LabMember, error) {
	l, err := p.lab.Observe(ctx)
	return l.Members, err
}

func (p labPlatform) Actions() []*fault.Action {
	return slices.DeleteFunc(slices.Clone(fault.All()), func(a *fault.Action) bool { return !a.InLab() })
}

func (p labPlatform) Fault(f spec.Fault, limit time.Duration) (Injector, error) {
	a := action.Find(f.Action.Name)
	switch {
	case limit < 0:
		return nil, fmt.Errorf("%s: the time limit %v is negative", f.Action, limit)
	case a == nil:
		return nil, fmt.Errorf("%s: %w", f.Action, cmp.Or(fault.Check(f), fault.Refuse("a lab does not do it")))
	case limit == 0:
		limit = DefaultLimit
	}
	return &injector{lab: p.lab, action: a, fault: f, limit: limit}, nil
}

// injector is the [Injector] of a lab.
type injector struct {
	lab    Lab
	action *action.Action
	fault  spec.Fault
	limit  time.Duration
	before action.Snapshot
	known  Injection
}
