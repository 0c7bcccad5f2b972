package action

import (
	"context"
	"errors"
	"fmt"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/lab/volume"
)

// endedByPower is the reason why the members of a host without power are down.
const endedByPower = "its host lost power"

var powerOff = Action{
	Apply: func(ctx context.Context, j *Job) error {
		j.Site.EndOnPurpose(j.Site.MembersOn(j.Host), endedByPower)
		err := j.Host.PowerOff(ctx)
		return errors.Join(err, j.Site.DiskPowerOff(ctx, j.Host))
	},
	Undo:    powerOn,
	Witness: hostDown,
}

var powerLoss = Action{
	Suits: func(j *Job) error {
		if volume.UsesFaultfs(j.Site.Storage()) {
			return nil
		}
		return fault.Refuse("%s needs disks of the fault filesystem. Create the lab with --size and --faults "+
			"(storage: {size: …, faults: true}), or use %s", fault.PowerLoss, fault.PowerOff)
	},
	Apply: func(ctx context.Context, j *Job) error {
		members := j.Site.MembersOn(j.Host)
		j.Site.EndOnPurpose(members, endedByPower)
		return j.Site.LosePower(ctx, j.Host, members, fault.CutOf(j.Fault))
	},
	Undo:    powerOn,
	Witness: writesDiscarded,
}

func powerOn(ctx context.Context, j *Job) error { return j.Site.PowerOn(ctx, j.Host) }

// hostDown checks that the processes of a host have ended and that connections to its members fail.
func hostDown(ctx context.Context, s *Scene) (string, error) {
	gone, err := processesEnded(ctx, s)
	if gone == "" {
		if err != nil && len(s.Before.Members(s.Target)) == 0 { // it had no members
			return reportedOff(ctx, s)
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

func reportedOff(ctx context.Context, s *Scene) (string, error) {
	l, err := s.Lab.Describe(ctx, false)
	for _, h := range l.Hosts {
		if h.Name == s.Target && h.State == host.Off {
			return "the lab reports " + h.Name + ", which had no members, as off", nil
		}
	}
	return "", err
}

// writesDiscarded checks that the host is down, and reads from the counters of its disks what they discarded.
func writesDiscarded(ctx context.Context, s *Scene) (string, error) {
	gone, err := hostDown(ctx, s)
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
	text := fmt.Sprintf("%s; %s discarded %s that were not flushed (%s)", gone, figure.Plural(disks, "disk"),
		figure.Plural(int(writes), "write"), figure.Bytes(bytes))
	if kept > 0 {
		text += fmt.Sprintf(" and kept %s of them", figure.Bytes(kept))
	}
	return text, nil
}
