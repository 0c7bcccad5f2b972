package lab

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/lab/action"
	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/lab/topology"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// breaker does faults to a lab and heals them. To the actions it is the lab ([action.Site]).
type breaker struct {
	*core
	lab          string // its name
	builder      builder
	inventory    *inventory
	roster       *roster
	storage      *storage
	availability *availability
	inPlace      *inPlace
}

// healLimit bounds the healing of one fault: a member may have to copy its data again.
const healLimit = 5 * time.Minute

// fail breaks something and returns when it is broken. After the limit it is healed; 0 is never.
func (b *breaker) fail(ctx context.Context, f spec.Fault, limit time.Duration) (record.LabFault, error) {
	if err := action.Check(f); err != nil {
		return record.LabFault{}, err
	}
	if limit < 0 {
		return record.LabFault{}, refuse("the time after which it is healed cannot be negative")
	}
	if b.inventory.running() == nil {
		return record.LabFault{}, refuse("the lab is not up")
	}
	x, err := b.prepare(ctx, f)
	if err != nil {
		return record.LabFault{}, err
	}
	defer b.locks.lock(keys(x.job)...)()
	if err := b.possible(x); err != nil {
		return record.LabFault{}, err
	}
	x.Since = time.Now().UTC()
	if err := x.job.Action.Apply(ctx, x.job); err != nil {
		if errors.Is(err, host.ErrUnsupported) {
			return record.LabFault{}, refuse("%s", err)
		}
		return record.LabFault{}, fmt.Errorf("cannot %s %s: %w", x.Action, x.Target, err)
	}
	b.register(x, limit)
	return x.LabFault, nil
}

// prepare finds what a fault is done to, and refuses what cannot be done to that.
func (b *breaker) prepare(ctx context.Context, f spec.Fault) (*fault, error) {
	a := action.Find(f.Strike.Action)
	t, err := b.resolve(ctx, f.Strike, a.On, f.Seed)
	if err != nil {
		return nil, err
	}
	j := &action.Job{Action: a, Fault: f, Target: t, Site: b}
	x := &fault{LabFault: record.LabFault{Action: a.Name, Target: t.Name()}, job: j, asked: presentName(f.Strike.Target)}
	switch server := t.Node == nil || t.Node.Kind() != topology.KindVolume; {
	case t.Volume != nil && a.On != action.Disk:
		return nil, isADisk(f.Strike)
	case a.On == action.Member && t.Node == nil:
		return nil, refuse("%s is done to a member, and %s is none; on it stand: %s (for the whole host: %s)",
			a.Name, x.Target, strings.Join(b.inventory.standingOn(t.Host), ", "), action.PowerOff)
	case a.On&action.Member != 0 && !server:
		return nil, refuse("%s is done to a server, and %s is a volume without one (engine: none); break its disks, or its host %s",
			a.Name, x.Target, t.Host.Name())
	}
	if f.From != "" {
		other, err := b.resolve(ctx, spec.Strike{Target: f.From}, action.Host, 0)
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

// keys are what must not change while a fault is done.
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

// possible refuses what makes no sense as things stand now.
func (b *breaker) possible(x *fault) error {
	j := x.job
	if j.Volume == nil && j.Host.State() == host.Off {
		return refuse("%s has no power, so there is nothing to %s", j.Host.Name(), x.Action)
	}
	if j.Node != nil && !j.Node.Status().Running {
		return refuse("%s does not run, so there is nothing to %s", x.Target, x.Action)
	}
	for _, other := range b.inPlace.all(func(f *fault) bool { return f.job.Same(j) }) {
		text, _ := other.told(other.Since)
		return refuse("%s is in place already, as fault %d; heal it first: plimsoll lab heal %s %[2]d",
			text, other.ID, b.lab)
	}
	return nil
}

// register lists a fault and sets the clock that heals it.
func (b *breaker) register(x *fault, limit time.Duration) {
	text, data := x.told(x.Since)
	if !x.job.Action.Lasts {
		delete(data, "id")
		b.event("fault", text, data)
		return
	}
	ended := b.inPlace.add(x, limit, b.healLater)
	data["id"] = strconv.Itoa(x.ID)
	b.event("fault", text+times(x.job.Fault.For.Std(), limit), data)
	if x.job.Action.Fate == action.NoPower {
		b.availability.lost(x)
	}
	b.tellEnded(ended, x)
}

// times tells how long a fault shall last and, where that is another time, after which one the lab heals it by itself.
func times(last, limit time.Duration) (text string) {
	if last > 0 {
		text = " for " + spec.Duration(last.Round(time.Millisecond)).String()
	}
	if limit > 0 && limit != last {
		text += fmt.Sprintf(" (limit %s)", spec.Duration(limit.Round(time.Second)))
	}
	return text
}

// tellEnded tells of faults that another one ended.
func (b *breaker) tellEnded(ended []*fault, by *fault) {
	for _, f := range ended {
		text, data := f.told(by.Since)
		data["by"] = "fault"
		b.event("heal", text+" has ended, because "+by.Action+" "+by.Target+" took its place", data)
	}
}

// resolve finds what a target of a kind means. Where it is a host, members and roles mean the one that they stand on.
func (b *breaker) resolve(ctx context.Context, what spec.Strike, on action.Kind, seed uint64) (action.Target, error) {
	if h := b.inventory.host(what.Target); h != nil {
		if on == action.Disk {
			return action.Target{}, hostHasNoDisk(what)
		}
		return action.Target{Host: h}, nil
	}
	member, disk := splitTarget(what.Target)
	if disk != "" || on == action.Disk {
		return b.resolveDisks(ctx, member, disk, seed)
	}
	node, err := b.inventory.member(ctx, member, seed)
	if err != nil {
		return action.Target{}, err
	}
	if on == action.Host {
		return action.Target{Host: node.Host()}, nil
	}
	return action.Target{Node: node, Host: node.Host()}, nil
}

// resolveDisks finds a disk of the volume of a member, which is named or has a role; all of them where disk is "".
func (b *breaker) resolveDisks(ctx context.Context, member, disk string, seed uint64) (action.Target, error) {
	v := b.storage.of(member)
	if v == nil {
		node, err := b.inventory.member(ctx, member, seed)
		if err != nil {
			return action.Target{}, err
		}
		if v = b.storage.of(node.Name()); v == nil {
			return action.Target{}, refuse("%s keeps no data, so it has no disks", node.Name())
		}
	}
	t := action.Target{Volume: v, Whole: disk == ""}
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
		return action.Target{}, refuse("the volume %s is a directory and has no disks; give the lab a storage policy with a size",
			v.Name())
	case len(t.Disks) == 0:
		return action.Target{}, refuse("the volume %s has no disk %q%s (disks: %s)", v.Name(), disk,
			nearest.DidYouMean(disk, names), strings.Join(names, ", "))
	}
	return t, nil
}

var _ action.Site = (*breaker)(nil)

func (b *breaker) Cluster() topology.Cluster           { return b.inventory.running() }
func (b *breaker) SetOf(member string) string          { return b.inventory.setOf(member) }
func (b *breaker) Standing(h host.Host) []string       { return b.inventory.standingOn(h) }
func (b *breaker) Storage() spec.Storage               { return b.inventory.plan().Spec.Storage }
func (b *breaker) Ending(members []string, why string) { b.roster.ends(members, why) }
func (b *breaker) Return(member string) error          { return b.roster.giveBack(member) }

func (b *breaker) FaultDisk(volume, disk string) (*faultfs.Client, string, error) {
	return b.builder.faultDisk(volume, disk)
}

func (b *breaker) DisksWork(ctx context.Context, volume string) error {
	return b.storage.disksWork(ctx, volume)
}

func (b *breaker) DiskPowerOff(ctx context.Context, h host.Host) error {
	return b.builder.diskPower(ctx, h.Name(), false)
}

func (b *breaker) LosePower(ctx context.Context, h host.Host, members []string, cut faultfs.PowerCut) error {
	return b.storage.losePower(ctx, h, members, cut)
}
