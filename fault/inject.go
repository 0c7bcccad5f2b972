package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/record"
)

// Inject implements [Injector].
func (i *injector) Inject(ctx context.Context) (Injection, error) {
	if !i.done.Asked.IsZero() {
		return i.done, fmt.Errorf("%s: it was done already", i.fault.Text)
	}
	var err error
	if i.before, err = i.look(ctx); err != nil {
		return Injection{}, fmt.Errorf("%s: cannot look at the lab before it is broken: %w", i.fault.Text, err)
	}
	asked := time.Now()
	f, err := i.lab.Fail(ctx, i.fault.Fault)
	if err != nil {
		return Injection{}, fmt.Errorf("%s: %w", i.fault.Text, err)
	}
	i.done = Injection{Asked: asked, Done: time.Now(), Target: f.Target, ID: f.ID, Manner: i.fault.Manner, Hosts: i.before.hostsOf(f.Target)}
	if f.Until != nil {
		i.done.Until = *f.Until
	}
	if i.takesPower() && i.before.isolated(f.Target) {
		i.done.Manner = BlackHole // the link is gone with the host
	}
	return i.done, nil
}

func (i *injector) takesPower() bool {
	return i.fault.Action == lab.PowerOff || i.fault.Action == lab.PowerLoss
}

// Heal implements [Injector].
func (i *injector) Heal(ctx context.Context) (time.Time, error) {
	if i.done.ID == 0 { // it was not done, or does not last
		return time.Now(), nil
	}
	_, err := i.lab.Heal(ctx, lab.Healing{ID: i.done.ID})
	if err == nil {
		return i.healed(ctx), nil
	}
	if errors.Is(err, lab.ErrRefused) { // it may have healed by itself
		l, lookErr := i.lab.Describe(ctx, false)
		if lookErr == nil && !slices.ContainsFunc(l.Faults, func(f record.LabFault) bool { return f.ID == i.done.ID }) {
			return i.healed(ctx), nil
		}
	}
	return time.Time{}, fmt.Errorf("%s: %w", i.fault.Text, err)
}

// healed is when the lab says that it was undone; now, if it does not say.
func (i *injector) healed(ctx context.Context) time.Time {
	now := time.Now()
	events, err := i.lab.EventsSince(ctx, 0)
	if err != nil {
		return now
	}
	for _, e := range events {
		if e.Kind == "heal" && e.Data["id"] == strconv.Itoa(i.done.ID) && !e.Time.Before(i.done.Asked.Round(0)) && e.Time.Before(now) {
			return e.Time
		}
	}
	return now
}

// sight is what can be seen of a lab from outside of its supervisor, as far as that is possible.
type sight struct {
	lab     record.Lab
	witness lab.Witness
	born    map[int]uint64 // when processes began
}

// look looks at everything.
func (i *injector) look(ctx context.Context) (sight, error) {
	l, err := i.lab.Look(ctx)
	if err != nil {
		return sight{}, err
	}
	w, err := i.lab.Witness(ctx)
	if err != nil {
		return sight{}, err
	}
	s := sight{lab: l, witness: w, born: map[int]uint64{}}
	for _, m := range l.Members {
		for _, pid := range m.PIDs {
			if p, ok := processOf(pid); ok {
				s.born[pid] = p.born
			}
		}
	}
	return s, nil
}

// members are those that a target means: itself, or all on a host.
func (s sight) members(target string) []record.LabMember {
	var found []record.LabMember
	for _, m := range s.lab.Members {
		if m.Name == target || m.Host == target {
			found = append(found, m)
		}
	}
	return found
}

// hostsOf are the hosts that a target stands on: itself, that of a member, those of disks.
func (s sight) hostsOf(target string) []string {
	var hosts []string
	add := func(name string) {
		if !slices.Contains(hosts, name) {
			hosts = append(hosts, name)
		}
	}
	for _, h := range s.lab.Hosts {
		if h.Name == target {
			add(h.Name)
		}
	}
	for _, v := range s.lab.Volumes {
		for _, d := range v.Disks {
			if v.Name+"/"+d.Name == target {
				add(d.Host)
			}
		}
	}
	for _, m := range s.lab.Members {
		if m.Name == target {
			add(m.Host)
		}
	}
	return hosts
}

// isolated says whether a host has a link of its own.
func (s sight) isolated(name string) bool {
	return slices.ContainsFunc(s.lab.Hosts, func(h record.LabHost) bool { return h.Name == name && h.Mode == host.Isolated })
}
