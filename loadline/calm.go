package loadline

import (
	"context"
	"fmt"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/server"
)

// How calm a target is before a step, and how long a step waits for that.
const (
	calmWithin = 20 * time.Second
	calmEvery  = 500 * time.Millisecond
	askWithin  = 5 * time.Second

	mostDirty  = 0.05 // share of the cache: WiredTiger begins to write at 5 %
	mostBehind = 5 * time.Second
)

// calm waits until the target has worked off the load of the step before, and returns what was not calm at the limit.
func (c *session) calm(ctx context.Context) []string {
	if c.o.Ask == nil {
		return nil
	}
	asking, stop, err := c.o.Ask(ctx)
	if err != nil {
		return []string{"its state could not be read: " + err.Error()}
	}
	defer stop()
	for deadline := time.Now().Add(calmWithin); ; {
		restless := restlessness(ctx, asking)
		if len(restless) == 0 || ctx.Err() != nil || time.Now().After(deadline) {
			return restless
		}
		select {
		case <-ctx.Done():
		case <-time.After(calmEvery):
		}
	}
}

// restlessness returns what is not calm: queues, dirty pages, members that are behind. What cannot be read counts as
// calm, because some deployments do not answer.
func restlessness(ctx context.Context, asking server.Commander) (list []string) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	load, err := server.QueryLoad(ctx, asking)
	if err != nil {
		return nil
	}
	if load.Queued > 0 {
		list = append(list, figure.Count(load.Queued)+" operations wait")
	}
	if load.Dirty > mostDirty {
		list = append(list, figure.Percent(load.Dirty)+" of the cache is dirty")
	}
	if set, err := server.QuerySet(ctx, asking); err == nil {
		if behind := set.Behind(); behind > mostBehind {
			list = append(list, fmt.Sprintf("a secondary is %s behind", figure.Duration(behind)))
		}
	}
	return list
}
