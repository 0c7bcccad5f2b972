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

// Watch asks all members how they are, through the network as each other would, promotes a standby when the primary is
// away for too long, and lets members join again that were stopped because of that.
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

// beatEvery is how often it is looked whether this machine, or this process, stands still.
const pauseCheckEvery = 100 * time.Millisecond

// beat notes again and again that time goes by. When it did not for a while, the questions to members stood still as
// well, so their silence says nothing: they get all of the timeout again.
func (c *documentDB) watchForPauses(ctx context.Context) {
	for sleep(ctx, pauseCheckEvery) == nil {
		now := time.Now()
		c.mu.Lock()
		still := c.wasPausedLocked()
		if !still {
			c.lastTick = now
		}
		c.mu.Unlock()
		if still {
			c.restartTimeouts()
		}
	}
}

// stoodStill says whether this process has only just gone on after it stood still: nobody may be judged before that is
// forgiven.
func (c *documentDB) wasPaused() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wasPausedLocked()
}

// stillness is stoodStill for a caller that holds mu.
func (c *documentDB) wasPausedLocked() bool {
	return c.watching && time.Since(c.lastTick) > pauseCheckEvery+c.timeout/4
}

func (c *documentDB) setWatching(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watching = on
}

// ask asks one member again and again.
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
	if begun.After(m.answered) { // an answer of before its last start says nothing of now
		m.answered = begun
		m.at = at
		c.checkDiverged(m)
	}
	switch hears := c.primary == nil || m == c.primary || at.From == upstreamName(c.primary); {
	case hears:
		m.noStreamSince = time.Time{}
	case m.noStreamSince.IsZero():
		m.noStreamSince = begun
	}
	return true
}

// upstreamName is a primary's address as its standbys say it.
func upstreamName(m *pgMember) string {
	u := m.node.Upstream()
	return net.JoinHostPort(u.Host, strconv.Itoa(u.Port))
}

// forgive takes all members that run for having answered now.
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

// look decides what has to be done now.
func (c *documentDB) checkCluster(ctx context.Context) {
	c.reportAvailability()
	if why, since, lost := c.primaryLost(); lost {
		c.handlePrimaryLost(ctx, why, since)
		return
	}
	c.reportProblem("", "")
	c.repair(ctx)
}

// tellAnswers tells which members stopped and which started to answer.
func (c *documentDB) reportAvailability() {
	type news struct{ kind, text, member string }
	var all []news
	c.mu.Lock()
	for _, m := range c.members {
		away := m.answered.IsZero() || time.Since(m.answered) > c.timeout
		switch {
		case c.stopping || away == m.down:
		case away && m.fenced: // told as stopped
			m.down = true
		case away:
			m.down = true
			all = append(all, news{"member", fmt.Sprintf("%s has not answered for %v", m.plan.Name, c.timeout), m.plan.Name})
		default:
			m.down = false
			all = append(all, news{"member", m.plan.Name + " answers", m.plan.Name})
		}
	}
	c.mu.Unlock()
	for _, n := range all {
		c.site.Event(n.kind, n.text, map[string]string{"member": n.member})
	}
}

// tell tells a problem once, until there is another or none.
func (c *documentDB) reportProblem(problem, member string) {
	c.mu.Lock()
	known := c.lastProblem == problem
	c.lastProblem = problem
	c.mu.Unlock()
	if !known && problem != "" {
		c.site.Event("problem", problem, map[string]string{"member": member})
	}
}

// lost says whether the primary is away, why, and since when: it has not answered for the election timeout, or it does answer but
// a majority of members has not heard from it for as long.
func (c *documentDB) primaryLost() (why string, since time.Time, lost bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.primary == nil || c.stopping || c.wasPausedLocked() {
		return "", since, false
	}
	if silent := time.Since(c.primary.answered); silent > c.timeout {
		return fmt.Sprintf("%s has not answered for %v", c.primary.plan.Name, c.timeout), c.primary.answered, true
	}
	var deaf []time.Time
	for _, m := range c.liveStandbys() {
		if !m.noStreamSince.IsZero() && time.Since(m.noStreamSince) > c.timeout {
			deaf = append(deaf, m.noStreamSince)
		}
	}
	if !c.singleMember() && len(deaf) >= c.majority() {
		return fmt.Sprintf("%d members have not heard from %s for %v", len(deaf), c.primary.plan.Name, c.timeout), slices.MinFunc(deaf, time.Time.Compare), true
	}
	return "", since, false
}

// standbys are the members that answered within the timeout, without the primary and those that went another way. The caller holds mu.
func (c *documentDB) liveStandbys() []*pgMember {
	var all []*pgMember
	for _, m := range c.members {
		if m != c.primary && !m.fenced && !m.diverged && !m.recopy && m.at.Standby && m.node.Status().Running && time.Since(m.answered) <= c.timeout {
			all = append(all, m)
		}
	}
	return all
}

// lose promotes a standby, or tells why none can be.
func (c *documentDB) handlePrimaryLost(ctx context.Context, why string, since time.Time) {
	c.mu.Lock()
	leader, alive := c.primary, len(c.liveStandbys())
	c.mu.Unlock()
	alive += len(c.silent())
	name := leader.plan.Name
	switch {
	case c.singleMember():
		c.reportProblem(why+"; it is the only member", name)
	case c.site.Spec.Availability.NoPromotion:
		c.reportProblem(why+"; the specification says that nothing is promoted", name)
	case alive < c.majority():
		c.reportProblem(fmt.Sprintf("%s, and only %d of %d members are there, which is no majority: nothing is promoted", why, alive, len(c.members)), name)
	default:
		if err := c.failOver(ctx, leader, why, since); err != nil && ctx.Err() == nil {
			c.reportProblem(fmt.Sprintf("%s, and no standby could be promoted: %v", why, err), name)
		}
	}
}

// reachable says whether a member can be started and can speak with all others, as the one who runs its host knows.
func reachable(m *pgMember) bool {
	h := m.node.Host()
	return h.State() == host.On && len(h.Cuts()) == 0 && !m.node.Paused()
}

// mend lets members join again: those that were stopped because another one was promoted, those that wait for a
// primary, those that went another way, and those that run but do not receive from the primary.
func (c *documentDB) repair(ctx context.Context) {
	leader := c.leader()
	if leader == nil || !reachable(leader) {
		return
	}
	if err := c.repairPrimary(ctx, leader); err != nil && ctx.Err() == nil {
		c.site.Event("problem", fmt.Sprintf("%s leads, and the others could not be told: %v", leader.plan.Name, err), map[string]string{"member": leader.plan.Name})
	}
	if err := c.restartWaitingGateways(ctx, leader); err != nil && ctx.Err() == nil {
		c.site.Event("problem", fmt.Sprintf("a gateway could not be started again: %v", err), nil)
	}
	for _, m := range c.members {
		if c.needsRejoin(leader, m) {
			c.rejoinMember(ctx, leader, m)
		}
	}
}

// mendLeader ends the return of a primary that did not answer in time when it was made to lead again, and does now.
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

// mendAfter is how long a standby has to connect again by itself, which it does within a fraction of that, and how long
// nothing is tried after it was mended.
const rejoinAfter = 3 * time.Second

// broken says whether a member can and has to join again.
func (c *documentDB) needsRejoin(leader, m *pgMember) bool {
	if m == leader || !reachable(m) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	running := m.node.Status().Running
	stopped := (m.fenced || m.waiting) && !running
	deaf := running && !m.noStreamSince.IsZero() && time.Since(m.noStreamSince) > rejoinAfter && time.Since(m.answered) < c.timeout
	lost := running && (m.diverged || m.recopy)
	// One that waits for log to be consistent cannot be told of another primary while it runs.
	astray := running && time.Since(m.answered) > c.timeout && !m.node.Follows(leader.node.Upstream())
	return (stopped || deaf || lost || astray) && time.Since(m.lastTry) > rejoinAfter
}

func (c *documentDB) rejoinMember(ctx context.Context, leader, m *pgMember) {
	c.op.Lock()
	defer c.op.Unlock()
	if !c.needsRejoin(leader, m) { // it was returned while this waited, and must not be stopped again
		return
	}
	c.mu.Lock()
	stale := c.primary != leader || c.stopping
	m.lastTry = time.Now()
	c.mu.Unlock()
	if stale || !c.probeMember(ctx, leader) { // a standby is not stopped for a primary that is away: it may have to replace it
		return
	}
	running := m.node.Status().Running
	err := c.rejoin(ctx, leader, m)
	if err != nil && running && !m.node.Status().Running && ctx.Err() == nil {
		if m.mayRunWithoutPrimary(c) {
			err = errors.Join(err, c.startStandby(ctx, leader, m)) // it counts as a member, as it did before
		} else {
			c.mu.Lock()
			m.waiting = true // it is tried again
			c.mu.Unlock()
		}
	}
	if err != nil && ctx.Err() == nil {
		c.site.Event("problem", fmt.Sprintf("%s could not join again: %v", m.plan.Name, err), map[string]string{"member": m.plan.Name})
	}
}

// mendGateways starts those again that were ended for a promotion and could not be started with the others, because
// their host was off or paused.
func (c *documentDB) restartWaitingGateways(ctx context.Context, leader *pgMember) error {
	due := false
	for _, g := range c.gateways {
		due = due || g.canRestart(c)
	}
	if !due {
		return nil
	}
	c.op.Lock()
	defer c.op.Unlock()
	if c.leader() != leader || !leader.node.Status().Running {
		return nil
	}
	// Gateways answer when the primary does. Who waits here could not promote another one if that went away meanwhile.
	ctx, cancel := c.whilePrimaryRuns(ctx, leader)
	defer cancel()
	return orPrimaryLost(ctx, inParallel2(c.gateways, func(g *pgGateway) error {
		if !g.canRestart(c) {
			return nil
		}
		return c.startGateway(ctx, g, leader.node.Upstream())
	}))
}

// waits says whether a gateway was ended for a promotion and could be started now.
func (g *pgGateway) canRestart(c *documentDB) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return g.ended && !c.stopping && !g.node.Status().Running && g.node.Host().State() == host.On
}
