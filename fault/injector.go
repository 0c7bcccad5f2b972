// Package fault injects faults into a lab, verifies that they had an effect, and heals them.
//
// An [Injector] injects one fault. The lab's supervisor reverts the fault after its time limit, even if the process
// that injected it has ended. The evidence that a fault had an effect comes from processes, connections, and counters
// of the kernel and of the disks, never from the supervisor. The actions and their witnesses are in package lab/action.
// Faults are injected into labs only. For any other target, [External] records when the user injects a fault.
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
	EventsSince(ctx context.Context, seq int64) ([]record.LabEvent, error)
}

// Injector injects one fault once. Its methods are called one after the other. Each returns all that is known of the
// fault by then.
type Injector interface {
	// Inject returns when the fault is in effect.
	Inject(ctx context.Context) (Injection, error)
	// Verify polls until a witness other than the injector has seen an effect, or ctx ends. It may be called while the
	// load runs, and again after the fault is reverted. An error means that the witness could not be polled.
	Verify(ctx context.Context) (Injection, error)
	// Heal reverts the fault and returns when that is done. A fault that is healed already, by its time limit or by a
	// person, is no error.
	Heal(ctx context.Context) (Injection, error)
}

// Injection is what is known of one fault, from its injection to its healing. Times have the monotonic clock of this
// process, and are zero before they are reached.
type Injection struct {
	// Requested is when the lab was requested to inject the fault, Effective when it answered that it is in effect.
	Requested, Effective time.Time
	Healed               time.Time
	// Target is the host, member or disk to which the target of the request was resolved.
	Target string
	// Manner is the failure mode that clients see on this kind of host.
	Manner string
	// ID is the lab's number of the fault; 0 if the fault does not last, or is not of a lab.
	ID int
	// Hit says that a witness saw an effect, and Evidence what it saw.
	Hit      bool
	Evidence string
}

// Injected says whether the fault was in effect at some time.
func (i Injection) Injected() bool { return !i.Effective.IsZero() }

// DefaultLimit is the time after which a lab reverts a fault by itself, unless another limit is given.
const DefaultLimit = 10 * time.Minute

// ErrNotALab says that a fault was requested for a target that is not a lab.
var ErrNotALab = errors.New("faults are injected into labs only")

// New prepares a fault in a lab. The lab reverts it after limit, even if this process has ended; 0 is [DefaultLimit].
func New(l Lab, f spec.Fault, limit time.Duration) (Injector, error) {
	a := action.Find(f.Strike.Action)
	switch {
	case l == nil:
		return nil, fmt.Errorf("%s: %w. Use lab:NAME as the target, or use --external and inject the fault yourself",
			f.Strike, ErrNotALab)
	case limit < 0:
		return nil, fmt.Errorf("%s: the time limit %v is negative", f.Strike, limit)
	case a == nil:
		return nil, fmt.Errorf("%s: %w", f.Strike, action.Check(f))
	case limit == 0:
		limit = DefaultLimit
	}
	return &injector{lab: l, action: a, fault: f, limit: limit}, nil
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
