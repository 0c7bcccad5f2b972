package topology

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
)

// returnLimit bounds a return: all data of a member may have to be copied.
const returnLimit = 5 * time.Minute

// returnTries bounds the failed attempts at a return, not counting those that failed because the primary was lost.
const returnTries = 3

// Return starts a member again. The last primary becomes primary again if no failover has replaced it. Other members
// become standbys; unreplicated WAL of a former primary is rolled back. Without a primary, a former primary waits for
// one. If the primary is lost meanwhile, or this machine was paused for seconds, the return is retried until ctx or
// [returnLimit] ends. After that Watch keeps trying.
func (c *documentDB) Return(ctx context.Context, member string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, returnLimit, fmt.Errorf("the limit of %v is over", returnLimit))
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
	return fmt.Errorf("there is no member %s; see 'plimsoll lab status'", member)
}

var errStopping = errors.New("the lab is going down")

// tryAgain retries the return of a server while it fails for lack of a primary, and up to returnTries times for other
// reasons.
func (c *documentDB) tryAgain(ctx context.Context, name string, try func() (done bool, err error)) error {
	var last error
	for failed := 0; ; {
		done, err := try()
		switch {
		case done && err == nil:
			return nil
		case err == nil:
			last = errors.New("there is no primary")
		default:
			last = err
			if !errors.Is(err, errPrimaryLost) {
				failed++
			}
		}
		if failed == returnTries || errors.Is(err, errStopping) || c.leader() == nil {
			return last
		}
		if err := sleep(ctx, 100*time.Millisecond<<failed); err != nil {
			return fmt.Errorf("%s has not joined again: %w (%w; the last primary is %s). The lab keeps trying.\n%s",
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

// ready returns the last primary, dead or alive, or an error before the start and during a stop. The caller holds op.
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

// waitReturned waits until a member that was started answers, without holding op: a rewound standby may need WAL of a
// new primary to become consistent.
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

// restarted reports whether a member that has ended was restarted by a rejoin.
func (c *documentDB) restarted(m *pgMember) bool {
	c.op.Lock() // waits for a rejoin
	defer c.op.Unlock()
	return m.node.Status().Running
}

// tryReturn starts a member if that is possible now. The member may not answer yet.
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
			return false, nil // failover first; it joins the new primary
		}
		if err := c.restartPrimary(ctx, m); err != nil {
			return false, err
		}
		c.site.Event("member", m.plan.Name+" is back as the primary",
			map[string]string{"member": m.plan.Name, "role": "primary"})
		return true, nil
	}
	limit, cancel := context.WithTimeout(ctx, 2*time.Second)
	at, err := leader.node.Probe(limit)
	cancel()
	switch {
	case err == nil && !at.Standby:
		if err := c.rejoin(ctx, leader, m); err != nil {
			c.mu.Lock()
			m.waiting, m.lastTry = true, time.Now() // Watch tries it again
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

// mayRunWithoutPrimary reports whether a member can run as a standby without a primary and count in an election. A
// former primary cannot, because its WAL may have diverged.
func (m *pgMember) mayRunWithoutPrimary(c *documentDB) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !m.diverged && !m.fenced && !m.recopy
}

// startStandby starts a member as a standby of a dead primary.
func (c *documentDB) startStandby(ctx context.Context, leader, m *pgMember) error {
	if err := m.node.Follow(ctx, leader.node.Upstream()); err != nil {
		return err
	}
	if err := m.node.Start(ctx); err != nil {
		return err
	}
	c.joined(m)
	c.mu.Lock()
	m.answered = time.Time{} // until it answers it is a voter, not a candidate
	c.mu.Unlock()
	c.site.Event("member", m.plan.Name+" is back as a standby; there is no primary",
		map[string]string{"member": m.plan.Name, "role": "secondary"})
	return nil
}

// rejoin makes a member a standby of the primary. It fails if the primary is lost meanwhile: a failover comes first
// then.
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
	return m.node.DropSlots(ctx) // from its time as primary: they would keep WAL that nobody reads
}

// rejoinData rewinds the data of a member to those of a standby. Data on a disk that lost acknowledged WAL are copied.
func (c *documentDB) rejoinData(ctx context.Context, leader, m *pgMember) (engine.Lost, error) {
	c.mu.Lock()
	replace := m.recopy
	c.mu.Unlock()
	if !replace {
		return m.node.Rejoin(ctx, leader.node)
	}
	return engine.Lost{Member: m.plan.Name, When: time.Now().UTC(), Cloned: true}, m.node.Clone(ctx, leader.node)
}

// joined records that a member runs as a standby.
func (c *documentDB) joined(m *pgMember) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m.answered, m.noStreamSince, m.lastTry = time.Now(), time.Time{}, time.Now()
	m.fenced, m.waiting, m.diverged, m.recopy, m.problem = false, false, false, false, ""
}

// reportReturn records that a member is back, and how much was rolled back.
func (c *documentDB) reportReturn(m *pgMember, lost engine.Lost) {
	data := map[string]string{"member": m.plan.Name, "role": "secondary",
		"diverged_bytes": strconv.FormatInt(lost.Bytes, 10)}
	text := m.plan.Name + " is back as a standby"
	if lost.Bytes > 0 {
		data["diverged_transactions"], data["fork"], data["kept"] = strconv.Itoa(lost.Transactions), lost.Fork, lost.Kept
		text += fmt.Sprintf("; %d unreplicated transactions (%d bytes of WAL) were rolled back and are kept in %s",
			lost.Transactions, lost.Bytes, lost.Kept)
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
	last := "not connected to " + leader.plan.Name
	for {
		list, err := leader.node.Replication(ctx)
		for _, s := range list {
			if s.Name != m.plan.Name {
				continue
			}
			last = s.State
			if s.State == "streaming" && c.onTimeline(ctx, m) {
				return nil
			}
		}
		if err != nil {
			last = err.Error()
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return orPrimaryLost(ctx, fmt.Errorf("%s runs but does not receive from the primary (state: %s): %w",
				m.plan.Name, last, err))
		}
	}
}

// onTimeline reports whether a standby is on the primary's timeline and has replayed its own WAL. While it reads an
// earlier timeline, the primary reports it as streaming, but it can neither acknowledge writes nor be promoted.
func (c *documentDB) onTimeline(ctx context.Context, m *pgMember) bool {
	limit, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	at, err := m.node.Probe(limit)
	c.mu.Lock()
	defer c.mu.Unlock()
	return err == nil && at.Settled && at.Timeline >= c.history.timeline
}

// errPrimaryLost is the cause when a primary is lost during an operation that needs it.
var errPrimaryLost = errors.New("the primary was lost during the operation")

// orPrimaryLost adds errPrimaryLost to an error if it is the cause of ctx's end: the error of a killed program does not
// include the cause.
func orPrimaryLost(ctx context.Context, err error) error {
	if err == nil || !errors.Is(context.Cause(ctx), errPrimaryLost) || errors.Is(err, errPrimaryLost) {
		return err
	}
	return fmt.Errorf("%w: %w", errPrimaryLost, err)
}

// whilePrimaryRuns returns a ctx that ends when the process of the primary ends or the primary is lost.
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

// watched reports whether Watch runs, so that the state of members is current.
func (c *documentDB) watched() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.watching
}
