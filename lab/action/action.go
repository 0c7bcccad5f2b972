// Package action is how a lab does the actions of package fault: apply, undo and witness of each.
//
// The supervisor (package lab) knows which faults are in place, and until when. Package platform decides how long it
// polls a witness, and package drill judges lost writes.
package action

import (
	"context"

	"github.com/plimsoll-bench/plimsoll/fault"
)

// Action is an action of the catalogue, with what a lab needs to apply, undo and prove it.
type Action struct {
	*fault.Action
	// Suits checks the target in this lab, beyond On and Needs; may be nil.
	Suits func(j *Job) error
	// Apply returns when the fault is in effect; that of an event returns at its end. If it fails and did not refuse, a
	// part may be in effect, and the lab calls Undo.
	Apply func(ctx context.Context, j *Job) error
	// Undo heals the fault, or what Apply did of it, and returns when that is done; nil for an action that does not last.
	Undo func(ctx context.Context, j *Job) error
	// Witness polls once for an effect that something other than the lab's supervisor sees. It returns no evidence and no
	// error if there is no effect yet.
	Witness func(ctx context.Context, s *Scene) (evidence string, err error)
}

// Find returns the action of a name; nil if a lab does not do it.
func Find(name string) *Action { return byName[name] }

var byName = func() map[string]*Action {
	all := map[string]*Action{
		fault.PowerOff: &powerOff, fault.PowerLoss: &powerLoss, fault.Cut: &cut, fault.Slow: &slow, fault.Throttle: &throttle,
		fault.Pause: &pause,
		fault.Kill:  &kill, fault.KillPatroni: &killPatroni, fault.Stop: &stop, fault.StepDown: &stepDown,
		fault.InitialSync: &initialSync, fault.RemoveMember: &removeMember, fault.Backup: &backup, fault.DiskFail: &diskFail,
	}
	for _, name := range []string{fault.DiskError, fault.DiskFull, fault.DiskSlow, fault.DiskHang, fault.DiskCorrupt,
		fault.DiskTorn, fault.DiskLie} {
		all[name] = &diskFault
	}
	for name, a := range all {
		one := *a
		one.Action = fault.Find(name)
		all[name] = &one
	}
	return all
}()
