package topology

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// StepDown makes Patroni hand over without data loss: it shuts the primary down, so that a standby receives all WAL,
// and promotes that standby. If no standby can be promoted, the primary remains.
func (c *documentDB) StepDown(ctx context.Context, set string) error {
	name, err := c.Primary(ctx, set)
	if err != nil {
		return err
	}
	if c.singleMember() {
		return errors.New("cannot step down: the lab has a single member; use topology.kind: replica-set")
	}
	old := c.member(name)
	// Patroni accepts a standby within two of its loops.
	limit := 10*time.Second + 2*time.Duration(c.settings["loop_wait"].(int))*time.Second
	for end := time.Now().Add(limit); !c.anySynced(ctx) && time.Now().Before(end); {
		if err := sleep(ctx, 50*time.Millisecond); err != nil {
			return fmt.Errorf("%s did not step down: no standby can be promoted: %w", name, err)
		}
	}
	c.setPlanned(true)
	if err := old.node.SwitchOver(ctx); err != nil {
		c.setPlanned(false)
		return fmt.Errorf("%s did not step down: %w", name, err)
	}
	for c.leader() == old {
		for _, m := range c.members {
			c.poll(ctx, m)
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("%s has stepped down, but no other member is primary yet: %w", name, err)
		}
	}
	return nil
}

// anySynced reports whether Patroni may promote a standby.
func (c *documentDB) anySynced(ctx context.Context) bool {
	c.pollSynced(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.members, func(m *pgMember) bool { return slices.Contains(c.synced, m.plan.Name) })
}

func (c *documentDB) setPlanned(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.planned = on
}
