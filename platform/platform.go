// Package platform breaks deployments on purpose: it injects faults, verifies that they had an effect, and heals them.
//
// A [Platform] is a deployment with members and the actions that it has. A lab is one ([OfLab]). A [Deployment] is one
// that Plimsoll did not make: package platform/command breaks it with commands of the user. An [Injector] injects one
// fault. The evidence that a fault had an effect never comes from the injector: it comes from processes, connections,
// and counters of the kernel and of the disks. The table of actions is package lab/action. [External] records when the
// user injects a fault.
package platform

import (
	"context"
	"errors"
	"time"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Platform is a deployment into which faults can be injected.
type Platform interface {
	// Members queries the members and their roles as they are now. It must be cheap enough for a running measurement.
	Members(ctx context.Context) ([]record.LabMember, error)
	// Actions are the actions of the table that the platform has.
	Actions() []*fault.Action
	// Fault prepares a fault. A platform that can revert a fault by itself does so after limit, even if this process has
	// ended; 0 is [DefaultLimit].
	Fault(f spec.Fault, limit time.Duration) (Injector, error)
}

// Injector injects one fault once. Its methods are called one after the other. Each returns all that is known of the
// fault by then.
type Injector interface {
	// Inject returns when the fault is in effect, or at the end of a planned event. If it fails, nothing is left to heal.
	// An event that fails after its begin was injected all the same.
	Inject(ctx context.Context) (Injection, error)
	// Verify polls until a witness other than the injector has seen an effect, or ctx ends. It may be called while the
	// load runs, and again after the fault is reverted. An error means that the witness could not be polled.
	Verify(ctx context.Context) (Injection, error)
	// Heal reverts the fault, or removes what an event left behind, and returns when that is done. A fault that is healed
	// already, by its time limit or by a person, is no error.
	Heal(ctx context.Context) (Injection, error)
}

// Injection is what is known of one fault, from its injection to its healing. Times have the monotonic clock of this
// process, and are zero before they are reached.
type Injection struct {
	// Requested is when the platform was requested to inject the fault, Effective when it answered that it is in effect.
	Requested, Effective time.Time
	Healed               time.Time
	// Target is the host, member or disk to which the target of the request was resolved.
	Target string
	// Mode is the failure mode that clients see on this kind of host.
	Mode string
	// TakesDown says that a member is down or unreachable while the fault lasts, and Unseats that a primary loses its
	// role.
	TakesDown, Unseats bool
	// Lasts says that the fault is in place until it is healed.
	Lasts bool
	// ID is the platform's number of the fault; 0 if it has none.
	ID int
	// Hit says that a witness saw an effect, and Evidence what it saw. Seen is when, zero if that is not known. Disputed
	// says that the injector and the witnesses contradict each other.
	Hit, Disputed bool
	Evidence      string
	Seen          time.Time
	// Commands are the commands of the user that were run for the fault, in the order of their start.
	Commands []Command
	// Members are the members that a planned event concerns; empty if they are those on the target. Figures are what the
	// event measured of itself.
	Members []string
	Figures []record.EventFigure
}

// Command is one run of a command of the user, or one request to the API of a platform.
type Command struct {
	// Step is "inject", "heal" or "witness".
	Step string
	// Text is the command as a person would type it, without credentials.
	Text            string
	Asked, Returned time.Time
	// Exit is the exit code; -1 if the command did not start or was ended by a signal. A request has 0 if it succeeded.
	Exit    int
	Request bool
	// Output is the bounded output, and Problem says why there is no exit code. Both have no credentials.
	Output, Problem string
}

// Injected says whether the fault was in effect at some time.
func (i Injection) Injected() bool { return !i.Effective.IsZero() }

// DefaultLimit is the time after which a lab reverts a fault by itself, unless another limit is given.
const DefaultLimit = 10 * time.Minute

// ErrNotALab says that a fault was requested for a target that is neither a lab nor described by a platform file.
var ErrNotALab = errors.New("the target is not a lab, and no commands are given for it")
