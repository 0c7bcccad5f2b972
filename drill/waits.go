package drill

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/mongouri"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
)

// defaultPatience is the longest time without an answer of a server or a lab after the load. Elections, recoveries of
// migrations and slow disks are over by then, and batches of an audit take seconds on the slowest server that was
// tried.
const defaultPatience = 2 * time.Minute

// unanswered collects the waits of a round that ended without their result.
type unanswered struct {
	mu   sync.Mutex
	list []*wait.Error
}

func (u *unanswered) add(e *wait.Error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.list = append(u.list, e)
}

// unmentioned returns the texts of the waits that other reasons do not name.
func (u *unanswered) unmentioned(reasons []string) (list []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := strings.Join(reasons, "\n")
	for _, e := range u.list {
		if !strings.Contains(all, e.Name) {
			all += e.Name
			list = append(list, oneLine(e))
		}
	}
	return list
}

// listen returns a context whose waits say what they wait for as notes of the drill, and are collected when they end
// without their result. after is that of [runner.afterLoad].
func (r *round) listen(ctx, after context.Context) context.Context {
	return wait.Listen(ctx, wait.Listener{Say: r.drill.progress.Note, GaveUp: r.unanswered.add,
		Must: func(ctx context.Context) (context.Context, context.CancelFunc) { return r.drill.must(ctx, after) }})
}

// afterLoad returns a context for what follows the load. An interrupt during the load ends the load, and the writes
// until then are audited. The context ends at an interrupt after the load, or when the drill is aborted.
func (c *runner) afterLoad(ctx context.Context, loadOver <-chan struct{}) (context.Context, context.CancelFunc) {
	after, stop := c.untilAborted(ctx)
	unregister := context.AfterFunc(ctx, func() {
		select {
		case <-loadOver:
			stop()
		default:
		}
	})
	return after, func() { unregister(); stop() }
}

// graceAtMost is how long what must be done goes on after an interrupt. Healing that works takes less.
const graceAtMost = 5 * time.Second

// must returns a context for what has to be done even after an interrupt, such as healing. If after has ended already,
// it ends when the drill is aborted, else a little later than after.
func (c *runner) must(ctx, after context.Context) (context.Context, context.CancelFunc) {
	always, stop := c.untilAborted(ctx)
	if after.Err() != nil {
		return always, stop
	}
	unregister := context.AfterFunc(after, func() {
		select {
		case <-time.After(graceAtMost):
			stop()
		case <-always.Done():
		}
	})
	return always, func() { unregister(); stop() }
}

// untilAborted returns a context that outlives ctx and ends when the drill is aborted.
func (c *runner) untilAborted(ctx context.Context) (context.Context, context.CancelFunc) {
	always, stop := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		select {
		case <-c.o.Run.Abort:
			stop()
		case <-always.Done():
		}
	}()
	return always, stop
}

// patience is the longest time without an answer after the load.
func (c *runner) patience() time.Duration {
	return cmp.Or(c.o.Patience, defaultPatience)
}

// within is a limit of its own, or the patience of the options if that is shorter.
func (c *runner) within(limit time.Duration) time.Duration {
	if c.o.Patience > 0 {
		return min(limit, c.o.Patience)
	}
	return limit
}

// wait waits for an answer of the lab or another machine.
func (c *runner) wait(ctx context.Context, name string, do func(ctx context.Context) error) error {
	return wait.Wait{Name: name, Limit: c.patience()}.Do(ctx, do)
}

// addressText names the servers of an address: a member of the lab, or the hosts.
func (t *target) addressText(uri string) string {
	a, err := mongouri.Parse(uri)
	if err != nil {
		return "its address"
	}
	for _, m := range t.before.Members {
		if m.Address == a.Hosts {
			return m.Name + " (" + a.Hosts + ")"
		}
	}
	return a.Hosts
}
