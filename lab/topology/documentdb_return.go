package topology

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
)

// returnLimit is how long a return may take: all data of a member may have to be copied.
const returnLimit = 5 * time.Minute

// returnTries is how many attempts at a return may fail while there is a primary that answers. Those for which a primary
// went away do not count.
const returnTries = 3

// Return starts a member again. The last primary becomes primary again if nothing was promoted meanwhile; another
// member becomes a standby, and a former primary gives up what the others do not have. One that was primary and has to
// follow, while there is no primary, waits for one. What fails because a primary went away, or this machine stood still
// for seconds, is tried again, for as long as ctx and [returnLimit] allow; then the lab itself goes on trying.
func (c *documentDB) Return(ctx context.Context, member string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, returnLimit, fmt.Errorf("it took longer than %v", returnLimit))
	defer cancel()
	for _, g := range c.gateways {
		if g.plan.Name == member {
			return c.tryAgain(ctx, member, func() (bool, error) { return c.tryGateway(ctx, g) })
		}
	}
	for _, m := range c.members {
		if m.plan.Name == member {
			return c.tryAgain(ctx, member, func() (bool, error) {
				done, err := c.tryReturn(ctx, m)
				if done && err == nil {
					err = c.waitReturned(ctx, m)
				}
				return done, err
			})
		}
	}
	return fmt.Errorf("there is no member %s", member)
}

// errStopping is what whoever wants to start something is told while the cluster ends.
var errStopping = errors.New("the lab is going down")

// tryAgain tries to return a server until that is done, until it fails for a reason of its own, or until ctx ends.
func (c *documentDB) tryAgain(ctx context.Context, name string, try func() (done bool, err error)) error {
	var last error
	for failed := 0; ; {
		done, err := try()
		switch {
		case done && err == nil:
			return nil
		case err == nil:
			last = errors.New("there is no primary")
		case errors.Is(err, errPrimaryLost):
			last = err
		default:
			last = err
			failed++
		}
		if failed == returnTries || errors.Is(err, errStopping) || c.leader() == nil {
			return last
		}
		if err := sleep(ctx, 100*time.Millisecond<<failed); err != nil {
			return fmt.Errorf("%s is not back: %w (%w; %s was the last primary); the lab tries it again by itself\n%s",
				name, err, last, c.leader().plan.Name, c.statusLines())
		}
	}
}

// tryGateway starts a gateway if it does not run, and waits until it answers if there is a primary.
func (c *documentDB) tryGateway(ctx context.Context, g *pgGateway) (done bool, err error) {
	c.op.Lock()
	defer c.op.Unlock()
	leader, err := c.ready()
	if err != nil {
		return false, err
	}
	if !leader.node.Status().Running {
		if g.node.Status().Running {
			return true, nil
		}
		g.node.SetPrimary(leader.node.Upstream())
		return true, g.node.Start(ctx) // it answers when there is a primary
	}
	ctx, cancel := c.whilePrimaryRuns(ctx, leader)
	defer cancel()
	if g.node.Status().Running {
		err = g.node.Wait(ctx)
	} else {
		err = c.startGateway(ctx, g, leader.node.Upstream())
	}
	return true, orPrimaryLost(ctx, err)
}

// ready is the primary, dead or alive, of a cluster that was started and is not being stopped. The caller holds op.
func (c *documentDB) ready() (*pgMember, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.stopping:
		return nil, errStopping
	case c.primary == nil:
		return nil, errors.New("the cluster has not been started")
	}
	return c.primary, nil
}

// waitReturned waits until a member that was started answers. Nobody holds op meanwhile: a standby that was rewound may
// need log to be consistent that only a new primary can send.
func (c *documentDB) waitReturned(ctx context.Context, m *pgMember) error {
	for {
		err := m.node.Wait(ctx)
		if err == nil || ctx.Err() != nil || !c.restarted(m) {
			return err
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// restarted says whether a member runs again, or will, although it ended while somebody waited for it: it was made to
// join.
func (c *documentDB) restarted(m *pgMember) bool {
	c.op.Lock() // whoever restarts it is done
	defer c.op.Unlock()
	return m.node.Status().Running
}

// tryReturn returns a member if that is possible now. It may not answer yet.
func (c *documentDB) tryReturn(ctx context.Context, m *pgMember) (done bool, err error) {
	c.op.Lock()
	defer c.op.Unlock()
	leader, err := c.ready()
	if err != nil {
		return false, err
	}
	if m.node.Status().Running {
		return true, nil
	}
	if m == leader {
		if c.lostLog(ctx, m) {
			return false, nil // another one is promoted; it joins that one
		}
		if err := c.restartPrimary(ctx, m); err != nil {
			return false, err
		}
		c.site.Event("member", m.plan.Name+" is back as the primary", map[string]string{"member": m.plan.Name, "role": "primary"})
		return true, nil
	}
	limit, cancel := context.WithTimeout(ctx, 2*time.Second)
	at, err := leader.node.Probe(limit)
	cancel()
	switch {
	case err == nil && !at.Standby:
		if err := c.rejoin(ctx, leader, m); err != nil {
			c.mu.Lock()
			m.waiting, m.lastTry = true, time.Now() // who watches tries it again when nobody else does
			c.mu.Unlock()
			return false, err
		}
		return true, c.waitFollower(ctx, leader, m)
	case m.mayRunWithoutPrimary(c):
		return true, c.startStandby(ctx, leader, m)
	}
	c.mu.Lock()
	m.waiting = true
	c.mu.Unlock()
	return false, nil
}

// canWait says whether the member can run as a standby while there is no primary: it counts when one is to be promoted.
// A former primary cannot: what it has that others have not must not count.
func (m *pgMember) mayRunWithoutPrimary(c *documentDB) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !m.diverged && !m.fenced && !m.recopy
}

// standBy starts a member as a standby of a primary that is away.
func (c *documentDB) startStandby(ctx context.Context, leader, m *pgMember) error {
	if err := m.node.Follow(ctx, leader.node.Upstream()); err != nil {
		return err
	}
	if err := m.node.Start(ctx); err != nil {
		return err
	}
	c.joined(m)
	c.mu.Lock()
	m.answered = time.Time{} // until it answers it is a voter at most
	c.mu.Unlock()
	c.site.Event("member", m.plan.Name+" is back as a standby; there is no primary", map[string]string{"member": m.plan.Name, "role": "secondary"})
	return nil
}

// rejoin makes a member a standby of the primary, whatever it was. It gives up when the primary is lost meanwhile: then
// another one has to be promoted first.
func (c *documentDB) rejoin(ctx context.Context, leader, m *pgMember) error {
	ctx, cancel := c.whilePrimaryRuns(ctx, leader)
	defer cancel()
	return orPrimaryLost(ctx, c.rejoinAs(ctx, leader, m))
}

func (c *documentDB) rejoinAs(ctx context.Context, leader, m *pgMember) error {
	if err := m.node.Stop(ctx); err != nil {
		return err
	}
	lost, err := c.rejoinData(ctx, leader, m)
	if err == nil {
		err = m.node.Start(ctx)
	}
	if err == nil {
		err = m.node.Wait(ctx)
	}
	if err != nil {
		return err
	}
	c.joined(m)
	c.reportReturn(m, lost)
	return m.node.DropSlots(ctx) // of its time as a primary: they would keep what nobody asks for
}

// rejoinData makes the data of a member those of a standby. Those of a disk that lied are copied anew.
func (c *documentDB) rejoinData(ctx context.Context, leader, m *pgMember) (engine.Lost, error) {
	c.mu.Lock()
	replace := m.recopy
	c.mu.Unlock()
	if !replace {
		return m.node.Rejoin(ctx, leader.node)
	}
	return engine.Lost{Member: m.plan.Name, When: time.Now().UTC(), Cloned: true}, m.node.Clone(ctx, leader.node)
}

// joined notes that a member runs as a standby.
func (c *documentDB) joined(m *pgMember) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m.answered, m.noStreamSince, m.lastTry = time.Now(), time.Time{}, time.Now()
	m.fenced, m.waiting, m.diverged, m.recopy, m.problem = false, false, false, false, ""
}

// tellLost tells that a member is back, and what it gave up.
func (c *documentDB) reportReturn(m *pgMember, lost engine.Lost) {
	data := map[string]string{"member": m.plan.Name, "role": "secondary", "diverged_bytes": strconv.FormatInt(lost.Bytes, 10)}
	text := m.plan.Name + " is back as a standby"
	if lost.Bytes > 0 {
		data["diverged_transactions"], data["fork"], data["kept"] = strconv.Itoa(lost.Transactions), lost.Fork, lost.Kept
		text += fmt.Sprintf("; it gave up %d bytes of write-ahead log with %d transactions that the others do not have (kept in %s)",
			lost.Bytes, lost.Transactions, lost.Kept)
	}
	if lost.Cloned {
		data["cloned"] = "true"
		text += "; all its data were copied from the primary"
	}
	c.site.Event("member", text, data)
}

// waitFollower waits until the primary streams to the member.
func (c *documentDB) waitFollower(ctx context.Context, leader, m *pgMember) error {
	ctx, cancel := c.whilePrimaryRuns(ctx, leader)
	defer cancel()
	last := "is not known to " + leader.plan.Name
	for {
		list, err := leader.node.Replication(ctx)
		for _, s := range list {
			if s.Name == m.plan.Name {
				last = "is " + s.State
			}
			if s.Name == m.plan.Name && s.State == "streaming" && c.onTimeline(ctx, m) {
				return nil
			}
		}
		if err != nil {
			last = err.Error()
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return orPrimaryLost(ctx, fmt.Errorf("%s runs but does not receive (it %s): %w", m.plan.Name, last, err))
		}
	}
}

// inStep says whether a standby is on the primary's timeline and is done with its own log: while it reads an earlier
// timeline the primary says that it streams, but it could neither count for a majority nor be promoted.
func (c *documentDB) onTimeline(ctx context.Context, m *pgMember) bool {
	limit, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	at, err := m.node.Probe(limit)
	c.mu.Lock()
	defer c.mu.Unlock()
	return err == nil && at.Settled && at.Timeline >= c.history.timeline
}

// errPrimaryLost says that a primary went away while something was done with it.
var errPrimaryLost = errors.New("the primary went away meanwhile")

// whyEnded is an error that is that of a lost primary if one was the reason for it: programs that are ended with a ctx
// say only that they were ended.
func orPrimaryLost(ctx context.Context, err error) error {
	if err == nil || !errors.Is(context.Cause(ctx), errPrimaryLost) || errors.Is(err, errPrimaryLost) {
		return err
	}
	return fmt.Errorf("%w: %w", errPrimaryLost, err)
}

// whileAlive is ctx for as long as a member's process runs and the primary is not lost.
func (c *documentDB) whilePrimaryRuns(ctx context.Context, leader *pgMember) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	ended := leader.node.Ended()
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-ended:
				cancel(errPrimaryLost)
				return
			case <-time.After(100 * time.Millisecond):
			}
			if _, _, lost := c.primaryLost(); lost && c.watched() {
				cancel(errPrimaryLost)
				return
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// watched says whether Watch runs, so that what is known of members is of now.
func (c *documentDB) watched() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.watching
}
