package topology

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/record"
)

func (c *documentDB) Describe(ctx context.Context, depth Depth) []record.LabMember {
	var replication []engine.Standby
	if leader := c.leader(); leader != nil && leader.node.Status().Running {
		// The query takes a fraction of a millisecond on a local socket, unless the primary is paused.
		limit, cancel := context.WithTimeout(ctx, describeTimeout(depth))
		replication, _ = leader.node.Replication(limit)
		cancel()
	}
	var all []record.LabMember
	for _, m := range c.members {
		all = append(all, c.describeMember(ctx, m, replication, depth))
	}
	for _, e := range c.etcd {
		d := describeNode(ctx, e, c.plan(e.Name()), depth)
		d.Role = "etcd"
		all = append(all, d)
	}
	for _, g := range c.gateways {
		d := describeNode(ctx, g.node, g.plan, depth)
		d.Role, d.Durability = "gateway", g.plan.Durability
		all = append(all, d)
	}
	return all
}

func describeTimeout(depth Depth) time.Duration {
	if depth > Known {
		return 2 * time.Second
	}
	return 100 * time.Millisecond
}

// plan returns the plan of a server.
func (c *documentDB) plan(name string) MemberPlan {
	i := slices.IndexFunc(c.site.Layout.Members, func(m MemberPlan) bool { return m.Name == name })
	return c.site.Layout.Members[i]
}

func (c *documentDB) describeMember(ctx context.Context, m *pgMember, replication []engine.Standby,
	depth Depth) record.LabMember {
	d := describeNode(ctx, m.node, m.plan, depth)
	d.Volume = m.plan.Name
	c.mu.Lock()
	leader, at, down, joining, stopping := c.primary, m.at, m.down, m.joining, c.stopping
	synced := slices.Contains(c.synced, m.plan.Name)
	c.mu.Unlock()
	d.Term = at.Timeline
	switch {
	case d.State != "running":
		d.Role = "unknown"
	case c.singleMember():
		d.Role, d.Term = "standalone", max(at.Timeline, 1)
	case down && !stopping:
		d.Role, d.Problem = "unknown", "PostgreSQL does not answer; Patroni runs"
	case !at.Standby && leader != nil:
		d.Role = "primary"
		if m != leader {
			d.Problem = fmt.Sprintf("it accepts writes although %s is the primary", leader.plan.Name)
		}
	default:
		d.Role = "secondary"
		for _, s := range replication {
			if s.Name == m.plan.Name {
				lag, seconds := s.LagBytes, s.LagSeconds
				d.LagBytes, d.LagSeconds = &lag, &seconds
			}
		}
		switch {
		case stopping:
		case d.LagBytes == nil || joining:
			d.Problem = "it does not receive from the primary"
		case !synced:
			d.Problem = "Patroni does not count it as a synchronous standby yet, so it cannot be promoted"
		}
	}
	return d
}

func (c *documentDB) Primary(ctx context.Context, set string) (string, error) {
	if set != "" && set != pgSet {
		return "", fmt.Errorf("there is no set %q; the only set is %s", set, pgSet)
	}
	leader := c.leader()
	if leader == nil {
		return "", errors.New("the cluster has not been started")
	}
	begun := time.Now()
	c.poll(ctx, leader)
	c.mu.Lock()
	defer c.mu.Unlock()
	same := c.primary == leader
	leader = c.primary
	switch {
	case same && leader.answered.Before(begun):
		return "", fmt.Errorf("%w: the last one, %s, does not answer", ErrNoPrimary, leader.plan.Name)
	case leader.at.Standby:
		return "", fmt.Errorf("%w: the last one, %s, is a standby", ErrNoPrimary, leader.plan.Name)
	}
	return leader.plan.Name, nil
}
