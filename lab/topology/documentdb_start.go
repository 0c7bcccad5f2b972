package topology

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
)

// each calls f for all of a list at the same time and joins the errors.
func inParallel2[T any](list []T, f func(T) error) error {
	errs := make([]error, len(list))
	var all sync.WaitGroup
	for i, x := range list {
		all.Go(func() { errs[i] = f(x) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// Start starts all members from the same template, so that standbys stream from the first byte on, then the gateways,
// and returns when all standbys stream and a write was acknowledged by a majority.
func (c *documentDB) Start(ctx context.Context) error {
	c.op.Lock()
	defer c.op.Unlock()
	if err := c.start(ctx); err != nil {
		return fmt.Errorf("%w\n%s", err, c.statusLines())
	}
	return nil
}

func (c *documentDB) start(ctx context.Context) error {
	for _, dir := range []string{"logs", "gateways"} {
		if err := os.MkdirAll(filepath.Join(c.site.Dir, dir), 0o700); err != nil {
			return err
		}
	}
	primary := c.members[0]
	if err := c.startMembers(ctx, primary); err != nil {
		return err
	}
	c.site.Event("progress", "the members run; waiting for standbys and gateways", nil)
	gateways := make(chan error, 1)
	go func() { gateways <- c.startGateways(ctx) }()
	err := c.waitStreaming(ctx, primary, len(c.members)-1)
	if err = errors.Join(err, <-gateways); err != nil {
		return err
	}
	// The first gateway is the one that waits for a majority.
	if err := c.gateways[0].node.Prove(ctx); err != nil {
		return fmt.Errorf("no write was acknowledged by a majority: %w", err)
	}
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.members {
		m.answered = now
	}
	return nil
}

// startMembers makes the members and starts them. They get their passwords from the primary's write-ahead log.
func (c *documentDB) startMembers(ctx context.Context, primary *pgMember) error {
	if err := engine.PrepareTemplate(ctx, c.site.Home); err != nil {
		return err
	}
	err := inParallel2(c.members, func(m *pgMember) error {
		dir, err := c.site.Volume(ctx, m.plan.Name)
		if err != nil {
			return fmt.Errorf("%s has no volume: %w", m.plan.Name, err)
		}
		if err := m.node.Create(ctx, dir); err != nil {
			return err
		}
		if m == primary {
			err = m.node.Lead()
		} else {
			err = m.node.Follow(ctx, primary.node.Upstream())
		}
		if err != nil {
			return err
		}
		return m.node.Start(ctx)
	})
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.primary, c.history = primary, history{timeline: 1}
	c.mu.Unlock()
	if err := primary.node.WaitSocket(ctx); err != nil {
		return err
	}
	if err := primary.node.MakeUsers(ctx, c.secrets.User, c.secrets.Client); err != nil {
		return err
	}
	if err := primary.node.MakeSlots(ctx); err != nil {
		return err
	}
	return primary.node.Wait(ctx)
}

// startGateways starts the gateways and waits until they answer.
func (c *documentDB) startGateways(ctx context.Context) error {
	u := c.leader().node.Upstream()
	return inParallel2(c.gateways, func(g *pgGateway) error { return c.startGateway(ctx, g, u) })
}

// restartGateways ends the gateways that run and starts them for another primary. Those that are dead for another
// reason stay so.
func (c *documentDB) restartGateways(ctx context.Context) error {
	c.endGateways()
	u := c.leader().node.Upstream()
	return inParallel2(c.gateways, func(g *pgGateway) error {
		if !g.canRestart(c) {
			return nil
		}
		return c.startGateway(ctx, g, u)
	})
}

// startGateway starts one gateway for a primary.
func (c *documentDB) startGateway(ctx context.Context, g *pgGateway, u engine.Upstream) error {
	g.node.SetPrimary(u)
	if err := g.node.Start(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	g.ended = false
	c.mu.Unlock()
	return g.node.Wait(ctx)
}

// endGateways ends them all at once: no client reaches the primary any more, and nothing that it does still is
// acknowledged. Those that were ended for another reason stay so.
func (c *documentDB) endGateways() {
	_ = inParallel2(c.gateways, func(g *pgGateway) error {
		if g.node.Status().Running {
			c.mu.Lock()
			g.ended = true
			c.mu.Unlock()
			end(g.node)
		}
		return nil
	})
}

// waitStreaming waits until the primary has so many standbys that stream.
func (c *documentDB) waitStreaming(ctx context.Context, primary *pgMember, want int) error {
	for {
		list, err := primary.node.Replication(ctx)
		have := 0
		var states []string
		for _, s := range list {
			if s.State == "streaming" {
				have++
			}
			states = append(states, s.Name+" "+s.State)
		}
		if err == nil && have >= want {
			return nil
		}
		for _, m := range c.members {
			if !m.node.Status().Running {
				return m.node.Wait(ctx) // it says why
			}
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("%d of %d standbys stream from %s (it sees: %s): %w", have, want, primary.plan.Name, strings.Join(states, ", "), err)
		}
	}
}

// rest waits a moment, or returns why ctx is done.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// statusLines say how all servers are, for the end of an error message.
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

// Stop ends the gateways and then all members. A primary's clean end waits for its standbys, so all end together.
func (c *documentDB) Stop(ctx context.Context) error {
	c.mu.Lock()
	c.stopping = true
	c.mu.Unlock()
	c.op.Lock()
	defer c.op.Unlock()
	c.endReaders()
	c.endGateways()
	return inParallel2(c.members, func(m *pgMember) error { return m.node.Stop(ctx) })
}
