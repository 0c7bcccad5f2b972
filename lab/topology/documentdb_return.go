package topology

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
)

// returnLimit bounds a return: all data of a member may have to be copied.
const returnLimit = 5 * time.Minute

var errStopping = errors.New("the lab is going down")

// Return starts a server again. Patroni makes a member of the set what it can be: the primary, or a standby. If there
// is no primary, a member that answers has returned.
func (c *documentDB) Return(ctx context.Context, member string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, returnLimit, fmt.Errorf("the limit of %v is over", returnLimit))
	defer cancel()
	if c.leader() == nil {
		return errors.New("the cluster has not been started")
	}
	var err error
	switch n, ok := c.Node(member); n := n.(type) {
	case *engine.Postgres:
		err = c.returnMember(ctx, c.member(member))
	case *engine.Gateway:
		err = c.returnGateway(ctx, n)
	case *engine.Etcd:
		if !n.Status().Running {
			err = n.Start(ctx)
		}
		if err == nil {
			err = n.Wait(ctx)
		}
	default:
		if !ok {
			return fmt.Errorf("there is no member %s; see 'plimsoll lab status'", member)
		}
	}
	if err != nil {
		return fmt.Errorf("%w\n%s", err, c.statusLines())
	}
	return nil
}

func (c *documentDB) returnGateway(ctx context.Context, g *engine.Gateway) error {
	c.op.Lock()
	defer c.op.Unlock()
	if c.isStopping() {
		return errStopping
	}
	if !g.Status().Running {
		g.SetMembers(c.upstreams()...)
		if err := g.Start(ctx); err != nil {
			return err
		}
	}
	if _, err := c.Primary(ctx, ""); err != nil {
		return nil // it answers when there is a primary
	}
	return g.Wait(ctx)
}

func (c *documentDB) isStopping() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopping
}

func (c *documentDB) returnMember(ctx context.Context, m *pgMember) error {
	if !m.node.Status().Running {
		c.mu.Lock()
		m.answered, m.joining = time.Time{}, m != c.primary
		c.mu.Unlock()
		if err := m.node.Start(ctx); err != nil && !m.node.Status().Running { // another return may have started it
			return err
		}
		if err := c.readdressGateways(ctx); err != nil {
			return err
		}
	}
	begun := time.Now()
	for {
		c.poll(ctx, m)
		switch {
		case c.isStopping():
			return errStopping
		case c.hasReturned(m, begun):
			return nil
		case !m.node.Status().Running:
			return m.node.Wait(ctx) // returns the reason
		}
		if err := wait.Sleep(ctx, 50*time.Millisecond); err != nil {
			return fmt.Errorf("%s runs but has not joined its set: %w", m.plan.Name, err)
		}
	}
}

// hasReturned reports whether a member has become a primary, or a standby that receives. If no primary has answered for
// so long that one would have, a standby that answers is enough.
func (c *documentDB) hasReturned(m *pgMember, since time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	alone := time.Since(c.led) > silentAfter && time.Since(since) > silentAfter
	return m.answered.After(since) && (!m.joining || m.at.Standby && alone)
}

// readdressGateways restarts the gateways that run with former addresses of members, after a member has moved.
func (c *documentDB) readdressGateways(ctx context.Context) error {
	c.op.Lock()
	defer c.op.Unlock()
	now := c.upstreams()
	return wait.Each(c.gateways, func(g *pgGateway) error {
		if c.isStopping() || !g.node.Status().Running || slices.Equal(g.node.Members(), now) {
			return nil
		}
		return c.restartGateway(ctx, g, "a member has another address")
	})
}

// restartGateway restarts a gateway with the members' present addresses, and writes an event with the reason. c.op is
// held.
func (c *documentDB) restartGateway(ctx context.Context, g *pgGateway, why string) error {
	c.site.Event("restart", g.plan.Name+" was restarted, because "+why, map[string]string{"member": g.plan.Name})
	if err := g.node.Kill(); err != nil {
		return err
	}
	g.node.SetMembers(c.upstreams()...)
	return g.node.Start(ctx)
}
