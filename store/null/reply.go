package null

import (
	"encoding/binary"
	"slices"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
)

const (
	// defaultBatch is the number of documents in a batch if the request has none (MongoDB's default).
	defaultBatch = 101
	// maxBatchBytes bounds one batch, as a real server does.
	maxBatchBytes = 16 << 20
)

// templates are replies that differ between requests by a number or two.
type templates struct {
	ok        []byte
	inserted  []byte // {n: 0, ok: 1}, n at countAt
	updated   []byte // {n: 0, nModified: 0, ok: 1}, n at countAt and nModified at modifiedAt
	counted   []byte
	distinct  []byte
	modified  []byte
	buildInfo []byte
	defaults  []byte
	empty     []byte // an empty cursor
}

const (
	countAt    = 4 + 1 + len("n") + 1
	modifiedAt = countAt + 4 + 1 + len("nModified") + 1
)

func newTemplates(count int64) templates {
	cursor := func(batch ...any) bson.D {
		return bson.D{
			{Key: "firstBatch", Value: append(bson.A{}, batch...)}, {Key: "id", Value: int64(0)}, {Key: "ns", Value: namespace},
		}
	}
	ok := bson.E{Key: "ok", Value: 1.0}
	local := bson.D{{Key: "level", Value: "local"}}
	return templates{
		ok:       document(bson.D{ok}),
		inserted: document(bson.D{{Key: "n", Value: int32(0)}, ok}),
		updated:  document(bson.D{{Key: "n", Value: int32(0)}, {Key: "nModified", Value: int32(0)}, ok}),
		counted: document(bson.D{
			{Key: "cursor", Value: cursor(bson.D{{Key: "_id", Value: int32(1)}, {Key: "n", Value: count}})}, ok}),
		distinct: document(bson.D{{Key: "values", Value: bson.A{int32(1)}}, ok}),
		modified: document(bson.D{
			{Key: "lastErrorObject", Value: bson.D{{Key: "n", Value: int32(1)}, {Key: "updatedExisting", Value: true}}},
			{Key: "value", Value: bson.D{{Key: "_id", Value: int32(1)}}}, ok}),
		buildInfo: document(bson.D{
			{Key: "version", Value: "7.0.0"}, {Key: "gitVersion", Value: "plimsoll-null"},
			{Key: "versionArray", Value: bson.A{int32(7), int32(0), int32(0), int32(0)}},
			{Key: "bits", Value: int32(64)}, {Key: "maxBsonObjectSize", Value: int32(16 << 20)}, ok}),
		defaults: document(bson.D{
			{Key: "defaultReadConcern", Value: local},
			{Key: "defaultWriteConcern", Value: bson.D{{Key: "w", Value: int32(1)}, {Key: "wtimeout", Value: int32(0)}}}, ok}),
		empty: document(bson.D{{Key: "cursor", Value: cursor()}, ok}),
	}
}

// namespace is the namespace of all cursors. Clients only split it, and the reply to a getMore does not depend on it.
const namespace = "null.canned"

// document encodes a document of this package, which cannot fail.
func document(d bson.D) []byte {
	b, err := bson.Marshal(d)
	if err != nil {
		return bsoncore.BuildDocument(nil, bsoncore.AppendDoubleElement(nil, "ok", 0))
	}
	return b
}

// Role is the place of a responder in a topology. The zero Role is a standalone server.
type Role struct {
	SetName string   // replica set name; empty for a standalone server
	Me      string   // this member's host:port; the listening address if empty
	Hosts   []string // all members; this one alone if empty
	Primary string   // host:port of the primary, empty if there is none
	Term    uint64   // election term; clients follow the primary with the highest one
}

// primary reports whether the member takes writes.
func (r Role) primary() bool { return r.SetName == "" || r.Primary == r.Me }

// hello is the reply to hello and isMaster.
func (r Role) hello() []byte {
	d := bson.D{
		{Key: "helloOk", Value: true}, {Key: "ismaster", Value: r.primary()},
		{Key: "isWritablePrimary", Value: r.primary()},
	}
	if r.SetName != "" {
		d = append(d, bson.D{
			{Key: "secondary", Value: !r.primary()}, {Key: "setName", Value: r.SetName},
			{Key: "setVersion", Value: int32(1)}, {Key: "hosts", Value: r.Hosts}, {Key: "me", Value: r.Me},
		}...)
		if r.Primary != "" {
			d = append(d, bson.E{Key: "primary", Value: r.Primary})
		}
		if r.primary() {
			d = append(d, bson.E{Key: "electionId", Value: electionID(r.Term)})
		}
	}
	return document(append(d, bson.D{
		{Key: "maxBsonObjectSize", Value: int32(16 << 20)}, {Key: "maxMessageSizeBytes", Value: int32(maxMessage)},
		{Key: "maxWriteBatchSize", Value: int32(100_000)}, {Key: "logicalSessionTimeoutMinutes", Value: int32(30)},
		{Key: "connectionId", Value: int32(1)}, {Key: "minWireVersion", Value: int32(0)},
		{Key: "maxWireVersion", Value: int32(21)}, {Key: "readOnly", Value: false}, {Key: "ok", Value: 1.0},
	}...))
}

// electionID is the id of a term: servers set the first four bytes to 7fffffff and the last eight to the term.
func electionID(term uint64) bson.ObjectID {
	id := bson.ObjectID{0x7f, 0xff, 0xff, 0xff}
	binary.BigEndian.PutUint64(id[4:], term)
	return id
}

// complete sets the defaults of a role.
func (r Role) complete(addr string) Role {
	if r.Me == "" {
		r.Me = addr
	}
	if len(r.Hosts) == 0 {
		r.Hosts = []string{r.Me}
	}
	r.Hosts = slices.Clone(r.Hosts)
	return r
}

// openReply appends the start of a reply to r. closeReply completes the message.
func openReply(dst []byte, r *request) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, 0)
	dst = binary.LittleEndian.AppendUint32(dst, 0)
	dst = binary.LittleEndian.AppendUint32(dst, r.id)
	if r.query {
		dst = binary.LittleEndian.AppendUint32(dst, opReply)
		dst = binary.LittleEndian.AppendUint32(dst, 8) // await capable, like every server
		dst = binary.LittleEndian.AppendUint64(dst, 0) // cursor id
		dst = binary.LittleEndian.AppendUint32(dst, 0) // starting from
		return binary.LittleEndian.AppendUint32(dst, 1)
	}
	dst = binary.LittleEndian.AppendUint32(dst, opMsg)
	dst = binary.LittleEndian.AppendUint32(dst, 0)
	return append(dst, 0)
}

// closeReply sets the length of the message that starts at start.
func closeReply(dst []byte, start int) []byte {
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start))
	return dst
}

// answer appends the canned reply to r.
func (s *server) answer(dst []byte, r *request) []byte {
	start := len(dst)
	dst = openReply(dst, r)
	doc := len(dst)
	t := &s.templates
	switch r.cmd {
	case cmdFind:
		dst = s.appendFind(dst, r)
	case cmdGetMore:
		dst = s.appendBatch(dst, "nextBatch", s.docs.id, r.cursor, batchLimit(r.batchSize), true)
	case cmdInsert:
		dst = append(dst, t.inserted...)
		binary.LittleEndian.PutUint32(dst[doc+countAt:], uint32(r.docs))
	case cmdUpdate, cmdDelete:
		dst = append(dst, t.updated...)
		binary.LittleEndian.PutUint32(dst[doc+countAt:], uint32(r.docs))
		binary.LittleEndian.PutUint32(dst[doc+modifiedAt:], uint32(r.docs))
	case cmdAggregate, cmdCount:
		dst = append(dst, t.counted...)
	case cmdDistinct:
		dst = append(dst, t.distinct...)
	case cmdFindAndModify:
		dst = append(dst, t.modified...)
	case cmdHello:
		dst = append(dst, s.role.Load().helloDoc...)
	case cmdPing, cmdCursorless:
		dst = append(dst, t.ok...)
	case cmdBuildInfo:
		dst = append(dst, t.buildInfo...)
	case cmdDefaults:
		dst = append(dst, t.defaults...)
	case cmdEmptyList:
		dst = append(dst, t.empty...)
	default:
		dst = append(dst, commandNotFound(r.name)...)
	}
	return closeReply(dst, start)
}

// appendFind appends the reply to a find: copies of the canned document up to the limit, one if there is no limit.
func (s *server) appendFind(dst []byte, r *request) []byte {
	id, total := s.docs.id, max(r.limit, 1)
	if r.filterID != nil {
		id, total = r.filterID, 1
	}
	limit := batchLimit(r.batchSize)
	if r.single && r.batchSize == 0 {
		limit = total
	}
	return s.appendBatch(dst, "firstBatch", id, total, limit, !r.single)
}

func batchLimit(asked int64) int64 {
	if asked <= 0 {
		return defaultBatch
	}
	return asked
}

// appendBatch appends {cursor: {BATCH: [...], id: REST, ns: "…"}, ok: 1} with at most limit of the total documents. The
// id of the cursor is the number of remaining documents, so the responder has no state and any connection can continue.
func (s *server) appendBatch(dst []byte, batch string, id []byte, total, limit int64, open bool) []byte {
	n := min(max(total, 0), limit, int64(maxBatchBytes/s.docs.size(id)))
	rest := int64(0)
	if open {
		rest = max(total, 0) - n
	}
	outer, dst := bsoncore.AppendDocumentStart(dst)
	inner, dst := bsoncore.AppendDocumentElementStart(dst, "cursor")
	array, dst := bsoncore.AppendArrayElementStart(dst, batch)
	for i := range n {
		dst = append(strconv.AppendInt(append(dst, rawbson.Document), i, 10), 0)
		dst = s.docs.appendDoc(dst, id)
	}
	dst = rawbson.Close(dst, int(array))
	dst = bsoncore.AppendInt64Element(dst, "id", rest)
	dst = bsoncore.AppendStringElement(dst, "ns", namespace)
	dst = rawbson.Close(dst, int(inner))
	dst = bsoncore.AppendDoubleElement(dst, "ok", 1)
	return rawbson.Close(dst, int(outer))
}

func commandNotFound(name []byte) []byte {
	f := Failure{Code: 59, Name: "CommandNotFound", Message: "no such command: '" + string(name) + "'"}
	return f.document()
}
