package lab

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/lab/action"
	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/lab/topology"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// injector injects faults into a lab and heals them. For the actions it is the lab ([action.Site]).
type injector struct {
	*core
	lab          string // its name
	builder      builder
	inventory    *inventory
	roster       *roster
	storage      *storage
	availability *availability
	inPlace      *inPlace
}

// healLimit bounds the healing of one fault. A member may have to copy all its data.
const healLimit = 5 * time.Minute

// fail injects a fault and returns when it is in effect. The lab heals it after the limit; 0 is never. A fault that
// could not be injected as a whole is healed at once.
func (b *injector) fail(ctx context.Context, f spec.Fault, limit time.Duration) (record.LabFault, error) {
	if err := fault.Check(f); err != nil {
		return record.LabFault{}, err
	}
	if limit < 0 {
		return record.LabFault{}, refuse("the time limit of a fault cannot be negative: %v", limit)
	}
	if b.inventory.running() == nil {
		return record.LabFault{}, refuse("the lab is not up")
	}
	if a := fault.Find(f.Action.Name); !a.InLab() && a.Platform == "" {
		return record.LabFault{}, refuse("%s is an event of drills: plimsoll drill lab:%s --fault %s", a.Name, b.lab, f.Action)
	}
	x, err := b.prepare(ctx, f)
	if err != nil {
		return record.LabFault{}, err
	}
	defer b.locks.lock(keys(x.job)...)()
	if err := b.checkState(x); err != nil {
		return record.LabFault{}, err
	}
	x.Since = time.Now().UTC()
	if err := x.job.Action.Apply(ctx, x.job); err != nil {
		if errors.Is(err, host.ErrUnsupported) {
			return record.LabFault{}, refuse("%s", err)
		}
		err = fmt.Errorf("cannot %s %s: %w", x.Action, x.Target, err)
		if x.job.Action.Lasts && !errors.Is(err, ErrRefused) {
			b.revertFailed(x)
		}
		return record.LabFault{}, err
	}
	x.Figures = x.job.Figures
	b.register(x, limit)
	return x.LabFault, nil
}

// revertFailed heals a fault of which only a part may be in effect, as soon as its locks are free. Until then it is in
// place like any other.
func (b *injector) revertFailed(x *injected) {
	x.failed = true
	b.inPlace.add(x, time.Nanosecond, func(x *injected) { b.healLater(x, "failure") })
}

// prepare finds the target of a fault, and refuses an action that the target does not support.
func (b *injector) prepare(ctx context.Context, f spec.Fault) (*injected, error) {
	a := action.Find(f.Action.Name)
	if a == nil {
		return nil, refuse("%s is an action of %s only", f.Action.Name, fault.Find(f.Action.Name).Platform)
	}
	t, err := b.resolve(ctx, f.Action, a.On, f.Seed)
	if err != nil {
		return nil, err
	}
	j := &action.Job{Action: a, Fault: f, Target: t, Site: b}
	x := &injected{LabFault: record.LabFault{Action: a.Name, Target: t.Name()}, job: j,
		requested: f.Action.Target}
	switch server := t.Node == nil || t.Node.Kind() != topology.KindVolume; {
	case t.Volume != nil && a.On != fault.Disk:
		return nil, isADisk(f.Action)
	case a.On == fault.Member && t.Node == nil:
		return nil, refuse("%s needs a member, but %s is a host. Name one of its members (%s), or use %s for the whole host",
			a.Name, x.Target, strings.Join(b.inventory.membersOn(t.Host), ", "), fault.PowerOff)
	case a.On&fault.Member != 0 && !server:
		return nil, refuse("%s needs a server, but %s is a volume without one (engine: none). "+
			"Name one of its disks, or its host %s", a.Name, x.Target, t.Host.Name())
	}
	if f.From != "" {
		other, err := b.resolve(ctx, spec.Action{Target: f.From}, fault.Host, 0)
		if err != nil {
			return nil, err
		}
		j.Other, x.From = other.Host, other.Host.Name()
	}
	if a.Suits == nil {
		return x, nil
	}
	return x, a.Suits(j)
}

// keys are the names of the locks that are held while a fault is injected.
func keys(j *action.Job) []string {
	switch {
	case j.Volume != nil:
		return []string{"disks/" + j.Volume.Name()}
	case j.Node != nil:
		return []string{"member/" + j.Node.Name()}
	case j.Other != nil:
		return []string{"host/" + j.Host.Name(), "host/" + j.Other.Name()}
	}
	return []string{"host/" + j.Host.Name()}
}

// checkState refuses a fault that is not possible in the present state of its target.
func (b *injector) checkState(x *injected) error {
	j := x.job
	if j.Volume == nil && j.Host.State() == host.Off {
		return refuse("host %s has no power, so %s is not possible", j.Host.Name(), x.Action)
	}
	if j.Node != nil && !j.Node.Status().Running {
		return refuse("%s is not running, so %s is not possible", x.Target, x.Action)
	}
	for _, other := range b.inPlace.all(func(f *injected) bool { return f.job.Same(j) }) {
		text, _ := other.event(other.Since)
		return refuse("%s is in place already, as fault %d. Revert it first: plimsoll lab revert %s %[2]d",
			text, other.ID, b.lab)
	}
	return nil
}

// register adds a fault to those in place and starts its time limit.
func (b *injector) register(x *injected, limit time.Duration) {
	text, data := x.event(x.Since)
	if !x.job.Action.Lasts {
		delete(data, "id")
		b.event("fault", text, data)
		return
	}
	ended := b.inPlace.add(x, limit, func(x *injected) { b.healLater(x, "limit") })
	data["id"] = strconv.Itoa(x.ID)
	b.event("fault", text+durations(x.job.Fault.For.Std(), limit), data)
	if x.job.Action.Fate == fault.NoPower {
		b.availability.hostLost(x)
	}
	for _, f := range ended {
		text, data := f.event(x.Since)
		data["by"] = "fault"
		b.event("heal", text+" has ended because "+x.Action+" "+x.Target+" replaced it", data)
	}
}

// durations are how long a fault shall last and, if that is another time, its time limit.
func durations(last, limit time.Duration) (text string) {
	if last > 0 {
		text = " for " + spec.Duration(last.Round(time.Millisecond)).String()
	}
	if limit > 0 && limit != last {
		text += fmt.Sprintf(" (limit %s)", spec.Duration(limit.Round(time.Second)))
	}
	return text
}

// resolve finds the host, member or disks that the target of a fault names. If the action needs a host, a member or a
// role stands for its host.
func (b *injector) resolve(ctx context.Context, what spec.Action, on fault.Kind, seed uint64) (action.Target, error) {
	if h := b.inventory.host(what.Target); h != nil {
		if on == fault.Disk {
			return action.Target{}, hostHasNoDisk(what)
		}
		return action.Target{Host: h}, nil
	}
	member, disk := splitTarget(what.Target)
	if disk != "" || on == fault.Disk {
		return b.resolveDisks(ctx, member, disk, seed)
	}
	node, err := b.inventory.member(ctx, member, seed)
	if err != nil {
		return action.Target{}, err
	}
	if on == fault.Host {
		return action.Target{Host: node.Host()}, nil
	}
	return action.Target{Node: node, Host: node.Host()}, nil
}

// resolveDisks finds a disk of the volume of a member, which is a name or a role; all disks if disk is "".
func (b *injector) resolveDisks(ctx context.Context, member, disk string, seed uint64) (action.Target, error) {
	v := b.storage.of(member)
	if v == nil {
		node, err := b.inventory.member(ctx, member, seed)
		if err != nil {
			return action.Target{}, err
		}
		if v = b.storage.of(node.Name()); v == nil {
			return action.Target{}, refuse("%s has no volume, so it has no disks", node.Name())
		}
	}
	t := action.Target{Volume: v, AllDisks: disk == ""}
	var names []string
	for _, d := range v.Describe(ctx, false).Disks {
		names = append(names, d.Name)
		if disk != "" && d.Name != disk && strings.TrimPrefix(d.Name, v.Name()+"-") != disk {
			continue
		}
		t.Disks = append(t.Disks, d.Name)
		if t.Host == nil {
			t.Host = b.inventory.host(d.Host)
		}
	}
	switch {
	case len(names) == 0:
		return action.Target{}, refuse("the volume %s is a directory and has no disks. "+
			"Create the lab with --size (storage: {size: …})", v.Name())
	case len(t.Disks) == 0:
		return action.Target{}, refuse("the volume %s has no disk %q%s (disks: %s)", v.Name(), disk,
			nearest.DidYouMean(disk, names), strings.Join(names, ", "))
	}
	return t, nil
}

var _ action.Site = (*injector)(nil)

func (b *injector) Cluster() topology.Cluster                 { return b.inventory.running() }
func (b *injector) SetOf(member string) string                { return b.inventory.setOf(member) }
func (b *injector) MembersOn(h host.Host) []string            { return b.inventory.membersOn(h) }
func (b *injector) Storage() spec.Storage                     { return b.inventory.plan().Spec.Storage }
func (b *injector) EndOnPurpose(members []string, why string) { b.roster.endOnPurpose(members, why) }
func (b *injector) Rejoin(member string) error                { return b.roster.rejoin(member) }

func (b *injector) FaultDisk(volume, disk string) (*faultfs.Client, string, error) {
	return b.builder.faultDisk(volume, disk)
}

func (b *injector) DisksWork(ctx context.Context, volume string) error {
	return b.storage.disksWork(ctx, volume)
}

func (b *injector) DiskPowerOff(ctx context.Context, h host.Host) error {
	return b.builder.diskPower(ctx, h.Name(), false)
}

func (b *injector) LosePower(ctx context.Context, h host.Host, members []string, cut faultfs.PowerCut) error {
	return b.storage.losePower(ctx, h, members, cut)
}
