package topology

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// A primary sends its standbys only what it has flushed, so no standby ever is ahead of it. If one is, when the primary comes
// back, then its disk lost what it had acknowledged: a disk that lies about flushes, and a power cut. PostgreSQL does not
// notice: the primary starts with the log that is left, and its standbys ask in vain for what comes after theirs
// ("requested starting point … is ahead of the WAL flush position"), for ever, or until it has written other log over it.

// shortfall compares the log on the disk of a primary that is to be started again with its standbys'. It returns how many bytes the
// one that is furthest has more, and all that have more.
func (c *documentDB) missingLog(ctx context.Context, primary *pgMember) (most int64, ahead []*pgMember) {
	limit, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for _, m := range c.members {
		c.mu.Lock()
		counts := m != primary && !m.diverged && !m.fenced && !m.recopy && m.node.Status().Running && !m.node.Paused()
		c.mu.Unlock()
		if !counts {
			continue
		}
		at, err := m.node.Position(limit)
		if err != nil {
			continue
		}
		// Whole records on both sides: the log may be flushed, and sent, up to the middle of one.
		end, err := m.node.LogNear(limit, at.Timeline, at.LSN)
		if err != nil || end == 0 {
			continue
		}
		have, err := primary.node.LogNear(limit, at.Timeline, end)
		if err != nil || have >= end {
			continue
		}
		if have == 0 { // not even the segment is there
			whole, err := primary.node.LogOnDisk(limit)
			if err != nil || whole.Timeline != at.Timeline {
				continue
			}
			have = min(whole.LSN, end)
		}
		if less := int64(end - have); less > 0 {
			most, ahead = max(most, less), append(ahead, m)
		}
	}
	return most, ahead
}

// gaveBackLess says whether the last primary, which is to be started again, lost log that it had acknowledged, and tells it. Then it
// must not lead while others have what it lost: it is kept down until one of them was promoted, and gets all its data
// anew, because a disk that lost log may have lost any of them. Where nothing is promoted it leads with what it has, and
// those that have more get its data. The caller holds op.
func (c *documentDB) lostLog(ctx context.Context, m *pgMember) bool {
	c.mu.Lock()
	known := m.recopy
	c.mu.Unlock()
	if known {
		return true
	}
	less, ahead := c.missingLog(ctx, m)
	if less == 0 {
		return false
	}
	name, names := m.plan.Name, ""
	for _, o := range ahead {
		names = firstNonEmpty(names, o.plan.Name)
	}
	data := map[string]string{"member": name, "lost_bytes": strconv.FormatInt(less, 10), "ahead": names}
	text := fmt.Sprintf("%s came back without %d bytes of write-ahead log that it had acknowledged and %s has: its disk lost them", name, less, names)
	if c.site.Spec.Availability.NoPromotion {
		c.site.Event("problem", text+"; nothing is promoted, so it leads without them, and who has more gets its data", data)
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, o := range ahead {
			o.recopy, o.problem = true, "it has write-ahead log that "+name+" lost, and has to give it up"
		}
		return false
	}
	c.site.Event("problem", text+"; another member is promoted, and it gets all data anew", data)
	_ = m.node.Retire() // who starts it makes it a standby in any case
	c.mu.Lock()
	defer c.mu.Unlock()
	m.fenced, m.recopy, m.problem = true, true, "its disk lost write-ahead log that it had acknowledged"
	return true
}
