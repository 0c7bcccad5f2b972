package topology

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
)

const (
	statusEvery = 200 * time.Millisecond
	statusLimit = time.Second
	silentAfter = 2 * time.Second // after which a member is reported as not answering

	// etcdEvery is as often as Patroni writes to etcd at most. More queries would cost as much as Patroni itself.
	etcdEvery = time.Second
)

// Watch polls all members and writes events about what Patroni does: promotions, and members that end or return.
func (c *documentDB) Watch(ctx context.Context) {
	var all sync.WaitGroup
	for _, m := range c.members {
		all.Go(func() {
			for wait.Sleep(ctx, statusEvery) == nil {
				c.poll(ctx, m)
			}
		})
	}
	for _, g := range c.gateways {
		all.Go(func() { c.watchGateway(ctx, g) })
	}
	all.Go(func() {
		for !c.singleMember() && wait.Sleep(ctx, etcdEvery) == nil {
			c.pollSynced(ctx)
			c.pollEtcd(ctx)
		}
	})
	all.Wait()
}

// gatewayLimit is how long a gateway may not answer after a promotion.
const gatewayLimit = 10 * time.Second

// watchGateway restarts a gateway that does not find a new primary. FerretDB sets no limit for an answer of PostgreSQL,
// so connections to a member that is paused, cut off or without power hang for minutes. When all that its pool may have
// hang, it cannot connect to another member.
func (c *documentDB) watchGateway(ctx context.Context, g *pgGateway) {
	timelineNow := func() int64 {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.timeline
	}
	for checked := timelineNow(); wait.Sleep(ctx, statusEvery) == nil; {
		now := timelineNow()
		if now == checked {
			continue
		}
		checked = now
		if err := c.checkGateway(ctx, g); err != nil && ctx.Err() == nil {
			c.site.Event("problem", fmt.Sprintf("cannot restart %s: %v", g.plan.Name, err),
				map[string]string{"member": g.plan.Name})
		}
	}
}

// checkGateway restarts a gateway that does not answer although there is a primary.
func (c *documentDB) checkGateway(ctx context.Context, g *pgGateway) error {
	limit, cancel := context.WithTimeout(ctx, gatewayLimit)
	defer cancel()
	if g.node.Reads(limit, 2*time.Second) == nil || ctx.Err() != nil {
		return nil
	}
	c.op.Lock()
	defer c.op.Unlock()
	if _, err := c.Primary(ctx, ""); err != nil || c.isStopping() || nodeState(g.node) != "running" {
		return nil
	}
	return c.restartGateway(ctx, g, fmt.Sprintf("it had not answered for %v after a promotion: its connections to the "+
		"former primary hang", gatewayLimit))
}

// pollSynced reads from etcd which standbys Patroni may promote.
func (c *documentDB) pollSynced(ctx context.Context) {
	for _, e := range c.etcd {
		if !e.Status().Running {
			continue
		}
		limit, cancel := context.WithTimeout(ctx, statusLimit)
		text, err := e.Get(limit, etcdPrefix+"sync")
		cancel()
		var state struct {
			Standbys string `json:"sync_standby"`
		}
		if err == nil {
			err = json.Unmarshal([]byte(text), &state)
		}
		if err == nil {
			c.mu.Lock()
			c.synced = strings.Split(state.Standbys, ",")
			c.mu.Unlock()
			return
		}
	}
}

// pollEtcd looks for the leader of etcd and writes an event when it is another one. A new leader renews all
// leases, so the primary of a dead host keeps its lease for longer.
func (c *documentDB) pollEtcd(ctx context.Context) {
	c.mu.Lock()
	old := c.etcdLeader
	c.mu.Unlock()
	for i, e := range append([]*engine.Etcd{old}, c.etcd...) {
		if e == nil || i > 0 && e == old || !e.Status().Running {
			continue
		}
		limit, cancel := context.WithTimeout(ctx, statusLimit)
		leads, err := e.Leads(limit)
		cancel()
		if err != nil || !leads {
			continue
		}
		c.mu.Lock()
		c.etcdLeader = e
		c.mu.Unlock()
		if old != nil && old != e {
			c.site.Event("etcd", fmt.Sprintf("%s became the leader of etcd after %s on %s, and renewed the lease of the primary",
				e.Name(), old.Name(), old.Host().Name()), map[string]string{"member": e.Name(), "from": old.Name()})
		}
		return
	}
}

// allSynced reports whether Patroni may promote every standby.
func (c *documentDB) allSynced(ctx context.Context) bool {
	c.pollSynced(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.members {
		if m != c.primary && !slices.Contains(c.synced, m.plan.Name) {
			return false
		}
	}
	return true
}

// poll asks a member for its role and position, and writes events about changes.
func (c *documentDB) poll(ctx context.Context, m *pgMember) {
	limit, cancel := context.WithTimeout(ctx, statusLimit)
	defer cancel()
	begun := time.Now()
	at, err := m.node.Position(limit)
	c.mu.Lock()
	if ctx.Err() != nil || c.stopping || begun.Before(m.answered) {
		c.mu.Unlock()
		return
	}
	if err != nil {
		silent := !m.down && time.Since(m.answered) > silentAfter
		if silent {
			m.down, m.joining = true, true
		}
		c.mu.Unlock()
		if silent {
			c.site.Event("member", m.plan.Name+" does not answer", map[string]string{"member": m.plan.Name})
		}
		return
	}
	m.at, m.answered = at, begun
	c.mu.Unlock()
	if at.Standby {
		c.sawStandby(ctx, m, at)
	} else {
		c.sawPrimary(m, at, begun)
	}
}

// sawPrimary notes that a member accepts writes. A promotion begins a new timeline, so the primary is the member with
// the latest one.
func (c *documentDB) sawPrimary(m *pgMember, at engine.Position, begun time.Time) {
	c.mu.Lock()
	old, away, planned := c.primary, begun.Sub(c.led), c.planned
	back, promoted := m.down, old != nil && m != old && at.Timeline > c.timeline
	if old == nil || m == old || promoted {
		c.primary, c.timeline, c.led = m, at.Timeline, begun
	}
	if promoted {
		c.planned = false
		old.joining = true
	}
	second := !promoted && c.primary != m && !m.joining // the former primary, until Patroni demotes it
	m.down, m.joining = false, c.primary != m
	c.mu.Unlock()
	data := map[string]string{"member": m.plan.Name, "timeline": strconv.FormatInt(at.Timeline, 10)}
	switch {
	case promoted:
		text := fmt.Sprintf("%s was promoted. The former primary %s was last seen as primary %v before", m.plan.Name,
			old.plan.Name, away.Round(time.Millisecond))
		data["from"], data["lsn"] = old.plan.Name, at.LSN.String()
		data["away_ms"] = strconv.FormatInt(away.Milliseconds(), 10)
		if planned {
			text, data["planned"] = fmt.Sprintf("%s handed over to %s", old.plan.Name, m.plan.Name), "true"
		}
		c.site.Event("promotion", text, data)
	case second:
		c.site.Event("problem", fmt.Sprintf("%s accepts writes on timeline %d although %s is the primary", m.plan.Name, at.Timeline,
			c.leader().plan.Name), data)
	case back:
		data["role"] = "primary"
		c.site.Event("member", m.plan.Name+" is back as the primary", data)
	}
}

// sawStandby notes that a member is a standby. When it receives from the primary after its return, it reports the
// return.
func (c *documentDB) sawStandby(ctx context.Context, m *pgMember, at engine.Position) {
	m.checking.Lock()
	defer m.checking.Unlock()
	c.mu.Lock()
	joined := m.joining && at.Receiving && (c.primary == m || at.Timeline >= c.timeline)
	c.mu.Unlock()
	if !joined {
		return
	}
	c.reportReturn(ctx, m)
	c.mu.Lock()
	defer c.mu.Unlock()
	m.down, m.joining = false, false
}

// reportReturn writes an event about a member that is a standby again, with what was rolled back.
func (c *documentDB) reportReturn(ctx context.Context, m *pgMember) {
	data := map[string]string{"member": m.plan.Name, "role": "secondary"}
	text := m.plan.Name + " is back as a standby"
	if m.node.TakeCloned() {
		data["cloned"] = "true"
		text += "; all its data were copied from the primary"
	}
	lost, err := m.node.TakeLost(ctx)
	if err != nil && ctx.Err() == nil {
		c.site.Event("problem", fmt.Sprintf("cannot read the WAL that was rolled back: %v", err),
			map[string]string{"member": m.plan.Name})
	}
	if len(lost) == 0 {
		data["diverged_bytes"] = "0"
		c.site.Event("member", text, data)
	}
	for _, l := range lost {
		data["diverged_bytes"] = strconv.FormatInt(l.Bytes, 10)
		data["diverged_transactions"], data["fork"], data["kept"] = strconv.Itoa(l.Transactions), l.Fork, l.Kept
		c.site.Event("member", text+fmt.Sprintf("; %d unreplicated transactions (%d bytes of WAL) were rolled back and are "+
			"kept in %s", l.Transactions, l.Bytes, l.Kept), data)
	}
}
