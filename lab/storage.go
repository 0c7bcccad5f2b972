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

// storage has the volumes of a lab and the states of their filesystems.
type storage struct {
	*core
	builder   builder
	inventory *inventory
	roster    *roster
	inPlace   *inPlace

	mu      sync.Mutex
	volumes map[string]volume.Volume // by member
	// unmounted are the members whose filesystem was lost with the power of their host.
	unmounted map[string]bool
	// healed is when the last fault of a volume's disks was healed, by member.
	healed map[string]time.Time
}

func newStorage(c *core, b builder, v *inventory, r *roster, p *inPlace) *storage {
	return &storage{core: c, builder: b, inventory: v, roster: r, inPlace: p,
		volumes: map[string]volume.Volume{}, unmounted: map[string]bool{}, healed: map[string]time.Time{}}
}

// of returns the volume of a member; nil if it has none.
func (s *storage) of(member string) volume.Volume {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.volumes[member]
}

func (s *storage) all() map[string]volume.Volume {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.volumes)
}

// make makes the volume of a member, unless it exists, and returns its directory.
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

// disksWork is called when the disks of a volume work again. It remounts a failed filesystem and restarts its member.
func (s *storage) disksWork(ctx context.Context, volume string) error {
	s.mu.Lock()
	s.healed[volume] = time.Now()
	s.mu.Unlock()
	return s.recover(ctx, volume)
}

// answerLimit is how long a filesystem on working disks may take to answer before it counts as failed. A busy machine
// may delay the answer.
const answerLimit = 30 * time.Second

// hasFailed says whether the filesystem of a volume is missing, read-only or not readable. A slow one has not failed.
func hasFailed(ctx context.Context, v volume.Volume) bool {
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

// recover restarts a member whose filesystem failed because of its disks, or that ended because of them.
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
	failed := hasFailed(ctx, v)
	if n.Status().Running && !failed {
		return nil
	}
	if failed {
		s.roster.endOnPurpose([]string{member}, "its filesystem failed and is being remounted")
		if err := n.Kill(); err != nil {
			return err
		}
		if err := s.remount(ctx, member); err != nil {
			return err
		}
	}
	return s.roster.rejoin(member)
}

// remount mounts the volume of a member again after its disks failed or lost power.
func (s *storage) remount(ctx context.Context, member string) error {
	v := s.of(member)
	if v == nil || len(v.Devices()) == 0 {
		return nil
	}
	if err := v.Remount(ctx); err != nil {
		return fmt.Errorf("cannot remount the volume of %s: %w", member, err)
	}
	s.mu.Lock()
	delete(s.unmounted, member)
	s.mu.Unlock()
	return nil
}

func (s *storage) needsMount(ctx context.Context, member string) bool {
	s.mu.Lock()
	v, unmounted := s.volumes[member], s.unmounted[member]
	s.mu.Unlock()
	return v != nil && (unmounted || hasFailed(ctx, v))
}

// reachable remounts the volume of a member, if enough of its disks answer.
func (s *storage) reachable(ctx context.Context, member string) error {
	s.mu.Lock()
	v, unmounted := s.volumes[member], s.unmounted[member]
	s.mu.Unlock()
	if v == nil {
		return nil
	}
	if unmounted { // mounting shows whether enough disks answer
		return s.remount(ctx, member)
	}
	if d := v.Describe(ctx, true); d.Health == "failed" {
		return fmt.Errorf("its volume is not available, because too many of its disks are on hosts without power (%s). "+
			"Use a storage policy that tolerates a host failure", d.Detail)
	}
	return s.remount(ctx, member)
}

// pauseLimit is how long the processes of a host may take to pause before its power is cut.
const pauseLimit = time.Second

// losePower takes the power of a host away and discards all writes that were not flushed. First the processes are
// paused, so that no client sees errors of disks. Then the disks fail, and only then the processes are killed, because
// the dirty pages of a filesystem must not reach the disks.
func (s *storage) losePower(ctx context.Context, h host.Host, members []string, cut faultfs.PowerCut) error {
	pausing, cancel := context.WithTimeout(ctx, pauseLimit)
	_ = h.Pause(pausing) // a process that waits for a disk cannot be paused, but does not answer clients either
	cancel()
	err := s.builder.losePower(ctx, h.Name(), members, cut, func() error { return h.PowerOff(ctx) })
	if err != nil {
		return fmt.Errorf("cannot complete the power loss: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range members {
		s.unmounted[m] = true
	}
	return nil
}

// repairLimit bounds the repair of one volume. It may read and write all data of the volume, on slow disks.
const repairLimit = time.Hour

// repair rebuilds a volume. Faults of disks that it replaces end.
func (s *storage) repair(name string) (string, error) {
	volumes := s.all()
	v := volumes[name]
	if v == nil {
		return "", refuse("there is no volume %q%s", name, suggestions(name, slices.Collect(maps.Keys(volumes))))
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
		s.event("volume", fmt.Sprintf("cannot repair the volume %s: %v", name, err), data)
		return "", err
	}
	s.event("volume", "the volume "+name+" is repaired: "+text, data)
	s.endFaultsOfReplaced(name, before.Disks, v.Describe(s.ctx, false).Disks)
	return text, nil
}

// endFaultsOfReplaced drops the faults of replaced disks, which did not answer before the repair and do now.
func (s *storage) endFaultsOfReplaced(volume string, before, after []record.LabDisk) {
	replaced := map[string]bool{}
	for i, d := range after {
		if d.State == "ok" && i < len(before) && before[i].State != "ok" {
			replaced[d.Name] = true
		}
	}
	for _, x := range s.inPlace.replaceDisks(volume, replaced) {
		text, data := x.event(time.Now().UTC())
		data["by"] = "replacement"
		s.event("heal", text+" has ended because the disk was replaced", data)
	}
}
