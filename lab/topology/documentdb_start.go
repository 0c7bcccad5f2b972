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

// inParallel calls f for all elements concurrently and joins the errors.
func inParallel[T any](list []T, f func(T) error) error {
	errs := make([]error, len(list))
	var all sync.WaitGroup
	for i, x := range list {
		all.Go(func() { errs[i] = f(x) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// Start starts all members from the same template, so that standbys need no base backup, then the gateways. It returns
// when all standbys stream and a majority has acknowledged a write.
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
	// The first gateway waits for a majority.
	if err := c.gateways[0].node.Prove(ctx); err != nil {
		return fmt.Errorf("a majority did not acknowledge a write: %w", err)
	}
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.members {
		m.answered = now
	}
	return nil
}

// startMembers makes the members and starts them. Standbys receive the passwords with the primary's WAL.
func (c *documentDB) startMembers(ctx context.Context, primary *pgMember) error {
	if err := engine.PrepareTemplate(ctx, c.site.Home); err != nil {
		return err
	}
	err := inParallel(c.members, func(m *pgMember) error {
		dir, err := c.site.Volume(ctx, m.plan.Name)
		if err != nil {
			return fmt.Errorf("cannot make the volume of %s: %w", m.plan.Name, err)
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
	return inParallel(c.gateways, func(g *pgGateway) error { return c.startGateway(ctx, g, u) })
}

// restartGateways restarts the gateways that run, for the current primary. Those that a fault has stopped stay stopped.
func (c *documentDB) restartGateways(ctx context.Context) error {
	c.endGateways()
	return c.startEndedGateways(ctx, c.leader())
}

// startEndedGateways starts the gateways that endGateways has stopped.
func (c *documentDB) startEndedGateways(ctx context.Context, leader *pgMember) error {
	u := leader.node.Upstream()
	return inParallel(c.gateways, func(g *pgGateway) error {
		if !g.canRestart(c) {
			return nil
		}
		return c.startGateway(ctx, g, u)
	})
}

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

// endGateways kills all gateways that run. From then on no client reaches the primary, and no write is acknowledged.
func (c *documentDB) endGateways() {
	_ = inParallel(c.gateways, func(g *pgGateway) error {
		if g.node.Status().Running {
			c.mu.Lock()
			g.ended = true
			c.mu.Unlock()
			end(g.node)
		}
		return nil
	})
}

// waitStreaming waits until the given number of standbys streams from the primary.
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
				return m.node.Wait(ctx) // returns the reason
			}
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("only %d of %d standbys stream from %s (states: %s): %w",
				have, want, primary.plan.Name, strings.Join(states, ", "), err)
		}
	}
}

// sleep waits for d, or returns the cause if ctx ends first.
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

// Stop ends the gateways and then all members, concurrently because a primary waits for its standbys when it shuts
// down.
func (c *documentDB) Stop(ctx context.Context) error {
	c.mu.Lock()
	c.stopping = true
	c.mu.Unlock()
	c.op.Lock()
	defer c.op.Unlock()
	c.endReaders()
	c.endGateways()
	return inParallel(c.members, func(m *pgMember) error { return m.node.Stop(ctx) })
}
