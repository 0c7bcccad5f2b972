package lab

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// lookEvery is how often volumes are looked at while a disk or a host is broken, or one of them is not healthy: an
// array finds out about a dead disk when it uses it, which may be later than the fault.
const lookEvery = time.Second

// watch tells when the health of a volume changes, until the lab stops. While nothing is broken, or was until a
// moment ago, it asks nobody. Nobody waits for it: a volume whose disks hang may not answer before they are calmed.
func (s *storage) watch() {
	known := map[string]string{}
	for s.pause(lookEvery) {
		if s.inDoubt(known) {
			s.look(known)
			s.relapses(known)
		}
	}
}

// inDoubt says whether the health of a volume can have changed.
func (s *storage) inDoubt(known map[string]string) bool {
	for _, health := range known {
		if health != healthy {
			return true
		}
	}
	if s.inPlace.strikes("") { // before what was healed: a fault is off the list only after that
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range s.healed {
		if time.Since(at) < relapseLimit {
			return true
		}
	}
	return false
}

// healthy is the health of a volume that needs nothing.
const healthy = "healthy"

// look tells of each volume whose health is another one than before.
func (s *storage) look(known map[string]string) {
	ctx, cancel := context.WithTimeout(s.ctx, describeLimit)
	defer cancel()
	volumes := s.all()
	for _, name := range slices.Sorted(maps.Keys(volumes)) {
		d := volumes[name].Describe(ctx, false)
		before := known[name]
		if before == "" {
			before = healthy
		}
		if s.ctx.Err() != nil || d.Health == before {
			continue
		}
		known[name] = d.Health
		text := fmt.Sprintf("the volume %s is %s, after %s", name, d.Health, before)
		if d.Detail != "" && d.Health != healthy {
			text += ": " + d.Detail
		}
		s.event("volume", text, map[string]string{"volume": name, "health": d.Health, "before": before})
	}
}

// relapseLimit is how long after the end of a fault of its disks a volume is watched: a request that failed before that
// may come to the filesystem's notice only now, and make it give up.
const relapseLimit = 30 * time.Second

// relapses brings back the members whose filesystems gave up after the faults of their disks had ended.
func (s *storage) relapses(known map[string]string) {
	for name, health := range known {
		s.mu.Lock()
		recent := time.Since(s.healed[name]) < relapseLimit
		s.mu.Unlock()
		if health != "failed" || !recent || s.inPlace.strikes(name) {
			continue
		}
		ctx, cancel := context.WithTimeout(s.ctx, healLimit)
		err := s.recover(ctx, name)
		cancel()
		if err != nil && s.ctx.Err() == nil {
			s.event("problem", fmt.Sprintf("the volume %s has given up after its disks were healed, and %[1]s could not be brought back: %v",
				name, err), map[string]string{"volume": name})
		}
	}
}
