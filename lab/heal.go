package lab

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/record"
)

// heal heals all requested faults at the same time and returns those that it healed. It continues without the client.
func (b *injector) heal(what Healing) ([]record.LabFault, error) {
	requested, err := b.inPlace.find(what)
	if err != nil {
		for _, n := range b.deadMembers() { // one that ended without a fault
			if what.Target == n.Name() {
				return b.revive([]engine.Node{n})
			}
		}
		return nil, err
	}
	err = wait.Each(requested, func(x *injected) error { return b.healOne(x, "request") })
	done := []record.LabFault{}
	for _, x := range requested {
		if !b.inPlace.has(x) {
			done = append(done, x.LabFault)
		}
	}
	if !what.All {
		return done, err
	}
	revived, reviving := b.revive(b.deadMembers())
	return append(done, revived...), errors.Join(err, reviving)
}

// deadMembers are the members that do not run although their host has power and no fault keeps them down.
func (b *injector) deadMembers() []engine.Node {
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

// Ended is the action of a healing that restarted a member that had ended without a fault.
const Ended = "ended"

// revive restarts members that ended without a fault, all at the same time, and returns those that run again.
func (b *injector) revive(dead []engine.Node) ([]record.LabFault, error) {
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
				errs[i] = b.roster.rejoin(n.Name())
			}
		})
	}
	all.Wait()
	done := []record.LabFault{}
	for i, n := range dead {
		if errs[i] == nil {
			done = append(done, record.LabFault{Action: Ended, Target: n.Name(), Since: began})
			b.event("heal", n.Name()+" had ended and was restarted", map[string]string{"action": Ended, "target": n.Name(),
				"began": began.Format(time.RFC3339Nano)})
		}
	}
	return done, errors.Join(errs...)
}

// reverted is the end of the text of an event by what caused a healing.
var reverted = map[string]string{
	"request": " is reverted",
	"limit":   " is reverted because its time limit expired",
	"failure": " is reverted because it was not injected as a whole",
}

// healLater heals a fault without a request. by is a key of [reverted].
func (b *injector) healLater(x *injected, by string) {
	if b.ctx.Err() != nil {
		return
	}
	if err := b.healOne(x, by); err != nil {
		b.event("problem", fmt.Sprintf("cannot revert fault %d (%s %s): %v", x.ID, x.Action, x.Target, err), nil)
	}
}

// healOne heals one fault. Two calls at the same time get the same result. by is a key of [reverted].
func (b *injector) healOne(x *injected, by string) error {
	ctx, cancel := context.WithTimeoutCause(b.ctx, healLimit, fmt.Errorf("it took longer than %v", healLimit))
	defer cancel()
	keys := keys(x.job)
	if x.job.Action.Fate == fault.NoPower {
		for _, m := range b.inventory.membersOn(x.job.Host) {
			keys = append(keys, "member/"+m)
		}
	}
	defer b.locks.lock(keys...)()
	if !b.inPlace.has(x) {
		return nil
	}
	began := time.Now().UTC()
	if err := x.job.Action.Undo(ctx, x.job); err != nil {
		return fmt.Errorf("cannot revert %s %s: %w", x.Action, x.Target, err)
	}
	b.inPlace.remove(x)
	text, data := x.event(began)
	data["by"] = by
	b.event("heal", text+reverted[by], data)
	return nil
}

// PowerOn gives a host and its disks power and restarts the members on it.
func (b *injector) PowerOn(ctx context.Context, h host.Host) error {
	if err := h.PowerOn(ctx); err != nil && h.State() != host.On {
		return err
	}
	if err := b.builder.diskPower(ctx, h.Name(), true); err != nil {
		return fmt.Errorf("cannot give its disks power: %w", err)
	}
	return wait.Each(b.inventory.membersOn(h), func(m string) error {
		if b.inPlace.keepsDown(m) {
			return nil
		}
		if err := b.storage.remount(ctx, m); err != nil {
			return err
		}
		return b.roster.rejoin(m)
	})
}

// clearDisks clears all faults of disks before a lab is removed: a process that waits for a disk cannot be killed.
func (b *injector) clearDisks(ctx context.Context) {
	for _, x := range b.inPlace.all(func(*injected) bool { return true }) {
		x.job.ClearDisks(ctx)
	}
}
