package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/action"
	"github.com/plimsoll-bench/plimsoll/record"
)

// lookEvery is how often volumes are looked at while a disk or a host is broken, or one of them is not healthy: an array
// finds out about a dead disk when it uses it, which may be later than the fault.
const lookEvery = time.Second

// watchVolumes tells when the health of a volume changes, until the lab stops. While nothing is broken, or was
// until a moment ago, it asks nobody.
// Nobody waits for it: a volume whose disks hang may not answer before they are calmed.
func (s *supervisor) watchVolumes() {
	known := map[string]string{}
	for s.pause(lookEvery) {
		if s.volumesInDoubt(known) {
			s.lookAtVolumes(known)
			s.relapses(known)
		}
	}
}

// volumesInDoubt says whether the health of a volume can have changed.
func (s *supervisor) volumesInDoubt(known map[string]string) bool {
	for _, health := range known {
		if health != healthy {
			return true
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range s.healed {
		if time.Since(at) < relapseLimit {
			return true
		}
	}
	return slices.ContainsFunc(s.faults, func(x *fault) bool { return x.job.Volume != nil || x.job.Action.Fate == action.NoPower })
}

// healthy is the health of a volume that needs nothing.
const healthy = "healthy"

// lookAtVolumes tells of each volume whose health is another one than before.
func (s *supervisor) lookAtVolumes(known map[string]string) {
	ctx, cancel := context.WithTimeout(s.ctx, describeLimit)
	defer cancel()
	s.mu.Lock()
	volumes := maps.Clone(s.volumes)
	s.mu.Unlock()
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

// repairLimit bounds the repair of one volume: all of its data may have to be read and written, on slow disks.
const repairLimit = time.Hour

// repair makes a volume whole again. A fault of a disk that was replaced has ended with it.
func (s *supervisor) repair(name string) (string, error) {
	s.mu.Lock()
	v := s.volumes[presentName(name)]
	names := slices.Collect(maps.Keys(s.volumes))
	s.mu.Unlock()
	if v == nil {
		return "", refuse("there is no volume %q%s", name, amongst(name, names))
	}
	defer s.locks.lock("disks/" + name)()
	data := map[string]string{"volume": name}
	s.event("volume", "repairing the volume "+name, data)
	ctx, cancel := context.WithTimeoutCause(s.ctx, repairLimit, fmt.Errorf("it took longer than %v", repairLimit))
	defer cancel()
	before := v.Describe(ctx, false)
	text, err := v.Repair(ctx)
	if err != nil && ctx.Err() != nil && s.ctx.Err() == nil && !errors.Is(err, context.Cause(ctx)) {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	if err != nil {
		s.event("volume", fmt.Sprintf("the volume %s could not be repaired: %v", name, err), data)
		return "", err
	}
	s.event("volume", "the volume "+name+" is repaired: "+text, data)
	s.endWithDisks(name, before.Disks, v.Describe(s.ctx, false).Disks)
	return text, nil
}

// endWithDisks drops the faults of disks that were replaced: those that did not answer before and do now. One that is
// done to all disks of a volume ends with the last of them.
func (s *supervisor) endWithDisks(volume string, before, after []record.LabDisk) {
	replaced := map[string]bool{}
	for i, d := range after {
		if d.State == "ok" && i < len(before) && before[i].State != "ok" {
			replaced[d.Name] = true
		}
	}
	s.mu.Lock()
	var over []*fault
	for _, x := range s.faults {
		if x.job.Volume == nil || x.job.Volume.Name() != volume {
			continue
		}
		x.gone = append(x.gone, slices.DeleteFunc(slices.Clone(x.job.Disks), func(d string) bool { return !replaced[d] })...)
		if !slices.ContainsFunc(x.job.Disks, func(d string) bool { return !slices.Contains(x.gone, d) }) {
			over = append(over, x)
		}
	}
	s.mu.Unlock()
	for _, x := range over {
		s.delist(x)
		text, data := x.told(time.Now().UTC())
		data["by"] = "replacement"
		s.event("heal", text+" has ended, because the disk was replaced", data)
	}
}
