package main

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// concern is a write concern (manual: "Write Concern").
type concern struct {
	members  int // that have to have it
	majority bool
	journal  bool
	end      time.Time // zero for none
	expired  bson.D    // what is said when it comes
}

// concern reads the write concern of a command, or refuses it. Where none is given, a set has its implicit default,
// which is majority since 5.0, unless arbiters leave no more voting members with data than a majority.
func (r *replica) concern(command bson.D) (c concern, refusal bson.D) {
	wc := sub(command, "writeConcern")
	c.members = 1
	switch w := get(wc, "w").(type) {
	case nil:
		r.mu.Lock()
		c.majority = r.s.atLeast(5, 0) && !r.alone() && r.implicitMajority()
		r.mu.Unlock()
	case string:
		if w != "majority" {
			return c, failed(79, "UnknownReplWriteConcern", "No write concern mode named '"+w+"' found in replica set configuration")
		}
		c.majority = true
	default:
		c.members = int(number(wc, "w"))
	}
	c.journal, _ = get(wc, "j").(bool)
	if r.alone() {
		if c.members > 1 {
			return c, failed(2, "BadValue", "cannot use 'w' > 1 when a host is not replicated")
		}
		c.journal = c.journal || c.majority
		c.majority = false
	}
	r.mu.Lock()
	data := 0
	for _, m := range r.members {
		if !m.arbiter {
			data++
		}
	}
	r.mu.Unlock()
	if c.members > max(1, data) {
		return c, failed(100, "UnsatisfiableWriteConcern", "Not enough data-bearing nodes")
	}
	if n := number(wc, "wtimeout"); n > 0 {
		c.end = time.Now().Add(time.Duration(n) * time.Millisecond)
		c.expired = bson.D{{Key: "code", Value: int32(64)}, {Key: "codeName", Value: "WriteConcernTimeout"}, {Key: "errmsg", Value: "waiting for replication timed out"},
			{Key: "errInfo", Value: bson.D{{Key: "wtimeout", Value: true}}}}
	}
	if n := number(command, "maxTimeMS"); n > 0 {
		if end := time.Now().Add(time.Duration(n) * time.Millisecond); c.end.IsZero() || end.Before(c.end) {
			c.end = end
			c.expired = bson.D{{Key: "code", Value: int32(50)}, {Key: "codeName", Value: "MaxTimeMSExpired"}, {Key: "errmsg", Value: "operation exceeded time limit"}}
		}
	}
	return c, nil
}

func (r *replica) implicitMajority() bool {
	data, votes := 0, 0
	for _, m := range r.members {
		votes += m.votes
		if m.votes > 0 && !m.arbiter {
			data++
		}
	}
	return data == votes || data > votes/2+1
}

// met says whether a write is where its concern wants it.
func (r *replica) met(c concern, at optime) bool {
	if c.majority {
		return r.commit.compare(at) >= 0
	}
	if c.journal && r.durable.compare(at) < 0 {
		return false
	}
	if c.members <= 1 {
		return true
	}
	n := 0
	for _, m := range r.members {
		if !m.arbiter && r.has(m.host, c.journal).compare(at) >= 0 {
			n++
		}
	}
	return n >= c.members
}

// confirm waits for a write concern and adds to the answer what became of it. A write that is not confirmed is done
// nevertheless.
func (r *replica) confirm(c concern, at optime, term int64, retryable bool, reply bson.D) bson.D {
	problem := func(d bson.D) bson.D { return append(reply, bson.E{Key: "writeConcernError", Value: d}) }
	if c.majority && r.s.is("no-majority") {
		return problem(bson.D{{Key: "code", Value: int32(64)}, {Key: "codeName", Value: "WriteConcernTimeout"}, {Key: "errmsg", Value: "waiting for replication timed out"}})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.journal || c.majority {
		r.flush()
	}
	for {
		if r.state != stPrimary || r.term != term { // first: what this member gets from the next primary is not the write
			if retryable {
				reply = append(reply, bson.E{Key: "errorLabels", Value: bson.A{"RetryableWriteError"}})
			}
			return problem(bson.D{{Key: "code", Value: int32(189)}, {Key: "codeName", Value: "PrimarySteppedDown"},
				{Key: "errmsg", Value: "Primary stepped down while waiting for replication"}})
		}
		if r.met(c, at) {
			return reply
		}
		left := time.Hour
		if !c.end.IsZero() {
			if left = time.Until(c.end); left <= 0 {
				return problem(c.expired)
			}
		}
		r.wait(left)
	}
}
