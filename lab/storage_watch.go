package lab

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// healthEvery is how often volumes are checked while a fault is in place or a volume is not healthy. An array detects a
// dead disk when it uses the disk, which may be later than the fault.
const healthEvery = time.Second

// watch writes an event when the health of a volume changes, until the lab stops. It checks nothing while there is no
// fault, and was none until a moment ago. The supervisor does not wait for its end, because a volume whose disks hang
// may not answer before their faults are cleared.
func (s *storage) watch() {
	known := map[string]string{}
	for s.pause(healthEvery) {
		if s.inDoubt(known) {
			s.checkHealth(known)
			s.recoverLateFailures(known)
		}
	}
}

// inDoubt says whether the health of a volume may have changed.
func (s *storage) inDoubt(known map[string]string) bool {
	for _, health := range known {
		if health != healthy {
			return true
		}
	}
	if s.inPlace.affects("") { // checked before healed, because a fault is removed only after healed is set
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range s.healed {
		if time.Since(at) < lateFailureLimit {
			return true
		}
	}
	return false
}

// healthy is the health of a volume that needs nothing.
const healthy = "healthy"

// checkHealth writes an event about each volume whose health has changed.
func (s *storage) checkHealth(known map[string]string) {
	ctx, cancel := context.WithTimeout(s.ctx, describeLimit)
	defer cancel()
	volumes := s.all()
	for _, name := range slices.Sorted(maps.Keys(volumes)) {
		d := volumes[name].Describe(ctx, false)
		before := cmp.Or(known[name], healthy)
		if s.ctx.Err() != nil || d.Health == before {
			continue
		}
		known[name] = d.Health
		text := fmt.Sprintf("the volume %s is %s (was %s)", name, d.Health, before)
		if d.Detail != "" && d.Health != healthy {
			text += ": " + d.Detail
		}
		s.event("volume", text, map[string]string{"volume": name, "health": d.Health, "before": before})
	}
}

// lateFailureLimit is how long a volume is watched after the faults of its disks were reverted. A filesystem may notice
// a request that failed before that only now, and fail.
const lateFailureLimit = 30 * time.Second

// recoverLateFailures restarts the members whose filesystems failed after the faults of their disks were reverted.
func (s *storage) recoverLateFailures(known map[string]string) {
	for name, health := range known {
		s.mu.Lock()
		recent := time.Since(s.healed[name]) < lateFailureLimit
		s.mu.Unlock()
		if health != "failed" || !recent || s.inPlace.affects(name) {
			continue
		}
		ctx, cancel := context.WithTimeout(s.ctx, healLimit)
		err := s.recover(ctx, name)
		cancel()
		if err != nil && s.ctx.Err() == nil {
			s.event("problem", fmt.Sprintf("the filesystem of the volume %s failed after the faults of its disks were reverted, "+
				"and the member cannot be restarted: %v", name, err), map[string]string{"volume": name})
		}
	}
}
