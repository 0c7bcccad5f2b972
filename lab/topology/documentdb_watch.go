package topology

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/host"
)

// Watch probes all members through the network, as other members would. It promotes a standby when the primary has not
// answered for the election timeout, and lets members join again that were stopped because of a promotion.
func (c *documentDB) Watch(ctx context.Context) {
	c.restartTimeouts()
	c.setWatching(true)
	defer c.setWatching(false)
	var all sync.WaitGroup
	all.Go(func() { c.watchForPauses(ctx) })
	for _, m := range c.members {
		all.Go(func() { c.pollMember(ctx, m) })
	}
	for sleep(ctx, min(c.heartbeat/2, time.Second)) == nil {
		if !c.wasPaused() {
			c.checkCluster(ctx)
		}
	}
	all.Wait()
}

const pauseCheckEvery = 100 * time.Millisecond

// watchForPauses detects that this process, or the machine, was paused. Probes were paused as well, so missing answers
// prove nothing: all members get the whole timeout again.
func (c *documentDB) watchForPauses(ctx context.Context) {
	for sleep(ctx, pauseCheckEvery) == nil {
		now := time.Now()
		c.mu.Lock()
		paused := c.wasPausedLocked()
		if !paused {
			c.lastTick = now
		}
		c.mu.Unlock()
		if paused {
			c.restartTimeouts()
		}
	}
}

// wasPaused reports whether this process has just resumed after a pause, and the timeouts have not been restarted yet.
func (c *documentDB) wasPaused() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wasPausedLocked()
}

func (c *documentDB) wasPausedLocked() bool {
	return c.watching && time.Since(c.lastTick) > pauseCheckEvery+c.timeout/4
}

func (c *documentDB) setWatching(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watching = on
}

func (c *documentDB) pollMember(ctx context.Context, m *pgMember) {
	for sleep(ctx, c.heartbeat) == nil {
		if !m.node.Status().Running {
			continue
		}
		c.probeMember(ctx, m)
	}
}

func (c *documentDB) probeMember(ctx context.Context, m *pgMember) bool {
	limit, cancel := context.WithTimeout(ctx, max(c.timeout/2, 200*time.Millisecond))
	defer cancel()
	begun := time.Now()
	at, err := m.node.Probe(limit)
	if err != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if begun.After(m.answered) { // not an answer from before its last start
		m.answered = begun
		m.at = at
		c.checkDiverged(m)
	}
	switch receives := c.primary == nil || m == c.primary || at.From == upstreamName(c.primary); {
	case receives:
		m.noStreamSince = time.Time{}
	case m.noStreamSince.IsZero():
		m.noStreamSince = begun
	}
	return true
}

// upstreamName is the address of a primary as its standbys report it.
func upstreamName(m *pgMember) string {
	u := m.node.Upstream()
	return net.JoinHostPort(u.Host, strconv.Itoa(u.Port))
}

// restartTimeouts treats all members that run as if they had just answered.
func (c *documentDB) restartTimeouts() {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastTick = now
	for _, m := range c.members {
		if m.node.Status().Running {
			m.answered = now
		}
		m.noStreamSince = time.Time{}
	}
}

func (c *documentDB) checkCluster(ctx context.Context) {
	c.reportAvailability()
	if why, since, lost := c.primaryLost(); lost {
		c.handlePrimaryLost(ctx, why, since)
		return
	}
	c.reportProblem("", "")
	c.repair(ctx)
}

// reportAvailability records an event for each member that has stopped or started to answer.
func (c *documentDB) reportAvailability() {
	type change struct{ text, member string }
	var changes []change
	c.mu.Lock()
	for _, m := range c.members {
		away := m.answered.IsZero() || time.Since(m.answered) > c.timeout
		switch {
		case c.stopping || away == m.down:
		case away && m.fenced: // the promotion has reported that it was stopped
			m.down = true
		case away:
			m.down = true
			changes = append(changes, change{fmt.Sprintf("%s has not answered for %v", m.plan.Name, c.timeout), m.plan.Name})
		default:
			m.down = false
			changes = append(changes, change{m.plan.Name + " answers", m.plan.Name})
		}
	}
	c.mu.Unlock()
	for _, n := range changes {
		c.site.Event("member", n.text, map[string]string{"member": n.member})
	}
}

// reportProblem records a problem, unless it is the same as the last one. "" means that the problem has ended.
func (c *documentDB) reportProblem(problem, member string) {
	c.mu.Lock()
	known := c.lastProblem == problem
	c.lastProblem = problem
	c.mu.Unlock()
	if !known && problem != "" {
		c.site.Event("problem", problem, map[string]string{"member": member})
	}
}

// primaryLost reports whether the primary must be replaced, why, and since when. Either it has not answered for the
// election timeout, or it answers but a majority of members has received nothing from it for as long.
func (c *documentDB) primaryLost() (why string, since time.Time, lost bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.primary == nil || c.stopping || c.wasPausedLocked() {
		return "", since, false
	}
	if silent := time.Since(c.primary.answered); silent > c.timeout {
		return fmt.Sprintf("%s has not answered for %v", c.primary.plan.Name, c.timeout), c.primary.answered, true
	}
	var cut []time.Time
	for _, m := range c.liveStandbys() {
		if !m.noStreamSince.IsZero() && time.Since(m.noStreamSince) > c.timeout {
			cut = append(cut, m.noStreamSince)
		}
	}
	if !c.singleMember() && len(cut) >= c.majority() {
		return fmt.Sprintf("%d members have received nothing from %s for %v", len(cut), c.primary.plan.Name, c.timeout),
			slices.MinFunc(cut, time.Time.Compare), true
	}
	return "", since, false
}

// follower reports whether a member is a running standby whose data count. The caller holds mu.
func (c *documentDB) follower(m *pgMember) bool {
	return m != c.primary && !m.fenced && !m.diverged && !m.recopy && m.node.Status().Running
}

// liveStandbys returns the standbys that answered within the timeout and have not diverged. The caller holds mu.
func (c *documentDB) liveStandbys() []*pgMember {
	var all []*pgMember
	for _, m := range c.members {
		if c.follower(m) && m.at.Standby && time.Since(m.answered) <= c.timeout {
			all = append(all, m)
		}
	}
	return all
}

// handlePrimaryLost promotes a standby, or reports why it cannot.
func (c *documentDB) handlePrimaryLost(ctx context.Context, why string, since time.Time) {
	c.mu.Lock()
	leader, alive := c.primary, len(c.liveStandbys())
	c.mu.Unlock()
	alive += len(c.silent())
	name := leader.plan.Name
	switch {
	case c.singleMember():
		c.reportProblem(why+"; no failover, because it is the only member", name)
	case c.site.Spec.Availability.NoPromotion:
		c.reportProblem(why+"; no failover, because the specification has availability.no_promotion", name)
	case alive < c.majority():
		c.reportProblem(fmt.Sprintf("%s; no failover, because only %d of %d members run and not a majority",
			why, alive, len(c.members)), name)
	default:
		if err := c.failOver(ctx, leader, why, since); err != nil && ctx.Err() == nil {
			c.reportProblem(fmt.Sprintf("%s; the failover failed and is tried again: %v", why, err), name)
		}
	}
}

// reachable reports whether a member can be started and can reach all others, as far as the faults of its host say.
func reachable(m *pgMember) bool {
	h := m.node.Host()
	return h.State() == host.On && len(h.Cuts()) == 0 && !m.node.Paused()
}

// repair lets members join again: those stopped because of a promotion, those that wait for a primary, those that have
// diverged, and those that run but receive nothing from the primary.
func (c *documentDB) repair(ctx context.Context) {
	leader := c.leader()
	if leader == nil || !reachable(leader) {
		return
	}
	if err := c.repairPrimary(ctx, leader); err != nil && ctx.Err() == nil {
		c.site.Event("problem", fmt.Sprintf("%s is the primary, but not all gateways and standbys use it yet: %v",
			leader.plan.Name, err), map[string]string{"member": leader.plan.Name})
	}
	if err := c.restartWaitingGateways(ctx, leader); err != nil && ctx.Err() == nil {
		c.site.Event("problem", fmt.Sprintf("a gateway did not start again: %v", err), nil)
	}
	for _, m := range c.members {
		if c.needsRejoin(leader, m) {
			c.rejoinMember(ctx, leader, m)
		}
	}
}

// repairPrimary completes the restart of a primary that did not answer in time and does now.
func (c *documentDB) repairPrimary(ctx context.Context, leader *pgMember) error {
	c.mu.Lock()
	due := leader.fenced && !leader.recopy && leader.node.Status().Running && time.Since(leader.lastTry) > rejoinAfter
	c.mu.Unlock()
	if !due {
		return nil
	}
	c.op.Lock()
	defer c.op.Unlock()
	c.mu.Lock()
	leader.lastTry = time.Now()
	stale := c.primary != leader || c.stopping || !leader.fenced || !leader.node.Status().Running
	c.mu.Unlock()
	if stale || !c.probeMember(ctx, leader) {
		return nil
	}
	return c.resumePrimary(ctx, leader)
}

// rejoinAfter is the time in which a standby normally reconnects by itself, and the minimum between two rejoins.
const rejoinAfter = 3 * time.Second

// needsRejoin reports whether a member must join again and can.
func (c *documentDB) needsRejoin(leader, m *pgMember) bool {
	if m == leader || !reachable(m) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	running := m.node.Status().Running
	stopped := (m.fenced || m.waiting) && !running
	cut := running && !m.noStreamSince.IsZero() && time.Since(m.noStreamSince) > rejoinAfter &&
		time.Since(m.answered) < c.timeout
	lost := running && (m.diverged || m.recopy)
	// A standby that waits for WAL to become consistent cannot change its primary while it runs.
	wrongPrimary := running && time.Since(m.answered) > c.timeout && !m.node.Follows(leader.node.Upstream())
	return (stopped || cut || lost || wrongPrimary) && time.Since(m.lastTry) > rejoinAfter
}

func (c *documentDB) rejoinMember(ctx context.Context, leader, m *pgMember) {
	c.op.Lock()
	defer c.op.Unlock()
	if !c.needsRejoin(leader, m) { // it has joined while this waited for op
		return
	}
	c.mu.Lock()
	stale := c.primary != leader || c.stopping
	m.lastTry = time.Now()
	c.mu.Unlock()
	// a dead primary may have to be replaced by this standby, so it keeps running
	if stale || !c.probeMember(ctx, leader) {
		return
	}
	running := m.node.Status().Running
	err := c.rejoin(ctx, leader, m)
	if err != nil && running && !m.node.Status().Running && ctx.Err() == nil {
		if m.mayRunWithoutPrimary(c) {
			err = errors.Join(err, c.startStandby(ctx, leader, m)) // it counts towards a majority again
		} else {
			c.mu.Lock()
			m.waiting = true // for the next try
			c.mu.Unlock()
		}
	}
	if err != nil && ctx.Err() == nil {
		c.site.Event("problem", fmt.Sprintf("%s could not join again: %v", m.plan.Name, err),
			map[string]string{"member": m.plan.Name})
	}
}

// restartWaitingGateways starts the gateways that could not be started after a promotion, because their host was off or
// paused.
func (c *documentDB) restartWaitingGateways(ctx context.Context, leader *pgMember) error {
	if !slices.ContainsFunc(c.gateways, func(g *pgGateway) bool { return g.canRestart(c) }) {
		return nil
	}
	c.op.Lock()
	defer c.op.Unlock()
	if c.leader() != leader || !leader.node.Status().Running {
		return nil
	}
	// A gateway answers only if the primary does. If the primary dies meanwhile, a longer wait would block the failover.
	ctx, cancel := c.whilePrimaryRuns(ctx, leader)
	defer cancel()
	return orPrimaryLost(ctx, c.startEndedGateways(ctx, leader))
}

// canRestart reports whether endGateways has stopped a gateway and it can be started now.
func (g *pgGateway) canRestart(c *documentDB) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return g.ended && !c.stopping && !g.node.Status().Running && g.node.Host().State() == host.On
}
