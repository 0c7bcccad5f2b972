package topology

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/host"
)

// promoteLimit is how long a standby may take to become primary: it first applies what it has received.
const promoteLimit = 2 * time.Minute

// failOver promotes the standby with the most data in place of a primary that is away. The order matters: see
// documentDB.
func (c *documentDB) failOver(ctx context.Context, old *pgMember, why string, since time.Time) error {
	c.op.Lock()
	defer c.op.Unlock()
	c.mu.Lock()
	moved := c.primary != old || c.stopping
	c.mu.Unlock()
	if _, _, lost := c.primaryLost(); moved || !lost {
		return nil // it came back while another change was under way
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
	c.site.Event("promotion", fmt.Sprintf("%s was promoted in place of %s after %v", best.plan.Name, old.plan.Name, took.Round(time.Millisecond)),
		map[string]string{"member": best.plan.Name, "from": old.plan.Name, "timeline": strconv.FormatInt(at.Timeline, 10), "lsn": at.LSN.String(),
			"away_ms": strconv.FormatInt(took.Milliseconds(), 10), "why": why})
	if err := c.redirect(ctx, best, others); err != nil {
		// Gateways and standbys that were not reached are mended, or the next one is promoted.
		c.site.Event("problem", fmt.Sprintf("%s was promoted, and not all others could be told yet: %v", best.plan.Name, err),
			map[string]string{"member": best.plan.Name})
	}
	return nil
}

// succeed makes the standby with the most data the primary. One that was asked to lead before, and did not say in time
// that it does, leads if it left recovery since: nothing was acknowledged meanwhile, because there were no gateways, and
// nobody else could be promoted past it.
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

// enthrone promotes a standby. That it was asked to lead is kept until it is known what became of that.
func (c *documentDB) promote(ctx context.Context, m *pgMember) error {
	c.mu.Lock()
	c.elected = m
	c.mu.Unlock()
	if err := m.node.Promote(ctx); err != nil {
		return err
	}
	return c.recordPrimary(ctx, m)
}

// fence makes sure that the old primary does nothing any more and does not start as a primary again.
func (c *documentDB) fence(old *pgMember) {
	was := old.node.Status().Running
	end(old.node)
	_ = old.node.Retire() // a disk of a host without power may not answer; who starts it makes it a standby in any case
	c.mu.Lock()
	defer c.mu.Unlock()
	old.fenced = old.fenced || was
	if was {
		old.problem = "stopped, because another member is promoted"
	}
}

// end kills a server and waits for its end. One on a host that is paused may end only when that goes on, before it does
// anything else: it is not waited for.
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

// unfence makes the old primary one again when nothing was promoted in its place.
func (c *documentDB) unfence(ctx context.Context, old *pgMember) error {
	c.mu.Lock()
	was := old.fenced && !old.recopy
	c.mu.Unlock()
	if !was || !reachable(old) {
		return nil // Return makes it one
	}
	return c.restartPrimary(ctx, old)
}

// regroup lets the standbys follow a new primary and starts the gateways for it, all at the same time: writes of a
// majority need both. It gives up when that primary is lost: then the next one has to be promoted, which this would hold
// up.
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
		err = inParallel2(standbys, func(m *pgMember) error {
			limit, cancel := context.WithTimeout(ctx, 5*time.Second) // one that does not answer follows later
			defer cancel()
			if at, err := m.node.Position(limit); err != nil || c.noteDiverged(m, at) {
				return nil // it joins again when it is mended: following, it would acknowledge what it does not have
			}
			return m.node.Follow(limit, u)
		})
	}
	return errors.Join(err, <-gateways)
}

// lead starts the last primary as one again. Nothing was promoted in its place.
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

// reign notes that the last primary is one again, and lets the others know it at its address.
func (c *documentDB) resumePrimary(ctx context.Context, m *pgMember) error {
	if err := c.recordPrimary(ctx, m); err != nil {
		return err
	}
	var standbys []*pgMember
	for _, o := range c.members {
		if o != m && o.node.Status().Running && !o.node.Paused() {
			standbys = append(standbys, o)
		}
	}
	if c.gatewaysCurrent(m) {
		return nil
	}
	return c.redirect(ctx, m, standbys)
}

// served says whether all gateways that run are for this primary at this address, where its standbys look for it too.
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
