package topology

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// A primary sends only flushed WAL to its standbys, so no standby is ahead of it. If a standby is ahead of a primary
// that returns, the primary's disk lost acknowledged WAL: the disk ignored a flush, and then lost power. PostgreSQL
// does not detect this. The primary starts with the remaining WAL, and its standbys request later WAL in vain
// ("requested starting point … is ahead of the WAL flush position") until the primary has written other WAL there.

// missingLog compares the WAL on the disk of a primary, before its restart, with that of its standbys. It returns all
// standbys that have more, and the largest difference in bytes.
func (c *documentDB) missingLog(ctx context.Context, primary *pgMember) (most int64, ahead []*pgMember) {
	limit, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for _, m := range c.members {
		c.mu.Lock()
		counts := m != primary && c.follower(m) && !m.node.Paused()
		c.mu.Unlock()
		if !counts {
			continue
		}
		at, err := m.node.Position(limit)
		if err != nil {
			continue
		}
		// Compare complete records: WAL may be flushed, and sent, up to the middle of a record.
		end, err := m.node.LogNear(limit, at.Timeline, at.LSN)
		if err != nil || end == 0 {
			continue
		}
		have, err := primary.node.LogNear(limit, at.Timeline, end)
		if err != nil || have >= end {
			continue
		}
		if have == 0 { // the segment is missing as well
			last, err := primary.node.LogOnDisk(limit)
			if err != nil || last.Timeline != at.Timeline {
				continue
			}
			have = min(last.LSN, end)
		}
		if less := int64(end - have); less > 0 {
			most, ahead = max(most, less), append(ahead, m)
		}
	}
	return most, ahead
}

// lostLog reports whether the last primary, before its restart, has lost acknowledged WAL, and records a problem. Such
// a primary stays down until another member was promoted. Then all its data are copied, because the disk may have lost
// any of them. Without failover (availability.no_promotion) it becomes primary with its remaining data, and standbys
// that have more are overwritten. The caller holds op.
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
	name, first := m.plan.Name, ahead[0].plan.Name
	data := map[string]string{"member": name, "lost_bytes": strconv.FormatInt(less, 10), "ahead": first}
	text := fmt.Sprintf("%s returned without %d bytes of acknowledged WAL that %s has: its disk lost them", name, less, first)
	if c.site.Spec.Availability.NoPromotion {
		c.site.Event("problem", text+"; there is no failover (availability.no_promotion), so it becomes primary without them, "+
			"and its data overwrite the standbys that have more", data)
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, o := range ahead {
			o.recopy, o.problem = true, "it has WAL that "+name+" lost; its data will be copied from the primary"
		}
		return false
	}
	c.site.Event("problem", text+"; another member is promoted, and all data of "+name+" are copied from it", data)
	_ = m.node.Retire() // its next start makes it a standby in any case
	c.mu.Lock()
	defer c.mu.Unlock()
	m.fenced, m.recopy, m.problem = true, true, "its disk lost acknowledged WAL"
	return true
}
