package topology

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// The limits of a step-down, as in MongoDB's replSetStepDown.
const (
	catchUpLimit = 10 * time.Second // for a standby to receive all WAL (secondaryCatchUpPeriodSecs)
	writersLimit = 5 * time.Second  // for writes in progress
)

// StepDown hands over without data loss: the primary refuses new writes, writes in progress end, a standby receives all
// WAL, and the old primary becomes a standby of the new one. If no standby catches up in time, the primary remains.
func (c *documentDB) StepDown(ctx context.Context, set string) error {
	if _, err := c.Primary(ctx, set); err != nil {
		return err
	}
	if c.singleMember() {
		return errors.New("cannot step down: the lab has a single member; use topology.kind: replica-set")
	}
	c.op.Lock()
	defer c.op.Unlock()
	old, begun := c.leader(), time.Now()
	if err := old.node.SetReadOnly(ctx, true); err != nil {
		return err
	}
	next, err := c.caughtUp(ctx, old)
	if err != nil {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		return errors.Join(fmt.Errorf("%s did not step down and remains primary: %w", old.plan.Name, err),
			old.node.SetReadOnly(undo, false))
	}
	if err := c.handOver(ctx, old, next); err != nil {
		return err
	}
	took := time.Since(begun).Round(time.Millisecond)
	c.site.Event("promotion", fmt.Sprintf("%s handed over to %s in %v", old.plan.Name, next.plan.Name, took),
		map[string]string{"member": next.plan.Name, "from": old.plan.Name, "planned": "true",
			"took_ms": strconv.FormatInt(took.Milliseconds(), 10)})
	return nil
}

// caughtUp waits until writes have ended, and returns a standby that has all WAL.
func (c *documentDB) caughtUp(ctx context.Context, old *pgMember) (*pgMember, error) {
	limit, cancel := context.WithTimeout(ctx, writersLimit)
	defer cancel()
	for {
		n, err := old.node.Writers(limit)
		if err == nil && n == 0 {
			break
		}
		if sleep(limit, 10*time.Millisecond) != nil {
			break // a write waits for a missing majority; it ends with its gateway
		}
	}
	at, err := old.node.Position(ctx)
	if err != nil {
		return nil, err
	}
	limit, cancelCatch := context.WithTimeout(ctx, catchUpLimit)
	defer cancelCatch()
	for {
		list, err := old.node.Replication(limit)
		for _, s := range list {
			if m := c.member(s.Name); m != nil && err == nil && s.State == "streaming" && s.Flushed >= at.LSN && reachable(m) {
				return m, nil
			}
		}
		if err := sleep(limit, 10*time.Millisecond); err != nil {
			return nil, fmt.Errorf("no standby caught up within %v", catchUpLimit)
		}
	}
}

func (c *documentDB) member(name string) *pgMember {
	for _, m := range c.members {
		if m.plan.Name == name {
			return m
		}
	}
	return nil
}

// handOver stops the old primary, promotes the next one and redirects the others. A primary sends all WAL to its
// standbys before it shuts down cleanly, so the old one needs no rewind. rejoin checks that.
func (c *documentDB) handOver(ctx context.Context, old, next *pgMember) error {
	c.endGateways()
	limit, cancel := context.WithTimeout(ctx, catchUpLimit)
	stopErr := old.node.Stop(limit) // killed if it takes longer, without loss because it accepts no writes
	cancel()
	if err := old.node.Retire(); err != nil {
		return errors.Join(stopErr, err, c.restartPrimary(ctx, old))
	}
	if err := c.promote(ctx, next); err != nil {
		return errors.Join(err, c.undoHandOver(ctx, old, next))
	}
	err := c.redirect(ctx, next, c.running(next, old))
	if err == nil {
		err = c.rejoin(ctx, next, old)
	}
	if err != nil {
		c.mu.Lock()
		old.waiting = !old.node.Status().Running // for the next try
		c.mu.Unlock()
		c.site.Event("problem", fmt.Sprintf("%s stepped down, but not all gateways and standbys use %s yet: %v",
			old.plan.Name, next.plan.Name, err), map[string]string{"member": old.plan.Name})
	}
	return nil
}

// undoHandOver restarts the old primary if the next one is certainly not promoted. If the next one does not answer,
// that is unknown: the old primary stays down, and Watch decides.
func (c *documentDB) undoHandOver(ctx context.Context, old, next *pgMember) error {
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), promoteLimit)
	defer cancel()
	if at, err := next.node.Position(limit); err == nil && at.Standby {
		return c.restartPrimary(limit, old)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	old.fenced, old.problem = true, "stopped, because another member is promoted"
	return fmt.Errorf("the promotion of %s has not ended in time, so its result is unknown; the lab keeps checking. "+
		"See 'plimsoll lab status'", next.plan.Name)
}
