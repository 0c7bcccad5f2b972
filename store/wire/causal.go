package wire

import (
	"encoding/binary"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
)

// causal has the times of a causally consistent session on all of its connections: the operation time that its next
// read must not precede, and the cluster time that a server needs to accept such a read. The methods do nothing on nil,
// for a session that is not causally consistent.
type causal struct {
	operation uint64 // the latest operationTime of any reply
	cluster   []byte // the latest $clusterTime
	clusterAt uint64
	concern   []byte // readConcern and lsid of the current read
}

func newCausal(st *settings) *causal {
	if !st.concern.Causal {
		return nil
	}
	return &causal{}
}

// note keeps the times of a reply. The reply to a refused command has them too.
func (c *causal) note(r *reply) {
	if c == nil {
		return
	}
	c.operation = max(c.operation, r.operation)
	if r.clusterTime == nil {
		return
	}
	if at := clusterTimestamp(r.clusterTime); at > c.clusterAt {
		c.clusterAt = at
		c.cluster = append(c.cluster[:0], r.clusterTime...)
	}
}

// join gives a connection the cluster time of the other connections of its session. A server refuses to wait for a time
// after its cluster time.
func (c *causal) join(l *link) {
	if c != nil && c.cluster != nil {
		l.noteClusterTime(c.cluster)
	}
}

func (c *causal) reading(s *shape) []byte {
	if c == nil || c.operation == 0 {
		return s.read
	}
	c.concern = append(s.settings.appendReadConcern(c.concern[:0], c.operation), s.more...)
	return c.concern
}

// writing returns the concerns and the session of an aggregate that writes.
func (c *causal) writing(s *shape) []byte {
	if c == nil {
		return append(s.settings.appendReadConcern(nil, 0), s.out...)
	}
	c.concern = append(s.settings.appendReadConcern(c.concern[:0], c.operation), s.out...)
	return c.concern
}

// appendAfter writes the time that a read must not precede.
func appendAfter(dst []byte, at uint64) []byte {
	return binary.LittleEndian.AppendUint64(bsoncore.AppendHeader(dst, rawbson.Timestamp, "afterClusterTime"), at)
}

// after is the time that the first read of a transaction must not precede.
func (c *causal) after() uint64 {
	if c == nil {
		return 0
	}
	return c.operation
}
