package wire

import (
	"bytes"
	"encoding/binary"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// shape holds the parts of commands that stay the same for one connection. The order of elements is
// that of the official driver:
//
//	command, its arguments, readConcern, writeConcern, lsid, $clusterTime, maxTimeMS, $db, $readPreference
type shape struct {
	write     []byte // writeConcern and lsid
	read      []byte // readConcern and lsid
	more      []byte // lsid (getMore has no read concern)
	writeTail []byte // $db and the closing zero
	readTail  []byte // $db, $readPreference and the closing zero
	database  string
}

// newShape prepares the constant parts for a server with the given greeting. lsid is the session's
// {id: UUID} document.
func newShape(st *settings, g *greeting, lsid []byte) shape {
	var session []byte
	if g.sessions {
		session = appendDocument(nil, rawbson.Document, "lsid", lsid)
	}
	s := shape{database: st.database}
	s.write = st.appendWriteConcern(nil)
	if !st.unacknowledged {
		s.write = append(s.write, session...)
	}
	s.read = append(st.appendReadConcern(nil, 0), session...)
	s.more = session
	db := appendString(nil, "$db", st.database)
	s.writeTail = append(db[:len(db):len(db)], 0)
	s.readTail = append(st.appendReadPreference(db, g), 0)
	return s
}

// finish appends what follows a command's own arguments, closes the document and the message.
// maxTimeMS is left out when it is not positive.
func (l *link) finish(msg, fixed []byte, maxTimeMS int64, tail []byte) []byte {
	msg = append(msg, fixed...)
	if l.clusterTime != nil {
		msg = appendDocument(msg, rawbson.Document, "$clusterTime", l.clusterTime)
	}
	if maxTimeMS > 0 {
		msg = appendInt64(msg, "maxTimeMS", maxTimeMS)
	}
	msg = append(msg, tail...) // ends with the zero that closes the document
	binary.LittleEndian.PutUint32(msg[bodyStart:], uint32(len(msg)-bodyStart))
	return msg
}

// maxTime turns the time left into maxTimeMS as the official driver does: rounded up to milliseconds,
// left out (0) where there is no deadline or more than the server accepts.
func maxTime(left time.Duration) int64 {
	ms := int64((left + time.Millisecond - 1) / time.Millisecond)
	if ms > 1<<31-1 {
		return 0
	}
	return ms
}

// appendFind writes a find. With a limit of 1 no cursor stays open and the server is told the time left;
// with any other limit maxTimeMS is left out, as it would apply to the whole cursor.
func (l *link) appendFind(msg []byte, req *workload.Request, left time.Duration) []byte {
	msg = beginMessage(msg)
	msg = appendString(msg, "find", req.Collection)
	msg = appendDocument(msg, rawbson.Document, "filter", req.Filter)
	if req.Limit > 0 {
		msg = appendInt64(msg, "limit", req.Limit)
	}
	if req.Projection != nil {
		msg = appendDocument(msg, rawbson.Document, "projection", req.Projection)
	}
	ms := int64(0)
	if req.Limit == 1 {
		msg = appendBool(msg, "singleBatch", true)
		ms = maxTime(left)
	}
	if req.Skip > 0 {
		msg = appendInt64(msg, "skip", req.Skip)
	}
	if req.Sort != nil {
		msg = appendDocument(msg, rawbson.Document, "sort", req.Sort)
	}
	return l.finish(msg, l.causal.reading(&l.shape), ms, l.shape.readTail)
}

// appendAggregate writes an aggregate with the server's own batch size.
func (l *link) appendAggregate(msg []byte, req *workload.Request) []byte {
	msg = beginMessage(msg)
	msg = appendString(msg, "aggregate", req.Collection)
	msg = appendDocument(msg, rawbson.Array, "pipeline", req.Pipeline)
	msg = appendDocument(msg, rawbson.Document, "cursor", nil)
	return l.finish(msg, l.causal.reading(&l.shape), 0, l.shape.readTail)
}

// appendGetMore writes a getMore for a cursor on the namespace ns, which the server has named. It has
// neither a read concern, a read preference nor a time limit.
func (l *link) appendGetMore(msg []byte, cursor int64, ns []byte) []byte {
	db, collection, _ := bytes.Cut(ns, []byte{'.'})
	msg = beginMessage(msg)
	msg = appendInt64(msg, "getMore", cursor)
	msg = appendText(msg, "collection", collection)
	tail := l.shape.writeTail
	if string(db) != l.shape.database {
		l.tail = append(appendText(l.tail[:0], "$db", db), 0)
		tail = l.tail
	}
	return l.finish(msg, l.shape.more, 0, tail)
}

// appendInsert writes an insert of as many of docs as fit into one message and returns how many.
func (l *link) appendInsert(msg []byte, req *workload.Request, docs [][]byte, left time.Duration) ([]byte, int) {
	msg = beginMessage(msg)
	msg = appendString(msg, "insert", req.Collection)
	msg = appendBool(msg, "ordered", !req.Unordered)
	msg = l.finish(msg, l.shape.write, maxTime(left), l.shape.writeTail)
	msg, section := beginSection(msg, "documents")
	n := 0
	for _, doc := range docs {
		size := len(doc)
		missing := !hasID(doc)
		if missing {
			size += idElement
		}
		if n == l.greeting.maxBatch || len(msg)+size > l.greeting.maxMessage {
			break
		}
		if missing {
			msg = l.ids.appendWithID(msg, doc)
		} else {
			msg = append(msg, doc...)
		}
		n++
	}
	endSection(msg, section)
	return msg, n
}

// appendUpdate writes an update with as many of the statements as fit into one message and returns how
// many.
func (l *link) appendUpdate(msg []byte, req *workload.Request, list []workload.Statement,
	left time.Duration) ([]byte, int) {
	msg = beginMessage(msg)
	msg = appendString(msg, "update", req.Collection)
	msg = appendBool(msg, "ordered", !req.Unordered)
	msg = l.finish(msg, l.shape.write, maxTime(left), l.shape.writeTail)
	msg, section := beginSection(msg, "updates")
	n := 0
	for i := range list {
		if n == l.greeting.maxBatch {
			break
		}
		before := len(msg)
		msg = appendStatement(msg, &list[i])
		if len(msg) > l.greeting.maxMessage {
			msg = msg[:before]
			break
		}
		n++
	}
	endSection(msg, section)
	return msg, n
}

// appendStatement writes {q, u, upsert}.
func appendStatement(msg []byte, s *workload.Statement) []byte {
	start, msg := beginDocument(msg)
	msg = appendDocument(msg, rawbson.Document, "q", s.Filter)
	msg = appendDocument(msg, rawbson.Document, "u", s.Update)
	if s.Upsert {
		msg = appendBool(msg, "upsert", true)
	}
	return rawbson.Close(msg, start)
}

// beginSection starts a document sequence; endSection writes its length.
func beginSection(msg []byte, name string) ([]byte, int) {
	msg = append(msg, 1)
	start := len(msg)
	msg = append(msg, 0, 0, 0, 0)
	msg = append(msg, name...)
	return append(msg, 0), start
}

func endSection(msg []byte, start int) {
	binary.LittleEndian.PutUint32(msg[start:], uint32(len(msg)-start))
}
