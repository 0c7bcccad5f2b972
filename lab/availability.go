package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/host"
)

// lost begins the count after which the members of a dead host are started elsewhere.
func (s *supervisor) lost(x *fault) {
	a := s.order.Spec.Availability
	if !a.Restart {
		return
	}
	time.AfterFunc(a.RestartAfter.Std(), func() {
		if s.ctx.Err() == nil && s.listed(x) {
			s.evacuate(x)
		}
	})
}

// retryAfter is the pause before a member that could not be started is tried again.
const retryAfter = 2 * time.Second

// evacuate starts the members of a dead host on others, with their volumes, as vSphere HA and Kubernetes do. They stay
// there when the host comes back. What cannot be started is tried again as long as the host is dead; why is told when
// it changes.
func (s *supervisor) evacuate(x *fault) {
	told := map[string]string{}
	for again := true; again; again = again && s.pause(retryAfter) {
		again = s.evacuateOnce(x, told)
	}
}

// evacuateOnce tries each member of a dead host once, and says whether some are left.
func (s *supervisor) evacuateOnce(x *fault, told map[string]string) (left bool) {
	defer s.locks.lock(keys(x.job)...)()
	if x.job.Host.State() != host.Off || !s.listed(x) {
		return false
	}
	for _, name := range s.standingOn(x.job.Host) {
		err := s.restartElsewhere(name, x.job.Host)
		if err == nil {
			continue
		}
		left = true
		if told[name] != err.Error() {
			told[name] = err.Error()
			s.event("problem", fmt.Sprintf("%s could not be started on another host, and is tried again: %v", name, err),
				map[string]string{"member": name, "host": x.job.Host.Name()})
		}
	}
	return left
}

func (s *supervisor) restartElsewhere(name string, dead host.Host) error {
	defer s.locks.lock("member/" + name)()
	cluster := s.running()
	if cluster == nil {
		return nil
	}
	n, ok := cluster.Node(name)
	if !ok || n.Host().Name() != dead.Name() || n.Status().Running {
		return nil
	}
	rooms := s.roomsFor(n, dead)
	if len(rooms) == 0 {
		return fmt.Errorf("no other host of the role %s has power", dead.Role())
	}
	ctx, cancel := context.WithTimeout(s.ctx, healLimit)
	defer cancel()
	if err := s.volumeReachable(ctx, name); err != nil {
		return err
	}
	var all error
	for _, to := range rooms {
		err := s.startOn(ctx, n, to, dead)
		if err == nil {
			s.dropFaultsOf(name)
			s.event("restart", fmt.Sprintf("%s was started on %s, because %s is dead", name, to.Name(), dead.Name()),
				map[string]string{"member": name, "host": to.Name(), "from": dead.Name()})
			return nil
		}
		all = errors.Join(all, fmt.Errorf("on %s: %w", to.Name(), err))
	}
	return all
}

// startOn moves a member and starts it. One that does not start stands on its old host again, so that it is tried again
// or comes back with that host.
func (s *supervisor) startOn(ctx context.Context, n engine.Node, to, old host.Host) error {
	if err := n.Move(to); err != nil {
		return err
	}
	err := s.giveBack(n.Name())
	if err == nil {
		return nil
	}
	if n.Status().Running { // half started
		err = errors.Join(err, n.Kill())
	}
	return errors.Join(err, n.Move(old))
}

// volumeReachable makes the volume of a member usable again, if enough of its disks answer.
func (s *supervisor) volumeReachable(ctx context.Context, member string) error {
	s.mu.Lock()
	v, unmounted := s.volumes[member], s.unmounted[member]
	s.mu.Unlock()
	if v == nil {
		return nil
	}
	if unmounted { // whether enough disks answer shows when it is mounted
		return s.remount(ctx, member)
	}
	if d := v.Describe(ctx, true); d.Health == "failed" {
		return fmt.Errorf("its volume cannot be reached, because too many of its disks are on hosts without power (%s); a policy that tolerates a failure keeps it", d.Detail)
	}
	return s.remount(ctx, member)
}

// roomsFor are the hosts that a member can be started on, the best first: of the same role, with power, with the fewest
// members of its set and then the fewest members at all.
func (s *supervisor) roomsFor(n engine.Node, dead host.Host) []host.Host {
	s.mu.Lock()
	layout := s.planned.Layout
	s.mu.Unlock()
	var rooms []host.Host
	weights := map[string]int{}
	for _, plan := range layout.Hosts {
		h := s.hostNamed(plan.Name)
		if h == nil || plan.Role != dead.Role() || h.State() != host.On || h.Name() == dead.Name() {
			continue
		}
		for _, other := range s.standingOn(h) {
			weights[h.Name()]++
			if s.setOf(other) == s.setOf(n.Name()) {
				weights[h.Name()] += 1000
			}
		}
		rooms = append(rooms, h)
	}
	slices.SortStableFunc(rooms, func(a, b host.Host) int { return weights[a.Name()] - weights[b.Name()] })
	return rooms
}

// dropFaultsOf forgets what had ended a member that runs again elsewhere.
func (s *supervisor) dropFaultsOf(member string) {
	s.mu.Lock()
	var gone []*fault
	for _, f := range s.faults {
		if f.job.Node != nil && f.job.Node.Name() == member {
			gone = append(gone, f)
		}
	}
	s.mu.Unlock()
	for _, f := range gone {
		s.delist(f)
	}
}
