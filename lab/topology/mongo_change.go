package topology

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/server"
)

// changeLimit bounds a change whose caller has no deadline, and a return without progress.
const changeLimit = 2 * time.Minute

// StepDown makes the primary of a set hand over, and returns when another member is primary.
func (c *mongoCluster) StepDown(ctx context.Context, set string) error {
	ctx, cancel := wait.Bounded(ctx, changeLimit)
	defer cancel()
	set, err := c.oneSet(set)
	if err != nil {
		return err
	}
	if set == "" {
		return errors.New("a standalone cannot step down; use topology.kind: replica-set")
	}
	old, err := c.primary(ctx, set)
	if err != nil {
		return err
	}
	lost := old.Command(ctx, engine.AsUser, "admin", server.StepDown(), nil)
	if err := server.StepDownRefused(old.Name(), lost); err != nil {
		return err
	}
	// The connection may be lost, so the result is read from the set.
	return until(ctx, "handing over from "+old.Name(), func(ctx context.Context) (bool, error) {
		now, err := c.primary(ctx, set)
		switch {
		case err != nil:
			return false, errors.Join(err, lost)
		case now == old:
			return false, errors.Join(fmt.Errorf("%s is still primary", old.Name()), lost)
		}
		return true, nil
	})
}

func (a answer) role() string {
	if a.err != nil {
		return "unknown"
	}
	return a.Role()
}

// Return starts a member again and waits until it has joined its set. If its address has changed, it reconfigures the
// set (manual: "Change Hostnames in a Self-Managed Replica Set"). It has no time limit while the member makes progress:
// a member that lost its data copies all of them.
func (c *mongoCluster) Return(ctx context.Context, member string) error {
	n := c.node(member)
	if n == nil {
		return fmt.Errorf("there is no member %s; see 'plimsoll lab status'", member)
	}
	if n.Role() == engine.MongoRouter {
		n.SetConfigDB(c.seeds(mongoConfig)) // config servers may have moved
	}
	if n.Paused() {
		return fmt.Errorf("%s is paused, so it cannot be started; resume it first", member)
	}
	limit, cancel := context.WithTimeout(ctx, changeLimit)
	defer cancel()
	if err := c.launch(limit, []*engine.MongoNode{n}); err != nil {
		return err
	}
	if n.Set() != "" {
		if err := c.whileProgressing(ctx, n, func(ctx context.Context) error { return c.rejoin(ctx, n) }); err != nil {
			return err
		}
	}
	c.reportRollback(n)
	return nil
}

// rejoin waits until a member is in its set again.
func (c *mongoCluster) rejoin(ctx context.Context, n *engine.MongoNode) error {
	return until(ctx, "the return of "+n.Name()+" to its set", func(ctx context.Context) (bool, error) {
		if ended(n) {
			return true, fmt.Errorf("%s has ended%s", n.Name(), n.LogTail())
		}
		h, err := n.Hello(ctx)
		if err == nil && h.SetName == n.Set() && (h.Writable || h.Secondary || h.Arbiter) {
			c.noteRole(n.Name(), answer{Hello: h}.role())
			return true, nil
		}
		last := fmt.Errorf("it is %s", answer{h, err}.words())
		if h.Info != "" {
			last = fmt.Errorf("it is %s: %s", answer{h, err}.words(), h.Info)
		}
		if err := c.readdress(ctx, n); err != nil {
			last = errors.Join(last, err)
		}
		return false, last
	})
}

// number returns a field with any type of number, or -1.
func number(d bson.D, key string) int64 {
	for _, e := range d {
		if e.Key != key {
			continue
		}
		switch v := e.Value.(type) {
		case int32:
			return int64(v)
		case int64:
			return v
		case float64:
			return int64(v)
		}
	}
	return -1
}

// reportRollback records an event for new files with writes that a member has rolled back. The files stay.
func (c *mongoCluster) reportRollback(n *engine.MongoNode) {
	var fresh []string
	c.mu.Lock()
	for _, file := range n.Rollbacks() {
		if !c.reportedRollbacks[file] {
			c.reportedRollbacks[file] = true
			fresh = append(fresh, file)
		}
	}
	c.mu.Unlock()
	if len(fresh) == 0 {
		return
	}
	c.event("member", map[string]string{"member": n.Name(), "files": strings.Join(fresh, "\n")},
		"%s rolled back unreplicated writes; %s in %s", n.Name(),
		figure.Plural(len(fresh), "file"), filepath.Join(n.DataDir(), "rollback"))
}

// Stop ends routers, then shards, then config servers (manual: "Stop a Self-Managed Sharded Cluster").
func (c *mongoCluster) Stop(ctx context.Context) error {
	ctx, cancel := wait.Bounded(ctx, changeLimit)
	defer cancel()
	errs := []error{wait.Each(c.routers(), func(n *engine.MongoNode) error { return c.stopNode(ctx, n) })}
	data := c.filter(func(n *engine.MongoNode) bool {
		return n.Role() != engine.MongoRouter && n.Role() != engine.MongoConfig
	})
	errs = append(errs, c.stopServers(ctx, data))
	return errors.Join(append(errs, c.stopServers(ctx, c.inSet(mongoConfig)))...)
}

// stopServers ends primaries first, while other members can take over. A primary without other members waits for them
// before it ends.
func (c *mongoCluster) stopServers(ctx context.Context, nodes []*engine.MongoNode) error {
	var first, others []*engine.MongoNode
	for i, a := range helloAll(ctx, nodes) {
		if a.role() == "primary" {
			first = append(first, nodes[i])
		} else {
			others = append(others, nodes[i])
		}
	}
	stop := func(n *engine.MongoNode) error { return c.stopNode(ctx, n) }
	return errors.Join(wait.Each(first, stop), wait.Each(others, stop))
}

// stopNode ends one server cleanly. Since 5.0 a server runs for 15 s after SIGTERM, so that clients can move to other
// members. That is useless when the whole cluster ends, so stopNode shortens the time first (manual: "Server
// Parameters", shutdownTimeoutMillisForSignaledShutdown). A server that refuses the parameter ends later.
func (c *mongoCluster) stopNode(ctx context.Context, n *engine.MongoNode) error {
	if n.Status().Running && !n.Paused() && c.programs.Version.AtLeast(5, 0) {
		name, as := "shutdownTimeoutMillisForSignaledShutdown", engine.AsUser
		if n.Role() == engine.MongoRouter {
			name = "mongosShutdownTimeoutMillisForSignaledShutdown"
		}
		one, cancel := context.WithTimeout(ctx, 10*time.Second) // a server that hangs is stopped anyway
		_ = n.Command(one, as, "admin", bson.D{{Key: "setParameter", Value: 1}, {Key: name, Value: int32(100)}}, nil)
		cancel()
	}
	return n.Stop(ctx)
}
