package topology

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/server"
)

// leastLag is the lag of a member that lacks a write which was made just now.
const leastLag = time.Millisecond

// idleAfter is how long a primary must have written nothing to be called idle. Optimes are of whole seconds.
const idleAfter = 2 * time.Second

// logEntry is what is read of an entry of the oplog.
type logEntry struct {
	TS   bson.Timestamp `bson:"ts"`
	Term int64          `bson:"t"`
	Wall time.Time      `bson:"wall"`
}

// describeLag says how far a secondary is behind: how long ago the oldest write was made that it lacks. A primary without
// writes adds a no-op to its oplog every 10 s (manual: "periodicNoopIntervalSecs"); the difference of optimes is 10 s then
// for a moment, although nothing is missing. So the primary's oplog is read where the optimes differ.
func (c *mongoCluster) describeLag(ctx context.Context, m *record.LabMember, from *engine.MongoNode, s server.Set, of server.Member) {
	primary := s.Member(s.Primary())
	if primary == nil {
		return
	}
	var next []logEntry
	if of.Optime != primary.Optime && s.State == server.Primary {
		one, cancel := context.WithTimeout(ctx, time.Second)
		next, _ = logFrom(one, from, of.Optime.TS) // the optimes say it roughly
		cancel()
	}
	lag, idle := lagOf(s.Now, *primary, of, next)
	seconds := lag.Seconds()
	m.LagSeconds, m.Idle = &seconds, idle
}

// heard takes what the member itself says that it has: its primary hears of that with a delay, of seconds where nothing is
// written.
func applyOwnOptime(m *server.Member, a answer) {
	if last := a.LastWrite.OpTime; a.err == nil && !last.TS.IsZero() {
		m.Optime, m.Date = last, time.Unix(int64(last.TS.T), 0)
	}
}

// lagOf is how far a member is behind; 0 only if it has all writes of the primary. next are the entries of the primary's
// oplog from the member's last one on without no-ops, as [logFrom] reads them. A former primary that has writes which it must
// give up is behind although its last one may be of a later time: the primary does not have that entry.
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

// logFrom reads the entry of the oplog at a time, and the first one after it that is a write.
func logFrom(ctx context.Context, n *engine.MongoNode, at bson.Timestamp) ([]logEntry, error) {
	var f cursorReply
	err := n.Command(ctx, engine.AsUser, "local", bson.D{{Key: "find", Value: "oplog.rs"},
		{Key: "filter", Value: bson.D{
			{Key: "ts", Value: bson.D{{Key: "$gte", Value: at}}}, // where the server begins to read
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
