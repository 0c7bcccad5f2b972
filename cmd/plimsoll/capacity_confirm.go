package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/loadline"
	"github.com/plimsoll-bench/plimsoll/measure/limit"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// confirmAtMost is when a lab restores the cores of a host, also if this process was killed.
const confirmAtMost = 2 * time.Minute

// changing reduces capacities of a lab: cores of a host, the cache of the primary, or its tickets.
func changing(env *environment, target string) (loadline.Change, error) {
	name, ok := spec.LabOf(target)
	if !ok {
		return nil, usageError("--confirm changes the cores, the cache or the tickets of a lab: the target must be lab:NAME")
	}
	return func(ctx context.Context, label limit.Label, where string, share float64) (string, func() error, error) {
		switch label {
		case limit.CPU, limit.Router:
			host, ofHost := strings.CutPrefix(where, "host ")
			if !ofHost {
				return "", nil, fmt.Errorf("%s has no separate limit of cores: set hosts.cores", where)
			}
			return throttleHost(ctx, env, name, host, share)
		case limit.Cache, limit.DiskReads:
			return changeParameter(ctx, env, name, "cache", share)
		case limit.Tickets:
			return changeParameter(ctx, env, name, "tickets", share)
		}
		return "", nil, fmt.Errorf("nothing can be changed for the label %s", label)
	}, nil
}

// throttleHost reduces the cores of a host of a lab.
func throttleHost(ctx context.Context, env *environment, name, host string, share float64) (string, func() error,
	error) {
	l, err := openLab(ctx, env, name)
	if err != nil {
		return "", nil, err
	}
	d, err := l.Describe(ctx, false)
	if err != nil {
		return "", nil, errors.Join(err, l.Close())
	}
	for _, h := range d.Hosts {
		if h.Name != host || h.Cores <= 0 {
			continue
		}
		f, err := l.Fail(ctx, spec.Fault{Action: spec.Action{Name: fault.Throttle, Target: host},
			Cores: share * h.Cores}, confirmAtMost)
		if err != nil {
			return "", nil, errors.Join(err, l.Close())
		}
		return "CPU of host " + host, func() error {
			_, err := l.Heal(context.WithoutCancel(ctx), lab.Healing{ID: f.ID})
			return errors.Join(err, l.Close())
		}, nil
	}
	return "", nil, errors.Join(fmt.Errorf("host %s has no limit of cores", host), l.Close())
}
