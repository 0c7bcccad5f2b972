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
	out       []byte // writeConcern, unless it is w:0, and lsid: what follows the readConcern of an aggregate that writes
	more      []byte // lsid (getMore has no read concern)
	writeTail []byte // $db and the closing zero
	readTail  []byte // $db, $readPreference and the closing zero
	settings  *settings
}

// newShape makes the constant parts for a server. lsid is the session's {id: UUID} document.
func newShape(st *settings, g *greeting, lsid []byte) shape {
	var session []byte
	if g.sessions {
		session = appendDocument(nil, rawbson.Document, "lsid", lsid)
	}
	s := shape{settings: st}
	s.write = st.appendWriteConcern(nil)
	if !st.unacknowledged {
		s.write = append(s.write, session...)
	}
	s.read = append(st.appendReadConcern(nil, 0), session...)
	if !st.unacknowledged {
		s.out = st.appendWriteConcern(nil)
	}
	s.out = append(s.out, session...)
	s.more = session
	db := bsoncore.AppendStringElement(nil, "$db", st.database)
	s.writeTail = append(db[:len(db):len(db)], 0)
	s.readTail = append(st.appendReadPreference(db, g), 0)
	return s
}

// shapeOf returns the constant parts for the concerns of a request.
func (l *link) shapeOf(k *workload.Concern, lsid []byte) *shape {
	if k == nil {
		return &l.shape
	}
	s, ok := l.shapes[k]
	if !ok {
		made := newShape(l.shape.settings.with(k), l.greeting, lsid)
		s = &made
		if l.shapes == nil {
			l.shapes = map[*workload.Concern]*shape{}
		}
		l.shapes[k] = s
	}
	return s
}

// with returns the settings with the concerns of a request in place of those of the run.
func (s *settings) with(k *workload.Concern) *settings {
	st := *s
	if k.W != "" || k.Journal != nil {
		st.concern.W, st.concern.Journal = k.W, k.Journal
		st.unacknowledged = k.W == "0"
	}
	if k.Read != "" {
		st.concern.Read = k.Read
	}
	if k.Preference != "" {
		st.preference, _ = parsePreference(k.Preference) // an unknown one was refused before
	}
	return &st
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
	msg = appendCollation(msg, req)
	msg = appendDocument(msg, rawbson.Document, "filter", req.Filter)
	msg = appendHint(msg, req)
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
	return l.finish(msg, l.causal.reading(l.use), ms, l.use.readTail)
}

func appendCollation(msg []byte, req *workload.Request) []byte {
	if req.Collation == nil {
		return msg
	}
	return appendDocument(msg, rawbson.Document, "collation", req.Collation)
}

func appendHint(msg []byte, req *workload.Request) []byte {
	if req.Hint.Kind == 0 {
		return msg
	}
	return append(bsoncore.AppendHeader(msg, bsoncore.Type(req.Hint.Kind), "hint"), req.Hint.Data...)
}

// outOnSecondaries is the protocol of the first servers whose secondaries pass $out and $merge on (MongoDB 5.0).
// Drivers send these aggregates with a read preference from then on.
const outOnSecondaries = 13

// appendAggregate writes an aggregate with the server's default batch size.
func (l *link) appendAggregate(msg []byte, req *workload.Request) []byte {
	msg = beginMessage(msg)
	msg = bsoncore.AppendStringElement(msg, "aggregate", req.Collection)
	msg = appendCollation(msg, req)
	msg = appendHint(msg, req)
	msg = appendDocument(msg, rawbson.Array, "pipeline", req.Pipeline)
	msg = appendDocument(msg, rawbson.Document, "cursor", nil)
	if !req.Out {
		return l.finish(msg, l.causal.reading(l.use), 0, l.use.readTail)
	}
	tail := l.use.readTail
	if l.greeting.maxWire < outOnSecondaries {
		tail = l.use.writeTail
	}
	return l.finish(msg, l.causal.writing(l.use), 0, tail)
}

// appendDistinct writes a distinct.
func (l *link) appendDistinct(msg []byte, req *workload.Request, left time.Duration) []byte {
	msg = beginMessage(msg)
	msg = bsoncore.AppendStringElement(msg, "distinct", req.Collection)
	msg = appendCollation(msg, req)
	msg = appendHint(msg, req)
	msg = bsoncore.AppendStringElement(msg, "key", req.Key)
	msg = appendDocument(msg, rawbson.Document, "query", req.Filter)
	return l.finish(msg, l.causal.reading(l.use), maxTime(left), l.use.readTail)
}

// appendFindAndModify writes a findAndModify.
func (l *link) appendFindAndModify(msg []byte, req *workload.Request, left time.Duration) []byte {
	u := &req.Updates[0]
	msg = beginMessage(msg)
	msg = bsoncore.AppendStringElement(msg, "findAndModify", req.Collection)
	if u.ArrayFilters != nil {
		msg = appendDocument(msg, rawbson.Array, "arrayFilters", u.ArrayFilters)
	}
	msg = appendCollation(msg, req)
	if req.Projection != nil {
		msg = appendDocument(msg, rawbson.Document, "fields", req.Projection)
	}
	if req.New {
		msg = bsoncore.AppendBooleanElement(msg, "new", true)
	}
	msg = appendDocument(msg, rawbson.Document, "query", u.Filter)
	if req.Remove {
		msg = bsoncore.AppendBooleanElement(msg, "remove", true)
	}
	if req.Sort != nil {
		msg = appendDocument(msg, rawbson.Document, "sort", req.Sort)
	}
	if !req.Remove {
		msg = appendDocument(msg, changeKind(u), "update", u.Update)
	}
	if u.Upsert {
		msg = bsoncore.AppendBooleanElement(msg, "upsert", true)
	}
	msg = appendHint(msg, req)
	return l.finish(msg, l.use.write, maxTime(left), l.use.writeTail)
}

// changeKind is the type of the change of a statement.
func changeKind(u *workload.Statement) bsoncore.Type {
	if u.Stages {
		return rawbson.Array
	}
	return rawbson.Document
}

// appendEnd writes a commitTransaction or an abortTransaction.
func (l *link) appendEnd(msg []byte, verb workload.Verb, left time.Duration) []byte {
	msg = beginMessage(msg)
	msg = bsoncore.AppendInt32Element(msg, verb.String(), 1)
	return l.finish(msg, l.use.write, maxTime(left), adminTail)
}

// adminTail is the end of commands on the database admin.
var adminTail = append(bsoncore.AppendStringElement(nil, "$db", "admin"), 0)

// appendGetMore writes a getMore for a cursor on the server's namespace ns. It has no read concern, read preference or,
// unless it waits for new documents, time limit.
func (l *link) appendGetMore(msg []byte, cursor int64, ns []byte, wait int64) []byte {
	db, collection, _ := bytes.Cut(ns, []byte{'.'})
	msg = beginMessage(msg)
	msg = bsoncore.AppendInt64Element(msg, "getMore", cursor)
	msg = appendText(msg, "collection", collection)
	tail := l.use.writeTail
	if string(db) != l.use.settings.database {
		l.tail = append(appendText(l.tail[:0], "$db", db), 0)
		tail = l.tail
	}
	return l.finish(msg, l.use.more, wait, tail)
}

// appendInsert writes an insert of the docs that fit into one message, and returns their number.
func (l *link) appendInsert(msg []byte, req *workload.Request, docs [][]byte, left time.Duration) ([]byte, int) {
	msg = beginMessage(msg)
	msg = bsoncore.AppendStringElement(msg, "insert", req.Collection)
	msg = bsoncore.AppendBooleanElement(msg, "ordered", !req.Unordered)
	msg = l.finish(msg, l.use.write, maxTime(left), l.use.writeTail)
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

// appendUpdate writes an update or a delete with the statements that fit into one message, and returns their number.
func (l *link) appendUpdate(msg []byte, req *workload.Request, list []workload.Statement,
	left time.Duration) ([]byte, int) {
	msg = beginMessage(msg)
	name := "updates"
	if req.Verb == workload.Delete {
		name = "deletes"
	}
	msg = bsoncore.AppendStringElement(msg, req.Verb.String(), req.Collection)
	msg = bsoncore.AppendBooleanElement(msg, "ordered", !req.Unordered)
	msg = l.finish(msg, l.use.write, maxTime(left), l.use.writeTail)
	msg, section := beginSection(msg, name)
	n := 0
	for i := range list {
		if n == l.greeting.maxBatch {
			break
		}
		before := len(msg)
		if req.Verb == workload.Delete {
			msg = appendRemoval(msg, req, &list[i])
		} else {
			msg = appendStatement(msg, req, &list[i])
		}
		if len(msg) > l.greeting.maxMessage {
			msg = msg[:before]
			break
		}
		n++
	}
	endSection(msg, section)
	return msg, n
}

// appendStatement writes {q, u, multi, arrayFilters, collation, upsert, hint}.
func appendStatement(msg []byte, req *workload.Request, s *workload.Statement) []byte {
	msg, start := rawbson.Open(msg)
	msg = appendDocument(msg, rawbson.Document, "q", s.Filter)
	msg = appendDocument(msg, changeKind(s), "u", s.Update)
	if s.Many {
		msg = bsoncore.AppendBooleanElement(msg, "multi", true)
	}
	if s.ArrayFilters != nil {
		msg = appendDocument(msg, rawbson.Array, "arrayFilters", s.ArrayFilters)
	}
	msg = appendCollation(msg, req)
	if s.Upsert {
		msg = bsoncore.AppendBooleanElement(msg, "upsert", true)
	}
	return rawbson.Close(appendHint(msg, req), start)
}

// appendRemoval writes {q, limit, collation, hint}.
func appendRemoval(msg []byte, req *workload.Request, s *workload.Statement) []byte {
	msg, start := rawbson.Open(msg)
	msg = appendDocument(msg, rawbson.Document, "q", s.Filter)
	limit := int32(1)
	if s.Many {
		limit = 0
	}
	msg = bsoncore.AppendInt32Element(msg, "limit", limit)
	return rawbson.Close(appendHint(appendCollation(msg, req), req), start)
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
