package topology

import (
	"context"
	"fmt"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
)

// history is the timeline history of the primary: its timeline, and the points where it branched off earlier ones.
type history struct {
	timeline int64
	forks    []engine.Fork
}

// diverges reports whether a member has WAL outside the history: on an earlier timeline behind the point where the
// primary left it, or on a timeline that the primary never was on. Such a member must be rewound before it follows or
// is promoted. A timeline newer than the primary's belongs to a promotion that has just been made, and does not
// diverge.
func (h history) diverges(at engine.Position) bool {
	if at.Timeline >= h.timeline {
		return false
	}
	for _, f := range h.forks {
		if f.Timeline == at.Timeline {
			return at.LSN > f.At
		}
	}
	return true
}

// furthest returns the index of the position with the most data. None of them diverges, see [history.diverges], so the
// LSN alone decides. Of equal LSNs the newer timeline wins.
func furthest(all []engine.Position) int {
	best := 0
	for i, at := range all {
		if at.LSN > all[best].LSN || at.LSN == all[best].LSN && at.Timeline > all[best].Timeline {
			best = i
		}
	}
	return best
}

// noteDiverged stores the position of a standby and reports whether the standby has diverged from the primary.
func (c *documentDB) noteDiverged(m *pgMember, at engine.Position) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	m.at = at
	c.checkDiverged(m)
	return m.diverged
}

// checkDiverged marks a standby that has diverged from the primary. The caller holds mu.
func (c *documentDB) checkDiverged(m *pgMember) {
	if m == c.primary || m.diverged || !m.at.Standby || !c.history.diverges(m.at) {
		return
	}
	m.diverged = true
	m.problem = fmt.Sprintf("its WAL has diverged from %s (up to %s of timeline %d); it must be rewound",
		c.primary.plan.Name, m.at.LSN, m.at.Timeline)
}

// recordPrimary records that a member is the primary now, and which others have diverged from it. It retries the query
// of the history, because the history is needed to detect divergence.
func (c *documentDB) recordPrimary(ctx context.Context, m *pgMember) error {
	at, forks, err := primaryPosition(ctx, m)
	for err != nil && m.node.Status().Running && sleep(ctx, 50*time.Millisecond) == nil {
		at, forks, err = primaryPosition(ctx, m)
	}
	if err != nil {
		return err
	}
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.primary != nil && c.primary != m {
		c.primary.diverged = true
	}
	c.primary, c.history, c.elected = m, history{at.Timeline, forks}, nil
	m.at, m.answered, m.fenced, m.waiting, m.diverged, m.problem = at, now, false, false, false, ""
	for _, o := range c.members {
		o.noStreamSince = time.Time{}
		if o.node.Status().Running {
			c.checkDiverged(o)
		}
	}
	return nil
}

// primaryPosition returns the position of a primary and its timeline history.
func primaryPosition(ctx context.Context, m *pgMember) (engine.Position, []engine.Fork, error) {
	limit, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	at, err := m.node.Position(limit)
	if err != nil {
		return at, nil, err
	}
	if at.Standby {
		return at, nil, fmt.Errorf("%s is still a standby", m.plan.Name)
	}
	forks, err := m.node.Forks(limit, at.Timeline)
	return at, forks, err
}
