package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/action"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/record"
)

// heal undoes faults, all of those that are meant at once, and returns those that it undid. It goes on when who asked
// does not wait any more.
func (s *supervisor) heal(what Healing) ([]record.LabFault, error) {
	meant, err := s.meant(what)
	if err != nil {
		if n := s.deadMember(what); n != nil { // it ended without a fault
			return s.revive([]engine.Node{n})
		}
		return nil, err
	}
	errs := make([]error, len(meant))
	var all sync.WaitGroup
	for i, x := range meant {
		all.Go(func() { errs[i] = s.healOne(x, false) })
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
	revived, err := s.revive(s.deadMembers())
	return append(done, revived...), errors.Join(append(errs, err)...)
}

// deadMember is the member that a healing names, if it has ended and no fault is the reason.
func (s *supervisor) deadMember(what Healing) engine.Node {
	for _, n := range s.deadMembers() {
		if presentName(what.Target) == n.Name() {
			return n
		}
	}
	return nil
}

// deadMembers are those that do not run although their host has power and no fault keeps them down.
func (s *supervisor) deadMembers() []engine.Node {
	cluster := s.running()
	if cluster == nil {
		return nil
	}
	var dead []engine.Node
	for _, n := range cluster.Nodes() {
		if !n.Status().Running && n.Host().State() == host.On && !s.endedByFault(n.Name()) {
			dead = append(dead, n)
		}
	}
	return dead
}

// Ended is the action of what heals when a member had ended without a fault and was started again.
const Ended = "ended"

// revive starts members that ended without a fault, at once, and returns those that run again.
func (s *supervisor) revive(dead []engine.Node) ([]record.LabFault, error) {
	ctx, cancel := context.WithTimeoutCause(s.ctx, healLimit, fmt.Errorf("it took longer than %v", healLimit))
	defer cancel()
	errs := make([]error, len(dead))
	began := time.Now().UTC()
	var all sync.WaitGroup
	for i, n := range dead {
		all.Go(func() {
			defer s.locks.lock("member/" + n.Name())()
			if !n.Status().Running && s.needsMount(ctx, n.Name()) {
				errs[i] = s.remount(ctx, n.Name())
			}
			if errs[i] == nil {
				errs[i] = s.giveBack(n.Name())
			}
		})
	}
	all.Wait()
	done := []record.LabFault{}
	for i, n := range dead {
		if errs[i] == nil {
			done = append(done, record.LabFault{Action: Ended, Target: n.Name(), Since: began})
			s.event("heal", n.Name()+" had ended and was started again", map[string]string{"action": Ended, "target": n.Name(),
				"began": began.Format(time.RFC3339Nano)})
		}
	}
	return done, errors.Join(errs...)
}

// needsMount says whether the filesystem of a member has gone or has given up.
func (s *supervisor) needsMount(ctx context.Context, member string) bool {
	s.mu.Lock()
	v, unmounted := s.volumes[member], s.unmounted[member]
	s.mu.Unlock()
	return v != nil && (unmounted || gaveUp(ctx, v))
}

// meant finds the faults that are to be healed.
func (s *supervisor) meant(what Healing) ([]*fault, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*fault
	target := presentName(what.Target)
	for _, x := range s.faults {
		byTarget := target != "" && (x.Target == target || x.asked == target || x.job.Node == nil && x.job.Volume == nil && x.job.Host.Name() == target)
		if what.All || what.ID != 0 && x.ID == what.ID || byTarget {
			found = append(found, x)
		}
	}
	if len(found) > 0 || what.All {
		return found, nil
	}
	if len(s.faults) == 0 {
		return nil, refuse("nothing is broken in this lab")
	}
	var list string
	for _, x := range s.faults {
		list += fmt.Sprintf("\n  %d  %s %s", x.ID, x.Action, x.Target)
	}
	if what.ID != 0 {
		return nil, refuse("there is no fault %d; these are in place:%s", what.ID, list)
	}
	return nil, refuse("nothing is broken on %q; these faults are in place:%s", what.Target, list)
}

// healLater heals a fault whose time is over.
func (s *supervisor) healLater(x *fault) {
	if s.ctx.Err() != nil {
		return
	}
	if err := s.healOne(x, true); err != nil {
		s.event("problem", fmt.Sprintf("fault %d (%s %s) could not be healed: %v", x.ID, x.Action, x.Target, err), nil)
	}
}

// healOne undoes one fault, which is byItself when its time is over. Two who want that at once get the same result.
func (s *supervisor) healOne(x *fault, byItself bool) error {
	ctx, cancel := context.WithTimeoutCause(s.ctx, healLimit, fmt.Errorf("it took longer than %v", healLimit))
	defer cancel()
	keys := keys(x.job)
	if x.job.Action.Fate == action.NoPower {
		for _, m := range s.standingOn(x.job.Host) {
			keys = append(keys, "member/"+m)
		}
	}
	defer s.locks.lock(keys...)()
	if !s.listed(x) {
		return nil
	}
	began := time.Now().UTC()
	if err := x.job.Action.Undo(ctx, x.job); err != nil {
		return fmt.Errorf("cannot heal %s %s: %w", x.Action, x.Target, err)
	}
	s.delist(x)
	text, data := x.told(began)
	if byItself {
		text, data["by"] = text+" is healed, because its time is over", "limit"
	} else {
		text, data["by"] = text+" is healed", "request"
	}
	s.event("heal", text, data)
	return nil
}

// told is a fault in words and as the data of an event about its end, which began at a time.
func (x *fault) told(began time.Time) (string, map[string]string) {
	data := map[string]string{"action": x.Action, "target": x.Target, "id": strconv.Itoa(x.ID), "began": began.Format(time.RFC3339Nano)}
	if x.From == "" {
		return x.Action + " " + x.Target, data
	}
	data["from"] = x.From
	return x.Action + " " + x.Target + " from " + x.From, data
}

func (s *supervisor) listed(x *fault) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.faults, x)
}

func (s *supervisor) delist(x *fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = slices.DeleteFunc(s.faults, func(f *fault) bool { return f == x })
	if x.timer != nil {
		x.timer.Stop()
	}
}

// powerOn gives a host and its disks power again and starts the members that still stand on it.
func (s *supervisor) powerOn(ctx context.Context, h host.Host) error {
	if err := h.PowerOn(ctx); err != nil && h.State() != host.On {
		return err
	}
	if err := s.builder.diskPower(ctx, h.Name(), true); err != nil {
		return fmt.Errorf("its disks: %w", err)
	}
	members := s.standingOn(h)
	errs := make([]error, len(members))
	var all sync.WaitGroup
	for i, m := range members {
		if s.endedByFault(m) {
			continue // it was killed by a fault of its own, which is still there
		}
		all.Go(func() {
			if errs[i] = s.remount(ctx, m); errs[i] == nil {
				errs[i] = s.giveBack(m)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// endedByFault says whether a fault of its own keeps a member down.
func (s *supervisor) endedByFault(member string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.faults, func(f *fault) bool {
		return f.job.Node != nil && f.job.Node.Name() == member && f.job.Action.Fate == action.End
	})
}

// remount mounts the volume of a member again, whose disks lost power under it.
func (s *supervisor) remount(ctx context.Context, member string) error {
	s.mu.Lock()
	v := s.volumes[member]
	s.mu.Unlock()
	if v == nil || len(v.Devices()) == 0 {
		return nil
	}
	if err := v.Remount(ctx); err != nil {
		return fmt.Errorf("the volume of %s: %w", member, err)
	}
	s.mu.Lock()
	delete(s.unmounted, member)
	s.mu.Unlock()
	return nil
}

// giveBack lets a member that does not run join again.
func (s *supervisor) giveBack(member string) error {
	cluster := s.running()
	if cluster == nil {
		return errors.New("the lab is not up")
	}
	if n, ok := cluster.Node(member); ok && n.Status().Running {
		s.returned(member)
		return nil
	}
	// The time for healing does not bound it: one that copies its data again takes as long as that takes, and a cluster gives
	// a member up that makes no progress.
	if err := cluster.Return(s.ctx, member); err != nil {
		return fmt.Errorf("%s did not come back: %w", member, err)
	}
	s.returned(member)
	return nil
}
