package topology

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// The limits of a planned hand-over, as MongoDB's replSetStepDown has them.
const (
	catchUpLimit = 10 * time.Second // for a standby to receive everything (secondaryCatchUpPeriodSecs)
	writersLimit = 5 * time.Second  // for writes that are under way
)

// StepDown hands over without loss: the primary refuses new writes, those under way end, a standby receives everything,
// the old primary is stopped and becomes a standby of the new one. If no standby catches up in time nothing has changed.
func (c *documentDB) StepDown(ctx context.Context, set string) error {
	if _, err := c.Primary(ctx, set); err != nil {
		return err
	}
	if c.singleMember() {
		return errors.New("a single member has none to hand over to")
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
		return errors.Join(fmt.Errorf("%s remains primary: %w", old.plan.Name, err), old.node.SetReadOnly(undo, false))
	}
	if err := c.handOver(ctx, old, next); err != nil {
		return err
	}
	took := time.Since(begun).Round(time.Millisecond)
	c.site.Event("promotion", fmt.Sprintf("%s handed over to %s in %v", old.plan.Name, next.plan.Name, took),
		map[string]string{"member": next.plan.Name, "from": old.plan.Name, "planned": "true", "took_ms": strconv.FormatInt(took.Milliseconds(), 10)})
	return nil
}

// caughtUp waits until writes have ended and a standby has everything.
func (c *documentDB) caughtUp(ctx context.Context, old *pgMember) (*pgMember, error) {
	limit, cancel := context.WithTimeout(ctx, writersLimit)
	defer cancel()
	for {
		n, err := old.node.Writers(limit)
		if err == nil && n == 0 {
			break
		}
		if sleep(limit, 10*time.Millisecond) != nil {
			break // a write that waits for a majority that is not there; it is ended with its gateway
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
			return nil, fmt.Errorf("no standby received everything within %v", catchUpLimit)
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

// handOver stops the old primary, promotes the next one and lets all others follow. A primary that ends cleanly sends
// its last record to its standbys first, so the old one needs no rewind; what it would lose is found out all the same.
func (c *documentDB) handOver(ctx context.Context, old, next *pgMember) error {
	c.endGateways()
	limit, cancel := context.WithTimeout(ctx, catchUpLimit)
	stopErr := old.node.Stop(limit) // killed if it takes longer, which is no loss: it accepts no writes
	cancel()
	if err := old.node.Retire(); err != nil {
		return errors.Join(stopErr, err, c.restartPrimary(ctx, old))
	}
	if err := c.promote(ctx, next); err != nil {
		return errors.Join(err, c.undoHandOver(ctx, old, next))
	}
	var others []*pgMember
	for _, m := range c.members {
		if m != next && m != old && m.node.Status().Running && !m.node.Paused() {
			others = append(others, m)
		}
	}
	err := c.redirect(ctx, next, others)
	if err == nil {
		err = c.rejoin(ctx, next, old)
	}
	if err != nil {
		c.mu.Lock()
		old.waiting = !old.node.Status().Running // it is tried again
		c.mu.Unlock()
		c.site.Event("problem", fmt.Sprintf("%s handed over, and not all could follow yet: %v", old.plan.Name, err), map[string]string{"member": old.plan.Name})
	}
	return nil
}

// undoHandOver lets the old primary lead again when the next one was not promoted, which has to be certain: whether it
// was is not known when it did not answer in time. Then the old one stays down, and the one who watches finds out.
func (c *documentDB) undoHandOver(ctx context.Context, old, next *pgMember) error {
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), promoteLimit)
	defer cancel()
	if at, err := next.node.Position(limit); err == nil && at.Standby {
		return c.restartPrimary(limit, old)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	old.fenced, old.problem = true, "stopped, because another member is promoted"
	return fmt.Errorf("%s was asked to lead and did not say in time whether it does; the lab finds out", next.plan.Name)
}
