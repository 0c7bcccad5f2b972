package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/lab/topology"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// fault is something that was broken and is not healed yet.
type fault struct {
	record.LabFault
	target
	asked string      // the target as it was named, which may be a role
	other host.Host   // of a cut
	held  []faultDisk // that have a fault of the fault filesystem
	gone  []string    // disks that were replaced since
	timer *time.Timer
}

// healLimit bounds the healing of one fault: a member may have to copy its data again.
const healLimit = 5 * time.Minute

// fail breaks something and returns when it is broken.
func (s *supervisor) fail(ctx context.Context, f Fault) (record.LabFault, error) {
	if err := f.Check(); err != nil {
		return record.LabFault{}, err
	}
	kind := actions[f.Action]
	if s.running() == nil {
		return record.LabFault{}, refuse("the lab is not up")
	}
	t, err := s.resolve(ctx, f, kind.onHost)
	if err != nil {
		return record.LabFault{}, err
	}
	x := &fault{target: t, asked: presentName(f.Target), LabFault: record.LabFault{Action: f.Action, Target: t.name(), From: f.From}}
	if err := s.suits(ctx, x, f); err != nil {
		return record.LabFault{}, err
	}
	defer s.locks.lock(x.keys()...)()
	if err := s.possible(x, f); err != nil {
		return record.LabFault{}, err
	}
	x.Since = time.Now().UTC()
	if err := s.apply(ctx, x, f); err != nil {
		if errors.Is(err, host.ErrUnsupported) {
			return record.LabFault{}, refuse("%s", err)
		}
		return record.LabFault{}, fmt.Errorf("cannot %s %s: %w", f.Action, x.Target, err)
	}
	s.register(x, f, kind.lasts)
	return x.LabFault, nil
}

// suits says whether an action can be done to this kind of target, and completes the fault.
func (s *supervisor) suits(ctx context.Context, x *fault, f Fault) error {
	switch f.Action {
	case Kill, Stop, StepDown:
		if x.node == nil {
			return refuse("%s is done to a member, and %s is none; on it stand: %s (for the whole host: %s)", f.Action, x.Target,
				strings.Join(s.standingOn(x.host), ", "), PowerOff)
		}
		if x.node.Kind() == topology.KindVolume {
			return noServer(f.Action, x)
		}
	case PowerLoss:
		return s.losesPower(x)
	case Pause:
		if x.volume != nil {
			return refuse("a disk cannot be paused; %s makes it answer with errors", DiskFail)
		}
		if x.node != nil && x.node.Kind() == topology.KindVolume {
			return noServer(f.Action, x)
		}
	}
	if x.volume != nil && !onDisk(f.Action) {
		return refuse("%s is not done to a disk; %s is", f.Action, DiskFail)
	}
	if f.From != "" {
		other, err := s.resolve(ctx, Fault{Target: f.From}, true)
		if err != nil {
			return err
		}
		if other.host == x.host {
			return refuse("%s cannot be cut off from itself", x.Target)
		}
		x.other, x.From = other.host, other.host.Name()
	}
	return nil
}

// noServer refuses what is done to servers where there is none.
func noServer(action string, x *fault) error {
	return refuse("%s is done to a server, and %s is a volume without one (engine: none); break its disks, or its host %s", action, x.Target, x.host.Name())
}

// keys are what must not change while a fault is done.
func (x *fault) keys() []string {
	if x.volume != nil {
		return []string{"disks/" + x.volume.Name()}
	}
	if x.node != nil {
		return []string{"member/" + x.node.Name()}
	}
	if x.other != nil {
		return []string{"host/" + x.host.Name(), "host/" + x.other.Name()}
	}
	return []string{"host/" + x.host.Name()}
}

// possible refuses what makes no sense as things stand now.
func (s *supervisor) possible(x *fault, f Fault) error {
	state := x.host.State()
	if x.volume == nil && state == host.Off {
		return refuse("%s has no power, so there is nothing to %s", x.host.Name(), f.Action)
	}
	if x.node != nil && !x.node.Status().Running {
		return refuse("%s does not run, so there is nothing to %s", x.Target, f.Action)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, other := range s.faults {
		if other.same(x) {
			text, _ := other.told(other.Since)
			return refuse("%s is in place already, as fault %d; heal it first: plimsoll lab heal %s %[2]d", text, other.ID, s.lab.Name)
		}
	}
	return nil
}

// same says whether two faults are about the same thing.
func (x *fault) same(y *fault) bool {
	if x.Action != y.Action {
		return false
	}
	if x.Action != Cut {
		return x.name() == y.name()
	}
	return x.host == y.host && x.other == y.other || x.host == y.other && x.other == y.host
}

// apply does what a fault says.
func (s *supervisor) apply(ctx context.Context, x *fault, f Fault) error {
	switch f.Action {
	case PowerLoss:
		return s.losePower(ctx, x, f)
	case PowerOff:
		s.ends(s.standingOn(x.host), "its host lost power")
		err := x.host.PowerOff(ctx)
		return errors.Join(err, s.builder.diskPower(ctx, x.host.Name(), false))
	case Cut:
		d := f.Direction
		if d == "" {
			d = host.Both
		}
		return x.host.Cut(ctx, x.other, d)
	case Slow:
		return x.host.Slow(ctx, f.Rate)
	case Pause:
		if x.node != nil {
			return x.node.Pause()
		}
		return x.host.Pause(ctx)
	case Kill:
		s.ends([]string{x.node.Name()}, "it was killed")
		return x.node.Kill()
	case Stop:
		s.ends([]string{x.node.Name()}, "it was stopped")
		return x.node.Stop(ctx)
	case StepDown:
		return s.stepDown(ctx, x)
	}
	return s.failDisks(ctx, x, f)
}

// stepDown hands over from a primary. Naming another member is a mistake.
func (s *supervisor) stepDown(ctx context.Context, x *fault) error {
	set := s.setOf(x.node.Name())
	primary, err := s.running().Primary(ctx, set)
	if err != nil {
		return err
	}
	if primary != x.node.Name() {
		return refuse("%s is not the primary, %s is", x.node.Name(), primary)
	}
	return s.running().StepDown(ctx, set)
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
func (s *supervisor) register(x *fault, f Fault, lasts bool) {
	data := map[string]string{"action": x.Action, "target": x.Target, "began": x.Since.Format(time.RFC3339Nano)}
	if x.From != "" {
		data["from"] = x.From
	}
	text := x.Action + " " + x.Target
	if x.From != "" {
		text += " from " + x.From
	}
	if lasts {
		s.mu.Lock()
		s.lastID++
		x.ID = s.lastID
		ended := s.superseded(x)
		s.faults = append(s.faults, x)
		if f.Limit > 0 {
			until := x.Since.Add(f.Limit)
			x.Until = &until
			x.timer = time.AfterFunc(time.Until(until), func() { s.healLater(x) })
		}
		s.mu.Unlock()
		text += f.times()
		data["id"] = strconv.Itoa(x.ID)
		defer s.tellEnded(ended, x)
	}
	s.event("fault", text, data)
	if takesPower(x.Action) {
		s.lost(x)
	}
}

// times tells how long a fault shall last and, where that is another time, after which one the lab heals it by itself.
func (f Fault) times() (text string) {
	if f.For > 0 {
		text = " for " + spec.Duration(f.For.Round(time.Millisecond)).String()
	}
	if f.Limit > 0 && f.Limit != f.For {
		text += fmt.Sprintf(" (limit %s)", spec.Duration(f.Limit.Round(time.Second)))
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
	if x.Action != Kill && x.Action != Stop && !takesPower(x.Action) {
		return nil
	}
	s.faults = slices.DeleteFunc(s.faults, func(f *fault) bool {
		ended := f.Action == Pause && (x.node != nil && f.node == x.node || x.node == nil && f.host == x.host) ||
			(f.Action == Kill || f.Action == Stop) && (x.node != nil && f.node == x.node)
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
