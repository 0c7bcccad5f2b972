package topology

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/host"
)

// promoteLimit bounds a promotion: the standby first replays all WAL that it has received.
const promoteLimit = 2 * time.Minute

// failOver replaces a lost primary by the standby with the most data. See documentDB for the order of its steps.
func (c *documentDB) failOver(ctx context.Context, old *pgMember, why string, since time.Time) error {
	c.op.Lock()
	defer c.op.Unlock()
	c.mu.Lock()
	moved := c.primary != old || c.stopping
	c.mu.Unlock()
	if _, _, lost := c.primaryLost(); moved || !lost {
		return nil // it returned while this waited for op
	}
	ctx, cancel := context.WithTimeout(ctx, promoteLimit)
	defer cancel()
	c.endGateways()
	c.fence(old)
	best, others, err := c.promoteNext(ctx)
	if err != nil {
		return errors.Join(err, c.unfence(ctx, old))
	}
	c.mu.Lock()
	at := best.at
	c.mu.Unlock()
	took := time.Since(since)
	c.site.Event("promotion", fmt.Sprintf("%s was promoted in place of %s after %v", best.plan.Name, old.plan.Name,
		took.Round(time.Millisecond)), map[string]string{"member": best.plan.Name, "from": old.plan.Name,
		"timeline": strconv.FormatInt(at.Timeline, 10), "lsn": at.LSN.String(),
		"away_ms": strconv.FormatInt(took.Milliseconds(), 10), "why": why})
	if err := c.redirect(ctx, best, others); err != nil {
		// Watch repairs the gateways and standbys that were not reached, or promotes the next one.
		c.site.Event("problem", fmt.Sprintf("%s was promoted, but not all gateways and standbys use it yet: %v",
			best.plan.Name, err), map[string]string{"member": best.plan.Name})
	}
	return nil
}

// promoteNext makes the standby with the most data the primary. If an earlier promotion ended without a known result
// and that standby has left recovery since, it is the primary: no write was acknowledged meanwhile, because no gateway
// ran, and no other member was promoted.
func (c *documentDB) promoteNext(ctx context.Context) (best *pgMember, others []*pgMember, err error) {
	c.mu.Lock()
	elected := c.elected
	c.mu.Unlock()
	if elected != nil && elected.node.Status().Running && reachable(elected) {
		limit, cancel := context.WithTimeout(ctx, 5*time.Second)
		at, err := elected.node.Position(limit)
		cancel()
		if err == nil && !at.Standby {
			c.mu.Lock()
			others = c.liveStandbys()
			c.mu.Unlock()
			return elected, others, c.recordPrimary(ctx, elected)
		}
	}
	if best, others, err = c.chooseStandby(ctx); err != nil {
		return nil, nil, err
	}
	return best, others, c.promote(ctx, best)
}

// promote promotes a standby. c.elected is set until the result is known.
func (c *documentDB) promote(ctx context.Context, m *pgMember) error {
	c.mu.Lock()
	c.elected = m
	c.mu.Unlock()
	if err := m.node.Promote(ctx); err != nil {
		return err
	}
	return c.recordPrimary(ctx, m)
}

// fence kills the old primary and makes sure that it does not start as a primary again.
func (c *documentDB) fence(old *pgMember) {
	was := old.node.Status().Running
	end(old.node)
	_ = old.node.Retire() // may fail on a host without power; its next start makes it a standby in any case
	c.mu.Lock()
	defer c.mu.Unlock()
	old.fenced = old.fenced || was
	if was {
		old.problem = "stopped, because another member is promoted"
	}
}

// end kills a server and waits for its end. It does not wait for a server on a paused host: that server ends when the
// host resumes, before it does anything else.
func end(n engine.Node) {
	done := make(chan struct{})
	go func() { defer close(done); _ = n.Kill() }()
	for {
		select {
		case <-done:
			return
		case <-time.After(time.Second):
			if n.Host().State() == host.Paused {
				return
			}
		}
	}
}

// unfence restarts the old primary as primary if nothing was promoted in its place.
func (c *documentDB) unfence(ctx context.Context, old *pgMember) error {
	c.mu.Lock()
	was := old.fenced && !old.recopy
	c.mu.Unlock()
	if !was || !reachable(old) {
		return nil // Return restarts it
	}
	return c.restartPrimary(ctx, old)
}

// redirect points the standbys to a new primary and starts the gateways for it, concurrently because majority writes
// need both. It returns if that primary is lost, so that the next failover is not delayed.
func (c *documentDB) redirect(ctx context.Context, leader *pgMember, standbys []*pgMember) error {
	ctx, cancel := c.whilePrimaryRuns(ctx, leader)
	defer cancel()
	return orPrimaryLost(ctx, c.redirectAll(ctx, leader, standbys))
}

func (c *documentDB) redirectAll(ctx context.Context, leader *pgMember, standbys []*pgMember) error {
	gateways := make(chan error, 1)
	go func() { gateways <- c.restartGateways(ctx) }()
	err := leader.node.MakeSlots(ctx)
	if err == nil {
		u := leader.node.Upstream()
		err = inParallel(standbys, func(m *pgMember) error {
			limit, cancel := context.WithTimeout(ctx, 5*time.Second) // a standby that does not answer is repaired later
			defer cancel()
			if at, err := m.node.Position(limit); err != nil || c.noteDiverged(m, at) {
				return nil // repair lets it join again; as a standby it would acknowledge writes that it does not have
			}
			return m.node.Follow(limit, u)
		})
	}
	return errors.Join(err, <-gateways)
}

// restartPrimary starts the last primary as primary again. Nothing was promoted in its place.
func (c *documentDB) restartPrimary(ctx context.Context, m *pgMember) error {
	if err := m.node.Lead(); err != nil {
		return err
	}
	if err := m.node.Start(ctx); err != nil {
		return err
	}
	if err := m.node.Wait(ctx); err != nil {
		return err
	}
	return c.resumePrimary(ctx, m)
}

// resumePrimary records that the last primary runs again, and redirects gateways and standbys if its address has
// changed.
func (c *documentDB) resumePrimary(ctx context.Context, m *pgMember) error {
	if err := c.recordPrimary(ctx, m); err != nil {
		return err
	}
	if c.gatewaysCurrent(m) {
		return nil
	}
	return c.redirect(ctx, m, c.running(m))
}

// running returns the members that run and are not paused, except some.
func (c *documentDB) running(except ...*pgMember) []*pgMember {
	return slices.DeleteFunc(slices.Clone(c.members), func(m *pgMember) bool {
		return slices.Contains(except, m) || !m.node.Status().Running || m.node.Paused()
	})
}

// gatewaysCurrent reports whether all gateways that run use this primary at its current address.
func (c *documentDB) gatewaysCurrent(m *pgMember) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, g := range c.gateways {
		if g.ended || g.node.Status().Running && g.node.Primary() != m.node.Upstream() {
			return false
		}
	}
	return true
}
