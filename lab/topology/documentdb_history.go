package topology

import (
	"context"
	"fmt"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
)

// history is the way that the primary's write-ahead log went: its timeline, and where that left earlier ones.
type history struct {
	timeline int64
	forks    []engine.Fork
}

// left says whether a member has what is not on that way: it is on an earlier timeline beyond the point where the
// primary left it, or on one that the primary never was on. It can neither be promoted nor follow before it has given
// that up. A timeline that is newer than the primary's is not judged: who promoted it knows more.
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

// furthest is the index of the position with the most data. All are on one way, see [history.left], so the position in
// the log alone says who has more; of two that have the same the one on the newer timeline comes first.
func furthest(all []engine.Position) int {
	best := 0
	for i, at := range all {
		if at.LSN > all[best].LSN || at.LSN == all[best].LSN && at.Timeline > all[best].Timeline {
			best = i
		}
	}
	return best
}

// leaves notes where a standby is, and says whether it went another way than the primary.
func (c *documentDB) noteDiverged(m *pgMember, at engine.Position) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	m.at = at
	c.checkDiverged(m)
	return m.diverged
}

// judge finds out whether a standby went another way than the primary. It counts for nothing until it has joined
// again. The caller holds mu.
func (c *documentDB) checkDiverged(m *pgMember) {
	if m == c.primary || m.diverged || !m.at.Standby || !c.history.diverges(m.at) {
		return
	}
	m.diverged = true
	m.problem = fmt.Sprintf("it has write-ahead log up to %s of timeline %d that %s does not have, and has to give it up", m.at.LSN, m.at.Timeline, c.primary.plan.Name)
}

// crown notes that a member is the primary now, and which others went another way. A primary that was just promoted is asked
// again if it does not answer: without its history nobody could tell.
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

// standing is where a primary is and how it came there.
func primaryPosition(ctx context.Context, m *pgMember) (engine.Position, []engine.Fork, error) {
	limit, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	at, err := m.node.Position(limit)
	if err != nil {
		return at, nil, err
	}
	if at.Standby {
		return at, nil, fmt.Errorf("%s is a standby still", m.plan.Name)
	}
	forks, err := m.node.Forks(limit, at.Timeline)
	return at, forks, err
}
