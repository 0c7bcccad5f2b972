// Package fault breaks something in a lab, looks whether that had an effect, and heals it.
//
// An [Injector] does a fault to a lab; the lab's supervisor knows until when, and heals it at that time by itself,
// also if the process that asked for it is gone. Whether it hit is judged by what the supervisor did not say:
// processes, connections, counters of the kernel and of the disks. What can be done, and who sees it, stands in
// lab/action. Only labs are broken: what a person or another program does to any other target is marked by an
// injector of [External].
package fault

import (
	"context"
	"errors"
	"fmt"
	"time"

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
	// EventsSince are those after the event of that number.
	EventsSince(ctx context.Context, seq int64) ([]record.LabEvent, error)
}

// Injector breaks one thing once. Its methods are called one after the other.
type Injector interface {
	// Inject returns when the fault is in effect.
	Inject(ctx context.Context) (Injection, error)
	// Verify looks until something other than the injector has seen an effect, or ctx ends; then it says that nothing
	// was seen. It may be called while load goes on, and again later. An error is that it could not look.
	Verify(ctx context.Context) (Proof, error)
	// Heal undoes it and returns when that is done, with when that was. Healing what is healed already succeeds: by
	// its time limit, or by a person.
	Heal(ctx context.Context) (time.Time, error)
}

// Injection is a fault that was done. Times have the monotonic clock of this process.
type Injection struct {
	// Asked is when the lab was told, Done when it had answered that the fault is in effect.
	Asked, Done time.Time
	// Target is what was meant by the target's words.
	Target string
	// Manner is what clients notice on this kind of host.
	Manner string
	// ID is the lab's number of the fault; 0 if it is one that does not last, or not of a lab.
	ID int
}

// Proof says whether a fault had an effect, in words of what saw it.
type Proof struct {
	Hit      bool
	Evidence string
}

// DefaultLimit is after what time a lab heals a fault by itself if nothing else is said.
const DefaultLimit = 10 * time.Minute

// ErrNotALab says that something was to be broken that Plimsoll did not make.
var ErrNotALab = errors.New("only labs are broken")

// New prepares to break something in a lab. limit is after what time the lab heals it by itself, also when this process
// is gone; 0 is [DefaultLimit]. Without a lab it is refused.
func New(l Lab, f spec.Fault, limit time.Duration) (Injector, error) {
	a := action.Find(f.Strike.Action)
	switch {
	case l == nil:
		return nil, fmt.Errorf("%s: %w: the target is none; use lab:NAME as the target, or --external and break it yourself", f.Strike, ErrNotALab)
	case limit < 0:
		return nil, fmt.Errorf("%s: the time after which it heals is negative", f.Strike)
	case a == nil:
		return nil, fmt.Errorf("%s: %w", f.Strike, action.Check(f))
	case limit == 0:
		limit = DefaultLimit
	}
	return &injector{lab: l, action: a, fault: f, limit: limit}, nil
}

// injector breaks something in a lab.
type injector struct {
	lab    Lab
	action *action.Action
	fault  spec.Fault
	limit  time.Duration
	before action.Sight
	done   Injection
}
