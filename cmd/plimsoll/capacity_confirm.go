package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/loadline"
	"github.com/plimsoll-bench/plimsoll/measure/limit"
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// confirmAtMost is when a lab restores the cores of a host, also if this process was killed.
const confirmAtMost = 2 * time.Minute

// changing reduces capacities of a lab: cores of a host, the cache of the primary, or its tickets.
func changing(env *environment, target string, ask func(context.Context) (server.Commander, func(),
	error)) (loadline.Change, error) {
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
			return changeParameter(ctx, ask, "cache", share)
		case limit.Tickets:
			return changeParameter(ctx, ask, "tickets", share)
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

// changeParameter reduces the cache or the tickets of the primary. The parameters are those of 4.4 to 6.0, and from 7.0
// those with the algorithm of fixed tickets.
func changeParameter(ctx context.Context, ask func(context.Context) (server.Commander, func(), error), what string,
	share float64) (string, func() error, error) {
	c, end, err := ask(ctx)
	if err != nil {
		return "", nil, err
	}
	status, err := server.QueryStatistics(ctx, c)
	if err != nil {
		end()
		return "", nil, err
	}
	set := func(ctx context.Context, share float64) error {
		var commands []bson.D
		if what == "cache" {
			bytes, _ := server.At("wiredTiger/cache/maximum bytes configured").Number(status)
			commands = append(commands, bson.D{{Key: "setParameter", Value: 1},
				{Key: "wiredTigerEngineRuntimeConfig", Value: fmt.Sprintf("cache_size=%dM", int64(bytes*share)>>20)}})
		} else {
			for _, kind := range []string{"Read", "Write"} {
				total, _ := server.At("wiredTiger/concurrentTransactions/" + strings.ToLower(kind) +
					"/totalTickets").Number(status)
				commands = append(commands, bson.D{{Key: "setParameter", Value: 1},
					{Key: "wiredTigerConcurrent" + kind + "Transactions", Value: int32(max(5, total*share))}})
			}
		}
		for _, cmd := range commands {
			if _, err := server.Query(ctx, c, cmd); err != nil {
				return err
			}
		}
		return nil
	}
	restore := func() error {
		defer end()
		return set(context.WithoutCancel(ctx), 1)
	}
	if err := set(ctx, share); err != nil {
		return "", nil, errors.Join(err, restore())
	}
	return what + " of the primary", restore, nil
}
