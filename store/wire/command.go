package wire

import (
	"bytes"
	"encoding/binary"
	"time"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// shape has the constant parts of commands of one connection. The order of elements is that of the official driver:
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

// newShape makes the constant parts for a server. lsid is the session's {id: UUID} document.
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
	db := bsoncore.AppendStringElement(nil, "$db", st.database)
	s.writeTail = append(db[:len(db):len(db)], 0)
	s.readTail = append(st.appendReadPreference(db, g), 0)
	return s
}

// finish appends the elements after the arguments of a command, and closes the document and the message. maxTimeMS is
// omitted if it is not positive.
func (l *link) finish(msg, fixed []byte, maxTimeMS int64, tail []byte) []byte {
	msg = append(msg, fixed...)
	if l.clusterTime != nil {
		msg = appendDocument(msg, rawbson.Document, "$clusterTime", l.clusterTime)
	}
	if maxTimeMS > 0 {
		msg = bsoncore.AppendInt64Element(msg, "maxTimeMS", maxTimeMS)
	}
	msg = append(msg, tail...) // ends with the zero that closes the document
	binary.LittleEndian.PutUint32(msg[bodyStart:], uint32(len(msg)-bodyStart))
	return msg
}

// maxTime converts the remaining time into maxTimeMS like the official driver: rounded up to milliseconds, omitted (0)
// without a deadline or above the server's limit.
func maxTime(left time.Duration) int64 {
	ms := int64((left + time.Millisecond - 1) / time.Millisecond)
	if ms > 1<<31-1 {
		return 0
	}
	return ms
}

// appendFind writes a find. With a limit of 1 no cursor stays open, and maxTimeMS is the remaining time. With other
// limits maxTimeMS is omitted, because it would apply to the whole cursor.
func (l *link) appendFind(msg []byte, req *workload.Request, left time.Duration) []byte {
	msg = beginMessage(msg)
	msg = bsoncore.AppendStringElement(msg, "find", req.Collection)
	msg = appendDocument(msg, rawbson.Document, "filter", req.Filter)
	if req.Limit > 0 {
		msg = bsoncore.AppendInt64Element(msg, "limit", req.Limit)
	}
	if req.Projection != nil {
		msg = appendDocument(msg, rawbson.Document, "projection", req.Projection)
	}
	ms := int64(0)
	if req.Limit == 1 {
		msg = bsoncore.AppendBooleanElement(msg, "singleBatch", true)
		ms = maxTime(left)
	}
	if req.Skip > 0 {
		msg = bsoncore.AppendInt64Element(msg, "skip", req.Skip)
	}
	if req.Sort != nil {
		msg = appendDocument(msg, rawbson.Document, "sort", req.Sort)
	}
	return l.finish(msg, l.causal.reading(&l.shape), ms, l.shape.readTail)
}

// appendAggregate writes an aggregate with the server's default batch size.
func (l *link) appendAggregate(msg []byte, req *workload.Request) []byte {
	msg = beginMessage(msg)
	msg = bsoncore.AppendStringElement(msg, "aggregate", req.Collection)
	msg = appendDocument(msg, rawbson.Array, "pipeline", req.Pipeline)
	msg = appendDocument(msg, rawbson.Document, "cursor", nil)
	return l.finish(msg, l.causal.reading(&l.shape), 0, l.shape.readTail)
}

// appendGetMore writes a getMore for a cursor on the server's namespace ns. It has no read concern, read preference or
// time limit.
func (l *link) appendGetMore(msg []byte, cursor int64, ns []byte) []byte {
	db, collection, _ := bytes.Cut(ns, []byte{'.'})
	msg = beginMessage(msg)
	msg = bsoncore.AppendInt64Element(msg, "getMore", cursor)
	msg = appendText(msg, "collection", collection)
	tail := l.shape.writeTail
	if string(db) != l.shape.database {
		l.tail = append(appendText(l.tail[:0], "$db", db), 0)
		tail = l.tail
	}
	return l.finish(msg, l.shape.more, 0, tail)
}

// appendInsert writes an insert of the docs that fit into one message, and returns their number.
func (l *link) appendInsert(msg []byte, req *workload.Request, docs [][]byte, left time.Duration) ([]byte, int) {
	msg = beginMessage(msg)
	msg = bsoncore.AppendStringElement(msg, "insert", req.Collection)
	msg = bsoncore.AppendBooleanElement(msg, "ordered", !req.Unordered)
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

// appendUpdate writes an update with the statements that fit into one message, and returns their number.
func (l *link) appendUpdate(msg []byte, req *workload.Request, list []workload.Statement,
	left time.Duration) ([]byte, int) {
	msg = beginMessage(msg)
	msg = bsoncore.AppendStringElement(msg, "update", req.Collection)
	msg = bsoncore.AppendBooleanElement(msg, "ordered", !req.Unordered)
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
	msg, start := rawbson.Open(msg)
	msg = appendDocument(msg, rawbson.Document, "q", s.Filter)
	msg = appendDocument(msg, rawbson.Document, "u", s.Update)
	if s.Upsert {
		msg = bsoncore.AppendBooleanElement(msg, "upsert", true)
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
