package topology

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/wait"
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
	c.setPlanned(true)
	// Patroni accepts a standby that has just returned within two of its loops.
	limit := time.Now().Add(10*time.Second + 2*time.Duration(c.settings["loop_wait"].(int))*time.Second)
	for {
		err := old.node.SwitchOver(ctx)
		if err == nil {
			break
		}
		if wait.Sleep(ctx, 200*time.Millisecond) != nil || time.Now().After(limit) {
			c.setPlanned(false)
			return fmt.Errorf("%s did not step down: %w", name, err)
		}
	}
	for c.leader() == old {
		for _, m := range c.members {
			c.poll(ctx, m)
		}
		if err := wait.Sleep(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("%s has stepped down, but no other member is primary yet: %w", name, err)
		}
	}
	return nil
}

func (c *documentDB) setPlanned(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.planned = on
}
