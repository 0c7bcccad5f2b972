package action

import (
	"context"
	"errors"
	"fmt"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// The names of the actions that take a host's power away.
const (
	PowerOff  = "power-off"
	PowerLoss = "power-loss"
)

// endedByPower is why the members of a host without power are down.
const endedByPower = "its host lost power"

var powerOff = &Action{
	Name: PowerOff, On: Host,
	Help:  "everything on it is killed at once, its link is gone, its disks do not answer",
	Lasts: true, Fate: NoPower, TakesDown: true,
	Manner: record.MannerCrash, Isolated: record.MannerBlackHole, // the link of an isolated host is gone with it
	Apply: func(ctx context.Context, j *Job) error {
		j.Site.Ending(j.Site.Standing(j.Host), endedByPower)
		err := j.Host.PowerOff(ctx)
		return errors.Join(err, j.Site.DiskPowerOff(ctx, j.Host))
	},
	Undo:    givePower,
	Witness: poweredOff,
}

var powerLoss = &Action{
	Name: PowerLoss, On: Host,
	Help:  "the same, and what was not flushed to its disks is gone (--keep: a share of it survives)",
	Takes: []string{"keep"}, Needs: NeedsFaults,
	Lasts: true, Fate: NoPower, TakesDown: true,
	Manner: record.MannerCrash, Isolated: record.MannerBlackHole,
	Check: func(f spec.Fault) error {
		if err := cutOf(f).Check(); err != nil {
			return Refuse("%s", err)
		}
		return nil
	},
	Suits: func(j *Job) error {
		if CanFail(j.Site.Storage()) {
			return nil
		}
		return Refuse("%s needs disks that know what was flushed: bring the lab up with --size and --faults "+
			"(storage: {size: …, faults: true}), or use %s", PowerLoss, PowerOff)
	},
	Apply: func(ctx context.Context, j *Job) error {
		members := j.Site.Standing(j.Host)
		j.Site.Ending(members, endedByPower)
		return j.Site.LosePower(ctx, j.Host, members, cutOf(j.Fault))
	},
	Undo:    givePower,
	Witness: lostPower,
}

// CanFail says whether the disks of a policy are those of the fault filesystem.
func CanFail(s spec.Storage) bool { return s.Faults || s.Device != "" || s.Cache != nil }

// cutOf is what a power loss does to disks.
func cutOf(f spec.Fault) faultfs.PowerCut {
	return faultfs.PowerCut{Keep: float64(f.Keep), Seed: f.Seed}
}

func givePower(ctx context.Context, j *Job) error { return j.Site.PowerOn(ctx, j.Host) }

// poweredOff sees that the processes of a host are gone and that nobody answers.
func poweredOff(ctx context.Context, s *Scene) (string, error) {
	gone, err := ended(ctx, s)
	if gone == "" {
		if err != nil && len(s.Before.Members(s.Target)) == 0 { // nothing stood on it
			return hostIsOff(ctx, s)
		}
		return "", err
	}
	for _, m := range s.Before.Members(s.Target) {
		if answer := probe(ctx, m); answer != answered {
			return fmt.Sprintf("%s; a connection to %s %s", gone, m.Address, answer), nil
		}
	}
	return "", nil
}

func hostIsOff(ctx context.Context, s *Scene) (string, error) {
	l, err := s.Lab.Describe(ctx, false)
	for _, h := range l.Hosts {
		if h.Name == s.Target && h.State == host.Off {
			return "the lab says that " + h.Name + " is off; nothing stood on it", nil
		}
	}
	return "", err
}

// lostPower sees that besides the processes the disks lost their power, and how much.
func lostPower(ctx context.Context, s *Scene) (string, error) {
	gone, err := poweredOff(ctx, s)
	if gone == "" {
		return "", err
	}
	c, err := s.Lab.Counters(ctx)
	if err != nil {
		return "", err
	}
	disks := 0
	var writes, bytes, kept int64
	for _, d := range c.Disks {
		if d.Host == s.Target {
			disks++
			writes, bytes, kept = writes+d.Stats.Undone, bytes+d.Stats.UndoneBytes, kept+d.Stats.KeptBytes
		}
	}
	if disks == 0 {
		return gone, nil
	}
	text := fmt.Sprintf("%s; %s undid %s that were not flushed (%s)", gone, figure.Plural(disks, "disk"),
		figure.Plural(int(writes), "write"), figure.Bytes(bytes))
	if kept > 0 {
		text += fmt.Sprintf(" and kept %s of them", figure.Bytes(kept))
	}
	return text, nil
}
