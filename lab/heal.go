package lab

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/action"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/record"
)

// heal undoes faults, all of those that are meant at once, and returns those that it undid. It goes on when who asked
// does not wait any more.
func (b *breaker) heal(what Healing) ([]record.LabFault, error) {
	meant, err := b.inPlace.meant(what)
	if err != nil {
		if n := b.deadMember(what); n != nil { // it ended without a fault
			return b.revive([]engine.Node{n})
		}
		return nil, err
	}
	errs := make([]error, len(meant))
	var all sync.WaitGroup
	for i, x := range meant {
		all.Go(func() { errs[i] = b.healOne(x, false) })
	}
	all.Wait()
	done := []record.LabFault{}
	for i, x := range meant {
		if errs[i] == nil {
			done = append(done, x.LabFault)
		}
	}
	if !what.All {
		return done, errors.Join(errs...)
	}
	revived, err := b.revive(b.deadMembers())
	return append(done, revived...), errors.Join(append(errs, err)...)
}

// deadMember is the member that a healing names, if it has ended and no fault is the reason.
func (b *breaker) deadMember(what Healing) engine.Node {
	for _, n := range b.deadMembers() {
		if presentName(what.Target) == n.Name() {
			return n
		}
	}
	return nil
}

// deadMembers are those that do not run although their host has power and no fault keeps them down.
func (b *breaker) deadMembers() []engine.Node {
	cluster := b.inventory.running()
	if cluster == nil {
		return nil
	}
	var dead []engine.Node
	for _, n := range cluster.Nodes() {
		if !n.Status().Running && n.Host().State() == host.On && !b.inPlace.keepsDown(n.Name()) {
			dead = append(dead, n)
		}
	}
	return dead
}

// Ended is the action of what heals when a member had ended without a fault and was started again.
const Ended = "ended"

// revive starts members that ended without a fault, at once, and returns those that run again.
func (b *breaker) revive(dead []engine.Node) ([]record.LabFault, error) {
	ctx, cancel := context.WithTimeoutCause(b.ctx, healLimit, fmt.Errorf("it took longer than %v", healLimit))
	defer cancel()
	errs := make([]error, len(dead))
	began := time.Now().UTC()
	var all sync.WaitGroup
	for i, n := range dead {
		all.Go(func() {
			defer b.locks.lock("member/" + n.Name())()
			if !n.Status().Running && b.storage.needsMount(ctx, n.Name()) {
				errs[i] = b.storage.remount(ctx, n.Name())
			}
			if errs[i] == nil {
				errs[i] = b.roster.giveBack(n.Name())
			}
		})
	}
	all.Wait()
	done := []record.LabFault{}
	for i, n := range dead {
		if errs[i] == nil {
			done = append(done, record.LabFault{Action: Ended, Target: n.Name(), Since: began})
			b.event("heal", n.Name()+" had ended and was started again", map[string]string{"action": Ended, "target": n.Name(),
				"began": began.Format(time.RFC3339Nano)})
		}
	}
	return done, errors.Join(errs...)
}

// healLater heals a fault whose time is over.
func (b *breaker) healLater(x *fault) {
	if b.ctx.Err() != nil {
		return
	}
	if err := b.healOne(x, true); err != nil {
		b.event("problem", fmt.Sprintf("fault %d (%s %s) could not be healed: %v", x.ID, x.Action, x.Target, err), nil)
	}
}

// healOne undoes one fault, which is byItself when its time is over. Two who want that at once get the same result.
func (b *breaker) healOne(x *fault, byItself bool) error {
	ctx, cancel := context.WithTimeoutCause(b.ctx, healLimit, fmt.Errorf("it took longer than %v", healLimit))
	defer cancel()
	keys := keys(x.job)
	if x.job.Action.Fate == action.NoPower {
		for _, m := range b.inventory.standingOn(x.job.Host) {
			keys = append(keys, "member/"+m)
		}
	}
	defer b.locks.lock(keys...)()
	if !b.inPlace.has(x) {
		return nil
	}
	began := time.Now().UTC()
	if err := x.job.Action.Undo(ctx, x.job); err != nil {
		return fmt.Errorf("cannot heal %s %s: %w", x.Action, x.Target, err)
	}
	b.inPlace.remove(x)
	text, data := x.told(began)
	if byItself {
		text, data["by"] = text+" is healed, because its time is over", "limit"
	} else {
		text, data["by"] = text+" is healed", "request"
	}
	b.event("heal", text, data)
	return nil
}

// PowerOn gives a host and its disks power again and starts the members that still stand on it.
func (b *breaker) PowerOn(ctx context.Context, h host.Host) error {
	if err := h.PowerOn(ctx); err != nil && h.State() != host.On {
		return err
	}
	if err := b.builder.diskPower(ctx, h.Name(), true); err != nil {
		return fmt.Errorf("its disks: %w", err)
	}
	members := b.inventory.standingOn(h)
	errs := make([]error, len(members))
	var all sync.WaitGroup
	for i, m := range members {
		if b.inPlace.keepsDown(m) {
			continue // it was killed by a fault of its own, which is still there
		}
		all.Go(func() {
			if errs[i] = b.storage.remount(ctx, m); errs[i] == nil {
				errs[i] = b.roster.giveBack(m)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// calm clears all faults of disks before a lab is removed: a process that waits for a disk cannot be killed.
func (b *breaker) calm(ctx context.Context) {
	for _, x := range b.inPlace.all(anyFault) {
		x.job.Calm(ctx)
	}
}
