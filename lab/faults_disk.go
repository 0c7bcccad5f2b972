package lab

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/action"
	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/lab/volume"
)

// relapseLimit is how long after the end of a fault of its disks a volume is watched: a request that failed before that
// may come to the filesystem's notice only now, and make it give up.
const relapseLimit = 30 * time.Second

// relapses brings back the members whose filesystems gave up after the faults of their disks had ended.
func (s *supervisor) relapses(known map[string]string) {
	for name, health := range known {
		s.mu.Lock()
		recent := time.Since(s.healed[name]) < relapseLimit
		broken := slices.ContainsFunc(s.faults, func(x *fault) bool {
			return x.job.Action.Fate == action.NoPower || x.job.Volume != nil && x.job.Volume.Name() == name
		})
		s.mu.Unlock()
		if health != "failed" || !recent || broken {
			continue
		}
		ctx, cancel := context.WithTimeout(s.ctx, healLimit)
		err := s.recover(ctx, name)
		cancel()
		if err != nil && s.ctx.Err() == nil {
			s.event("problem", fmt.Sprintf("the volume %s has given up after its disks were healed, and %s could not be brought back: %v", name, name, err), map[string]string{"volume": name})
		}
	}
}

// answerLimit is how long a filesystem that is silent may take before its member is ended for that: its disks work, so it
// answers as soon as the machine has the time.
const answerLimit = 30 * time.Second

// gaveUp says whether the filesystem of a volume is gone, can only be read, or cannot be read; one that is only slow has not
// given up.
func gaveUp(ctx context.Context, v volume.Volume) bool {
	if v.Describe(ctx, false).Health != "failed" {
		return false
	}
	a, ok := v.(volume.Answering)
	if !ok {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	return !a.Answers(ctx) || v.Describe(ctx, false).Health == "failed"
}

// recover brings back a member whose filesystem gave up because of its disks, or that ended because of it.
func (s *supervisor) recover(ctx context.Context, member string) error {
	defer s.locks.lock("member/" + member)()
	cluster := s.running()
	s.mu.Lock()
	v := s.volumes[member]
	s.mu.Unlock()
	if cluster == nil || v == nil {
		return nil
	}
	n, ok := cluster.Node(member)
	if !ok || n.Host().State() == host.Off || s.endedByFault(member) {
		return nil
	}
	failed := gaveUp(ctx, v)
	if n.Status().Running && !failed {
		return nil
	}
	if failed {
		s.ends([]string{member}, "its filesystem has given up and is mounted again")
		if err := n.Kill(); err != nil {
			return err
		}
		if err := s.remount(ctx, member); err != nil {
			return err
		}
	}
	return s.giveBack(member)
}

// stillLimit is how long the processes of a host may take to stop before its power is cut.
const stillLimit = time.Second

// losePower takes the power of a host away with all that was not flushed. Its processes stop first, so that no client
// is told of errors of disks, then the disks die, and only then the processes: a filesystem that writes back what it
// has in memory must not reach them.
func (s *supervisor) losePower(ctx context.Context, h host.Host, members []string, cut faultfs.PowerCut) error {
	still, cancel := context.WithTimeout(ctx, stillLimit)
	_ = h.Pause(still) // what waits for a disk cannot stop, and does not answer anybody either
	cancel()
	err := s.builder.losePower(ctx, h.Name(), members, cut, func() error { return h.PowerOff(ctx) })
	if err != nil {
		return fmt.Errorf("after its power was cut: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range members {
		s.unmounted[m] = true
	}
	return nil
}

// calmDisks clears all faults of disks before a lab is removed: a process that waits for a disk cannot be killed.
func (s *supervisor) calmDisks(ctx context.Context) {
	s.mu.Lock()
	faults := slices.Clone(s.faults)
	s.mu.Unlock()
	for _, x := range faults {
		x.job.Calm(ctx)
	}
}
