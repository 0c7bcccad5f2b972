package wire

import (
	"encoding/binary"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
)

// causal is what a causally consistent session has seen, on all of its connections: the operation time that its next
// read must not be behind, and the cluster time that a server needs to be told before it accepts such a read. Its
// methods do nothing on nil, which is a session that is not causally consistent.
type causal struct {
	operation uint64 // the latest operationTime of any answer
	cluster   []byte // the latest $clusterTime
	clusterAt uint64
	settings  *settings
	concern   []byte // readConcern and lsid of the read being built
}

func newCausal(st *settings) *causal {
	if !st.concern.Causal {
		return nil
	}
	return &causal{settings: st}
}

// note takes in an answer, also one that refuses the command: it has its operation time all the same.
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

// join tells a connection what the others of its session have seen. A server refuses to wait for a time after the
// cluster time that it knows.
func (c *causal) join(l *link) {
	if c != nil && c.cluster != nil {
		l.noteClusterTime(c.cluster)
	}
}

// reading returns readConcern and lsid of the next read.
func (c *causal) reading(s *shape) []byte {
	if c == nil || c.operation == 0 {
		return s.read
	}
	c.concern = append(c.settings.appendReadConcern(c.concern[:0], c.operation), s.more...)
	return c.concern
}

// appendAfter writes the time that a read must not be behind.
func appendAfter(dst []byte, at uint64) []byte {
	return binary.LittleEndian.AppendUint64(appendKey(dst, rawbson.Timestamp, "afterClusterTime"), at)
}
