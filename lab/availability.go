package lab

import (
	"context"
	"fmt"
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

// evacuate starts the members of a dead host on others, with their volumes, as vSphere HA and Kubernetes do. They stay
// there when the host comes back.
func (s *supervisor) evacuate(x *fault) {
	defer s.locks.lock(x.keys()...)()
	if x.host.State() != host.Off {
		return
	}
	for _, name := range s.standingOn(x.host) {
		if err := s.restartElsewhere(name, x.host); err != nil {
			s.event("problem", fmt.Sprintf("%s could not be started on another host: %v", name, err), map[string]string{"member": name, "host": x.host.Name()})
		}
	}
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
	to := s.roomFor(n, dead)
	if to == nil {
		return fmt.Errorf("no other host of the role %s has power", dead.Role())
	}
	ctx, cancel := context.WithTimeout(s.ctx, healLimit)
	defer cancel()
	if err := s.volumeReachable(ctx, name); err != nil {
		return err
	}
	if err := n.Move(to); err != nil {
		return err
	}
	if err := s.giveBack(ctx, name); err != nil {
		return err
	}
	s.dropFaultsOf(name)
	s.event("restart", fmt.Sprintf("%s was started on %s, because %s is dead", name, to.Name(), dead.Name()),
		map[string]string{"member": name, "host": to.Name(), "from": dead.Name()})
	return nil
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

// roomFor chooses the host that a member is started on: of the same role, with power, with the fewest members of its
// set and then the fewest members at all.
func (s *supervisor) roomFor(n engine.Node, dead host.Host) host.Host {
	s.mu.Lock()
	layout := s.planned.Layout
	s.mu.Unlock()
	var best host.Host
	fewest := 0
	for _, plan := range layout.Hosts {
		h := s.hostNamed(plan.Name)
		if h == nil || plan.Role != dead.Role() || h.State() != host.On || h.Name() == dead.Name() {
			continue
		}
		weight := 0
		for _, other := range s.standingOn(h) {
			weight++
			if s.setOf(other) == s.setOf(n.Name()) {
				weight += 1000
			}
		}
		if best == nil || weight < fewest {
			best, fewest = h, weight
		}
	}
	return best
}

// dropFaultsOf forgets what had ended a member that runs again elsewhere.
func (s *supervisor) dropFaultsOf(member string) {
	s.mu.Lock()
	var gone []*fault
	for _, f := range s.faults {
		if f.node != nil && f.node.Name() == member {
			gone = append(gone, f)
		}
	}
	s.mu.Unlock()
	for _, f := range gone {
		s.delist(f)
	}
}
