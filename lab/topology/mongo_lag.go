package topology

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/server"
)

// leastLag is the lag of a member that lacks a write from less than a millisecond ago.
const leastLag = time.Millisecond

// idleAfter is the time without writes after which a primary is idle. Optimes have whole seconds.
const idleAfter = 2 * time.Second

// logEntry has fields of an oplog entry.
type logEntry struct {
	TS   bson.Timestamp `bson:"ts"`
	Term int64          `bson:"t"`
	Wall time.Time      `bson:"wall"`
}

// describeLag sets the replication lag of a secondary: the age of the oldest write that it lacks. A primary without
// writes adds a no-op to its oplog every 10 s (manual: "periodicNoopIntervalSecs"). Then the optimes differ by 10 s for
// a moment although no write is missing, so describeLag reads the primary's oplog if the optimes differ.
func (c *mongoCluster) describeLag(ctx context.Context, m *record.LabMember, from *engine.MongoNode, s server.Set,
	of server.Member) {
	primary := s.Member(s.Primary())
	if primary == nil {
		return
	}
	var next []logEntry
	if of.Optime != primary.Optime && s.State == server.Primary {
		one, cancel := context.WithTimeout(ctx, time.Second)
		next, _ = logFrom(one, from, of.Optime.TS) // without it the optimes are an estimate
		cancel()
	}
	lag, idle := lagOf(s.Now, *primary, of, next)
	seconds := lag.Seconds()
	m.LagSeconds, m.Idle = &seconds, idle
}

// applyOwnOptime replaces the optime of a member by the member's own answer. Its primary learns it with a delay, of
// seconds if nothing is written.
func applyOwnOptime(m *server.Member, a answer) {
	if last := a.LastWrite.OpTime; a.err == nil && !last.TS.IsZero() {
		m.Optime, m.Date = last, time.Unix(int64(last.TS.T), 0)
	}
}

// lagOf returns the replication lag of a member; 0 only if it has all writes of the primary. next are the entries of
// the primary's oplog from the member's last entry on, without no-ops, see [logFrom]. A former primary with writes to
// roll back has a lag even if its last entry is later: the primary does not have that entry.
func lagOf(now time.Time, primary, m server.Member, next []logEntry) (lag time.Duration, idle bool) {
	switch {
	case m.Optime == primary.Optime:
		return 0, now.Sub(primary.Date) >= idleAfter
	case len(next) == 0 || next[0].TS != m.Optime.TS || next[0].Term != m.Optime.Term:
		return max(leastLag, primary.Date.Sub(m.Date)), false
	case len(next) == 1:
		return 0, now.Sub(m.Date) >= idleAfter
	}
	return max(leastLag, now.Sub(next[1].Wall)), false
}

// logFrom reads the oplog entry at a timestamp, and the first write after it.
func logFrom(ctx context.Context, n *engine.MongoNode, at bson.Timestamp) ([]logEntry, error) {
	var f cursorReply
	err := n.Command(ctx, engine.AsUser, "local", bson.D{{Key: "find", Value: "oplog.rs"},
		{Key: "filter", Value: bson.D{
			{Key: "ts", Value: bson.D{{Key: "$gte", Value: at}}}, // start of the scan
			{Key: "$or", Value: bson.A{bson.D{{Key: "ts", Value: at}}, bson.D{{Key: "op", Value: bson.D{{Key: "$ne", Value: "n"}}}}}}}},
		{Key: "projection", Value: bson.D{{Key: "ts", Value: 1}, {Key: "t", Value: 1}, {Key: "wall", Value: 1}}},
		{Key: "limit", Value: int32(2)}, {Key: "singleBatch", Value: true}}, &f)
	if err != nil {
		return nil, err
	}
	var entries []logEntry
	for _, raw := range f.Cursor.First {
		var e logEntry
		if err := bson.Unmarshal(raw, &e); err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}
