package topology

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
)

// Start starts etcd, all members from the same template, so that standbys need no base backup, and the gateways. It
// returns when all standbys stream and a majority has acknowledged a write.
func (c *documentDB) Start(ctx context.Context) error {
	c.op.Lock()
	defer c.op.Unlock()
	if err := c.start(ctx); err != nil {
		return fmt.Errorf("%w\n%s", err, c.statusLines())
	}
	return nil
}

func (c *documentDB) start(ctx context.Context) error {
	for _, dir := range []string{"logs", "gateways", "etcd"} {
		if err := os.MkdirAll(filepath.Join(c.site.Dir, dir), 0o700); err != nil {
			return err
		}
	}
	primary, err := c.startMembers(ctx)
	if err != nil {
		return err
	}
	c.site.Event("progress", "the members run; waiting for standbys and gateways", nil)
	gateways := make(chan error, 1)
	go func() {
		gateways <- wait.Each(c.gateways, func(g *pgGateway) error { return c.startGateway(ctx, g) })
	}()
	err = c.waitStreaming(ctx, primary, len(c.members)-1)
	if err = errors.Join(err, <-gateways); err != nil {
		return err
	}
	// The first gateway waits for a majority.
	if err := c.gateways[0].node.Prove(ctx); err != nil {
		return fmt.Errorf("a majority did not acknowledge a write: %w", err)
	}
	for _, m := range c.members {
		c.poll(ctx, m)
	}
	if c.singleMember() {
		return nil
	}
	if err := c.awaitSynced(ctx, primary); err != nil {
		return err
	}
	return primary.node.Configure(ctx, c.settings)
}

// awaitSynced waits until Patroni counts all standbys, and then raises the number that a commit waits for.
func (c *documentDB) awaitSynced(ctx context.Context, primary *pgMember) error {
	for want := syncStandbys(c.site.Spec); ; {
		n, err := 0, error(nil)
		if c.allSynced(ctx) {
			if n, err = primary.node.AwaitedStandbys(ctx); err == nil && n >= want {
				return nil
			}
		}
		if ended := wait.Sleep(ctx, 50*time.Millisecond); ended != nil {
			return errors.Join(fmt.Errorf("some standbys are not yet synchronous for Patroni (commits wait for %d of %d): %w",
				n, want, ended), err)
		}
	}
}

// startMembers makes the members and starts them with etcd, and returns the primary. Standbys receive the passwords
// with its WAL.
func (c *documentDB) startMembers(ctx context.Context) (*pgMember, error) {
	if err := engine.PrepareTemplate(ctx, c.site.Home); err != nil {
		return nil, err
	}
	etcd := make(chan error, 1)
	go func() { etcd <- wait.Each(c.etcd, func(e *engine.Etcd) error { return e.Start(ctx) }) }()
	err := wait.Each(c.members, func(m *pgMember) error {
		dir, err := c.site.Volume(ctx, m.plan.Name)
		if err != nil {
			return fmt.Errorf("cannot make the volume of %s: %w", m.plan.Name, err)
		}
		return m.node.Create(ctx, dir)
	})
	if err = errors.Join(err, <-etcd); err != nil {
		return nil, err
	}
	if err := c.seedCluster(ctx, c.members[0]); err != nil {
		return nil, err
	}
	if err := wait.Each(c.members, func(m *pgMember) error { return m.node.Start(ctx) }); err != nil {
		return nil, err
	}
	primary, err := c.waitWritable(ctx)
	if err != nil {
		return nil, err
	}
	if err := primary.node.MakeUsers(ctx, c.secrets.User, c.secrets.Client); err != nil {
		return nil, err
	}
	return primary, primary.node.Wait(ctx)
}

// seedCluster writes into etcd what Patroni would write for a cluster that it creates: the members' data are there
// already. The first member gets the lease, so that it becomes the primary. Until the cluster is usable, Patroni polls
// every second, which shortens the start, and starts that primary instead of failing over.
func (c *documentDB) seedCluster(ctx context.Context, first *pgMember) error {
	if c.singleMember() {
		return nil
	}
	id, err := first.node.SystemID(ctx)
	if err != nil {
		return err
	}
	settings := first.node.ClusterSettings()
	settings["loop_wait"], settings["retry_timeout"] = 1, 3
	delete(settings, "primary_start_timeout")
	config, err := json.Marshal(settings)
	if err != nil {
		return err
	}
	// All members have the same data, so Patroni may promote any standby. It would count them one by one, over seconds.
	var standbys []string
	for _, m := range c.members {
		if m != first {
			standbys = append(standbys, m.plan.Name)
		}
	}
	synced, err := json.Marshal(map[string]any{"leader": first.plan.Name, "sync_standby": strings.Join(standbys, ","),
		"quorum": len(standbys) - syncStandbys(c.site.Spec)})
	if err != nil {
		return err
	}
	keys := map[string]string{"initialize": id, "config": string(config), "sync": string(synced)}
	for name, value := range keys {
		if err := c.etcd[0].Put(ctx, etcdPrefix+name, value, 0); err != nil {
			return fmt.Errorf("etcd does not accept writes: %w", err)
		}
	}
	return c.etcd[0].Put(ctx, etcdPrefix+"leader", first.plan.Name, c.settings["ttl"].(int))
}

// etcdPrefix is where Patroni keeps the state of the set.
const etcdPrefix = "/service/" + pgSet + "/"

// waitWritable waits until a member accepts writes.
func (c *documentDB) waitWritable(ctx context.Context) (*pgMember, error) {
	for {
		var last error
		for _, m := range c.members {
			at, err := m.node.Position(ctx)
			if err == nil && !at.Standby {
				return m, nil
			}
			if !m.node.Status().Running {
				return nil, m.node.Wait(ctx) // returns the reason
			}
			last = errors.Join(last, err)
		}
		if err := wait.Sleep(ctx, 20*time.Millisecond); err != nil {
			return nil, errors.Join(fmt.Errorf("no member became the primary: %w", err), last)
		}
	}
}

// startGateway starts a gateway for the members at their present addresses, and waits until it answers.
func (c *documentDB) startGateway(ctx context.Context, g *pgGateway) error {
	g.node.SetMembers(c.upstreams()...)
	if err := g.node.Start(ctx); err != nil {
		return err
	}
	return g.node.Wait(ctx)
}

// upstreams returns the addresses of all members.
func (c *documentDB) upstreams() (all []engine.Upstream) {
	for _, m := range c.members {
		all = append(all, m.node.Upstream())
	}
	return all
}

// waitStreaming waits until the given number of standbys streams from the primary and acknowledges its writes.
func (c *documentDB) waitStreaming(ctx context.Context, primary *pgMember, want int) error {
	for {
		list, err := primary.node.Replication(ctx)
		have := 0
		var states []string
		for _, s := range list {
			if s.State == "streaming" && s.Sync == "quorum" {
				have++
			}
			states = append(states, s.Name+" "+s.State+" "+s.Sync)
		}
		if err == nil && have >= want {
			return nil
		}
		for _, m := range c.members {
			if !m.node.Status().Running {
				return m.node.Wait(ctx) // returns the reason
			}
		}
		if err := wait.Sleep(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("only %d of %d standbys stream from %s (states: %s): %w",
				have, want, primary.plan.Name, strings.Join(states, ", "), err)
		}
	}
}

// statusLines returns the state of all servers, for the end of an error message.
func (c *documentDB) statusLines() string {
	var b strings.Builder
	for _, m := range c.Describe(context.Background(), Known) {
		fmt.Fprintf(&b, "  | %s on %s at %s: %s, %s", m.Name, m.Host, m.Address, m.State, m.Role)
		if m.Problem != "" {
			b.WriteString(", " + m.Problem)
		}
		b.WriteString("\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// Stop ends the gateways, then all members, concurrently because a primary waits for its standbys when it shuts down,
// and then etcd, which has nothing that is used again.
func (c *documentDB) Stop(ctx context.Context) error {
	c.mu.Lock()
	c.stopping = true
	c.mu.Unlock()
	c.op.Lock()
	defer c.op.Unlock()
	c.endReaders()
	err := wait.Each(c.gateways, func(g *pgGateway) error { return g.node.Kill() })
	err = errors.Join(err, wait.Each(c.members, func(m *pgMember) error { return m.node.StopAlone(ctx) }))
	return errors.Join(err, wait.Each(c.etcd, func(e *engine.Etcd) error { return e.Kill() }))
}
