package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/lab/volume"
	"github.com/plimsoll-bench/plimsoll/record"
)

// storage are the volumes of a lab, and what became of their filesystems.
type storage struct {
	*core
	builder   builder
	inventory *inventory
	roster    *roster
	inPlace   *inPlace

	mu      sync.Mutex
	volumes map[string]volume.Volume // by member
	// unmounted are the members whose filesystem went with the power of their host.
	unmounted map[string]bool
	// healed is when the last fault of the disks of a member's volume ended.
	healed map[string]time.Time
}

func newStorage(c *core, b builder, v *inventory, r *roster, p *inPlace) *storage {
	return &storage{core: c, builder: b, inventory: v, roster: r, inPlace: p,
		volumes: map[string]volume.Volume{}, unmounted: map[string]bool{}, healed: map[string]time.Time{}}
}

// of is the volume of a member; nil if it has none.
func (s *storage) of(member string) volume.Volume {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.volumes[member]
}

// all are the volumes by member.
func (s *storage) all() map[string]volume.Volume {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.volumes)
}

// make makes the storage of a member, or finds it, and says where it is.
func (s *storage) make(ctx context.Context, member string) (dir string, err error) {
	defer s.locks.lock("volume/" + member)()
	v := s.of(member)
	if v != nil {
		return v.Dir(), nil
	}
	if v, err = s.builder.volume(ctx, member, diskGroups(s.inventory.layout(), member)); err != nil {
		return "", err
	}
	s.mu.Lock()
	s.volumes[member] = v
	s.mu.Unlock()
	return v.Dir(), nil
}

// disksWork brings back what stands on a volume whose disks work again, if it had given up.
func (s *storage) disksWork(ctx context.Context, volume string) error {
	s.mu.Lock()
	s.healed[volume] = time.Now()
	s.mu.Unlock()
	return s.recover(ctx, volume)
}

// answerLimit is how long a filesystem that is silent may take before its member is ended for that: its disks work,
// so it answers as soon as the machine has the time.
const answerLimit = 30 * time.Second

// gaveUp says whether the filesystem of a volume is gone, can only be read, or cannot be read; one that is only slow
// has not given up.
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
func (s *storage) recover(ctx context.Context, member string) error {
	defer s.locks.lock("member/" + member)()
	cluster, v := s.inventory.running(), s.of(member)
	if cluster == nil || v == nil {
		return nil
	}
	n, ok := cluster.Node(member)
	if !ok || n.Host().State() == host.Off || s.inPlace.keepsDown(member) {
		return nil
	}
	failed := gaveUp(ctx, v)
	if n.Status().Running && !failed {
		return nil
	}
	if failed {
		s.roster.ends([]string{member}, "its filesystem has given up and is mounted again")
		if err := n.Kill(); err != nil {
			return err
		}
		if err := s.remount(ctx, member); err != nil {
			return err
		}
	}
	return s.roster.giveBack(member)
}

// remount mounts the volume of a member again, whose disks lost power under it.
func (s *storage) remount(ctx context.Context, member string) error {
	v := s.of(member)
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

// needsMount says whether the filesystem of a member has gone or has given up.
func (s *storage) needsMount(ctx context.Context, member string) bool {
	s.mu.Lock()
	v, unmounted := s.volumes[member], s.unmounted[member]
	s.mu.Unlock()
	return v != nil && (unmounted || gaveUp(ctx, v))
}

// reachable makes the volume of a member usable again, if enough of its disks answer.
func (s *storage) reachable(ctx context.Context, member string) error {
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
		return fmt.Errorf("its volume cannot be reached, because too many of its disks are on hosts without power (%s); "+
			"a policy that tolerates a failure keeps it", d.Detail)
	}
	return s.remount(ctx, member)
}

// stillLimit is how long the processes of a host may take to stop before its power is cut.
const stillLimit = time.Second

// losePower takes the power of a host away with all that was not flushed. Its processes stop first, so that no client
// is told of errors of disks, then the disks die, and only then the processes: a filesystem that writes back what it
// has in memory must not reach them.
func (s *storage) losePower(ctx context.Context, h host.Host, members []string, cut faultfs.PowerCut) error {
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

// repairLimit bounds the repair of one volume: all of its data may have to be read and written, on slow disks.
const repairLimit = time.Hour

// repair makes a volume whole again. A fault of a disk that was replaced has ended with it.
func (s *storage) repair(name string) (string, error) {
	volumes := s.all()
	name = presentName(name)
	v := volumes[name]
	if v == nil {
		return "", refuse("there is no volume %q%s", name, amongst(name, slices.Collect(maps.Keys(volumes))))
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
func (s *storage) endWithDisks(volume string, before, after []record.LabDisk) {
	replaced := map[string]bool{}
	for i, d := range after {
		if d.State == "ok" && i < len(before) && before[i].State != "ok" {
			replaced[d.Name] = true
		}
	}
	for _, x := range s.inPlace.replaced(volume, replaced) {
		text, data := x.told(time.Now().UTC())
		data["by"] = "replacement"
		s.event("heal", text+" has ended, because the disk was replaced", data)
	}
}
