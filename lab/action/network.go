package action

import (
	"context"
	"fmt"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/lab/host"
)

var cut = Action{
	Suits: func(j *Job) error {
		if j.Other == j.Host {
			return fault.Refuse("%s cannot be cut off from itself", j.Name())
		}
		return nil
	},
	Apply: func(ctx context.Context, j *Job) error {
		d := host.Direction(j.Fault.Direction)
		if d == "" {
			d = host.Both
		}
		return j.Host.Cut(ctx, j.Other, d)
	},
	Undo:    func(ctx context.Context, j *Job) error { return j.Host.Mend(ctx, j.Other) },
	Witness: packetsDropped,
}

var slow = Action{
	Apply:   func(ctx context.Context, j *Job) error { return j.Host.Slow(ctx, int64(j.Fault.Rate)) },
	Undo:    func(ctx context.Context, j *Job) error { return j.Host.Slow(ctx, 0) },
	Witness: packetsDelayed,
}

var throttle = Action{
	Apply:   func(ctx context.Context, j *Job) error { return j.Host.Throttle(ctx, j.Fault.Cores) },
	Undo:    func(ctx context.Context, j *Job) error { return j.Host.Throttle(ctx, 0) },
	Witness: processesStopped,
}

// processesStopped finds time in which the quota stopped processes.
func processesStopped(ctx context.Context, s *Scene) (string, error) {
	c, err := s.Lab.Counters(ctx)
	if err != nil {
		return "", err
	}
	if stopped := c.Stopped[s.Target] - s.Before.Counters.Stopped[s.Target]; stopped > 0 {
		return fmt.Sprintf("the quota of %s stopped its processes for %s", s.Target, figure.Duration(stopped)), nil
	}
	return "", nil
}

// packetsDropped finds packets that the firewall dropped. It sends some itself, because the host may be idle.
func packetsDropped(ctx context.Context, s *Scene) (string, error) {
	answers := ""
	if s.Fault.From == "" {
		if on := s.Before.Members(s.Target); len(on) > 0 {
			if a := probe(ctx, on[0]); a != answered {
				answers = fmt.Sprintf("; a connection to %s %s", on[0].Address, a)
			}
		}
	}
	c, err := s.Lab.Counters(ctx)
	if err != nil {
		return "", err
	}
	if n := c.link(s.Target).Dropped; n > 0 { // the counters start with the cut
		return fmt.Sprintf("the firewall of %s dropped %s%s", s.Target, figure.Plural(int(n), "packet"), answers), nil
	}
	return "", nil
}

// packetsDelayed finds packets that waited because of the limit.
func packetsDelayed(ctx context.Context, s *Scene) (string, error) {
	c, err := s.Lab.Counters(ctx)
	if err != nil {
		return "", err
	}
	n := c.link(s.Target).Delayed - s.Before.Counters.link(s.Target).Delayed
	if n <= 0 {
		return "", nil
	}
	return fmt.Sprintf("the link of %s delayed packets %s", s.Target, figure.Plural(int(n), "time")), nil
}
