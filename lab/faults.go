package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/action"
	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/lab/topology"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// fault is something that was broken and is not healed yet.
type fault struct {
	record.LabFault
	job   *action.Job
	asked string   // the target as it was named, which may be a role
	gone  []string // disks that were replaced since
	timer *time.Timer
}

// healLimit bounds the healing of one fault: a member may have to copy its data again.
const healLimit = 5 * time.Minute

// fail breaks something and returns when it is broken. After the limit it is healed; 0 is never.
func (s *supervisor) fail(ctx context.Context, f spec.Fault, limit time.Duration) (record.LabFault, error) {
	if err := action.Check(f); err != nil {
		return record.LabFault{}, err
	}
	if limit < 0 {
		return record.LabFault{}, refuse("the time after which it is healed cannot be negative")
	}
	if s.running() == nil {
		return record.LabFault{}, refuse("the lab is not up")
	}
	x, err := s.prepare(ctx, f)
	if err != nil {
		return record.LabFault{}, err
	}
	defer s.locks.lock(keys(x.job)...)()
	if err := s.possible(x); err != nil {
		return record.LabFault{}, err
	}
	x.Since = time.Now().UTC()
	if err := x.job.Action.Apply(ctx, x.job); err != nil {
		if errors.Is(err, host.ErrUnsupported) {
			return record.LabFault{}, refuse("%s", err)
		}
		return record.LabFault{}, fmt.Errorf("cannot %s %s: %w", x.Action, x.Target, err)
	}
	s.register(x, limit)
	return x.LabFault, nil
}

// prepare finds what a fault is done to, and refuses what cannot be done to that.
func (s *supervisor) prepare(ctx context.Context, f spec.Fault) (*fault, error) {
	a := action.Find(f.Strike.Action)
	t, err := s.resolve(ctx, f.Strike, a.On, f.Seed)
	if err != nil {
		return nil, err
	}
	j := &action.Job{Action: a, Fault: f, Target: t, Site: site{s}}
	x := &fault{job: j, asked: presentName(f.Strike.Target), LabFault: record.LabFault{Action: a.Name, Target: t.Name()}}
	switch server := t.Node == nil || t.Node.Kind() != topology.KindVolume; {
	case a.On == action.Member && t.Node == nil:
		return nil, refuse("%s is done to a member, and %s is none; on it stand: %s (for the whole host: %s)", a.Name, x.Target,
			strings.Join(s.standingOn(t.Host), ", "), action.PowerOff)
	case t.Volume != nil && a.On != action.Disk:
		return nil, refuse("%s is not done to a disk; %s is", a.Name, action.DiskFail)
	case a.On&action.Member != 0 && !server:
		return nil, refuse("%s is done to a server, and %s is a volume without one (engine: none); break its disks, or its host %s", a.Name, x.Target, t.Host.Name())
	}
	if f.From != "" {
		other, err := s.resolve(ctx, spec.Strike{Target: f.From}, action.Host, 0)
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
func (s *supervisor) possible(x *fault) error {
	j := x.job
	if j.Volume == nil && j.Host.State() == host.Off {
		return refuse("%s has no power, so there is nothing to %s", j.Host.Name(), x.Action)
	}
	if j.Node != nil && !j.Node.Status().Running {
		return refuse("%s does not run, so there is nothing to %s", x.Target, x.Action)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, other := range s.faults {
		if other.job.Same(j) {
			text, _ := other.told(other.Since)
			return refuse("%s is in place already, as fault %d; heal it first: plimsoll lab heal %s %[2]d", text, other.ID, s.lab.Name)
		}
	}
	return nil
}

func (s *supervisor) setOf(member string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.planned.Layout.Members {
		if m.Name == member {
			return m.Set
		}
	}
	return ""
}

// register lists a fault and sets the clock that heals it.
func (s *supervisor) register(x *fault, limit time.Duration) {
	text, data := x.told(x.Since)
	if !x.job.Action.Lasts {
		delete(data, "id")
		s.event("fault", text, data)
		return
	}
	s.mu.Lock()
	s.lastID++
	x.ID = s.lastID
	data["id"] = strconv.Itoa(x.ID)
	ended := s.superseded(x)
	s.faults = append(s.faults, x)
	if limit > 0 {
		until := x.Since.Add(limit)
		x.Until = &until
		x.timer = time.AfterFunc(time.Until(until), func() { s.healLater(x) })
	}
	s.mu.Unlock()
	s.event("fault", text+times(x.job.Fault.For.Std(), limit), data)
	if x.job.Action.Fate == action.NoPower {
		s.lost(x)
	}
	s.tellEnded(ended, x)
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
func (s *supervisor) tellEnded(ended []*fault, by *fault) {
	for _, f := range ended {
		text, data := f.told(by.Since)
		data["by"] = "fault"
		s.event("heal", text+" has ended, because "+by.Action+" "+by.Target+" took its place", data)
	}
}

// superseded drops the faults that a stronger one ended: a process that is killed is not paused any more. s.mu is held.
func (s *supervisor) superseded(x *fault) (over []*fault) {
	fate, j := x.job.Action.Fate, x.job
	if fate < action.End {
		return nil
	}
	s.faults = slices.DeleteFunc(s.faults, func(f *fault) bool {
		same := j.Node != nil && f.job.Node == j.Node
		ended := f.job.Action.Fate == action.Stand && (same || j.Node == nil && f.job.Host == j.Host) || f.job.Action.Fate == action.End && same
		if ended {
			over = append(over, f)
		}
		if ended && f.timer != nil {
			f.timer.Stop()
		}
		return ended
	})
	return over
}

// standingOn are the names of the members on a host now.
func (s *supervisor) standingOn(h host.Host) []string {
	cluster := s.running()
	if cluster == nil {
		return nil
	}
	var names []string
	for _, n := range cluster.Nodes() {
		if n.Host().Name() == h.Name() {
			names = append(names, n.Name())
		}
	}
	return names
}

// running is the cluster of a lab that is up, nil for any other.
func (s *supervisor) running() topology.Cluster {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lab.State != stateUp {
		return nil
	}
	return s.cluster
}

// site is the lab as the actions that are done to it see it.
type site struct{ s *supervisor }

func (l site) Cluster() topology.Cluster           { return l.s.running() }
func (l site) SetOf(member string) string          { return l.s.setOf(member) }
func (l site) Standing(h host.Host) []string       { return l.s.standingOn(h) }
func (l site) Ending(members []string, why string) { l.s.ends(members, why) }
func (l site) Return(member string) error          { return l.s.giveBack(member) }

func (l site) Storage() spec.Storage {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	return l.s.planned.Spec.Storage
}

func (l site) DiskPowerOff(ctx context.Context, h host.Host) error {
	return l.s.builder.diskPower(ctx, h.Name(), false)
}

func (l site) PowerOn(ctx context.Context, h host.Host) error { return l.s.powerOn(ctx, h) }

func (l site) LosePower(ctx context.Context, h host.Host, members []string, cut faultfs.PowerCut) error {
	return l.s.losePower(ctx, h, members, cut)
}

func (l site) FaultDisk(volume, disk string) (*faultfs.Client, string, error) {
	return l.s.builder.faultDisk(volume, disk)
}

func (l site) DisksWork(ctx context.Context, volume string) error {
	l.s.mu.Lock()
	l.s.healed[volume] = time.Now()
	l.s.mu.Unlock()
	return l.s.recover(ctx, volume)
}
