package null

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
)

const (
	opReply = 1
	opQuery = 2004
	opMsg   = 2013

	headerSize = 16
	// maxMessage is the largest accepted message, as real servers announce and enforce it.
	maxMessage = 48_000_000

	flagChecksum   = 1 << 0
	flagMoreToCome = 1 << 1
)

// command is a class of commands with the same canned reply.
type command uint8

const (
	cmdUnknown command = iota
	cmdFind
	cmdInsert
	cmdUpdate
	cmdDelete
	cmdAggregate
	cmdCount
	cmdGetMore
	cmdDistinct
	cmdFindAndModify
	// The following commands are not operations of a workload.
	cmdHello
	cmdPing
	cmdBuildInfo
	cmdCursorless // the reply is {ok: 1}
	cmdEmptyList  // the reply is an empty cursor
	cmdDefaults   // the reply has the default concerns
)

// operation reports whether a command counts as an operation of the workload.
func (c command) operation() bool { return c != cmdUnknown && c < cmdHello }

// write reports whether a command needs a primary with every read preference.
func (c command) write() bool {
	return c == cmdInsert || c == cmdUpdate || c == cmdDelete || c == cmdFindAndModify
}

// commandName returns the name of an operation without allocating.
func (r *request) commandName() string { return operationNames[r.cmd] }

var operationNames = [...]string{
	cmdUnknown: "", cmdFind: "find", cmdInsert: "insert", cmdUpdate: "update", cmdDelete: "delete",
	cmdAggregate: "aggregate", cmdCount: "count", cmdGetMore: "getMore",
	cmdDistinct: "distinct", cmdFindAndModify: "findAndModify",
}

// commandOf returns the class of a command. The switch on converted bytes does not allocate.
func commandOf(name []byte) command {
	switch string(name) {
	case "find":
		return cmdFind
	case "insert":
		return cmdInsert
	case "update":
		return cmdUpdate
	case "delete":
		return cmdDelete
	case "aggregate":
		return cmdAggregate
	case "count":
		return cmdCount
	case "getMore":
		return cmdGetMore
	case "distinct":
		return cmdDistinct
	case "findAndModify":
		return cmdFindAndModify
	case "hello", "isMaster", "ismaster":
		return cmdHello
	case "ping", "endSessions", "killCursors", "createIndexes", "dropIndexes", "drop", "dropDatabase",
		"create", "getParameter", "setParameter", "serverStatus", "getCmdLineOpts", "hostInfo", "logout",
		"listDatabases", "commitTransaction", "abortTransaction":
		return cmdCursorless
	case "buildInfo", "buildinfo":
		return cmdBuildInfo
	case "getDefaultRWConcern":
		return cmdDefaults
	case "listCollections", "listIndexes":
		return cmdEmptyList
	}
	return cmdUnknown
}

// request has the parts of one message that decide the reply. Its slices point into the message.
type request struct {
	id     uint32
	query  bool // OP_QUERY, which needs an OP_REPLY
	silent bool // moreToCome: without a reply
	cmd    command
	name   []byte

	filterID  []byte // find: the _id element of the filter if it is an equality, otherwise nil
	limit     int64  // find: 0 for none
	batchSize int64  // find, getMore, aggregate: 0 for the default
	single    bool   // find: close the cursor after the first batch
	cursor    int64  // getMore
	docs      int    // insert, update, delete: statements

	secondaryOk bool // the read preference is not primary
}

// parse reads one message. It reports whether the message is valid.
func (r *request) parse(msg []byte) bool {
	*r = request{id: binary.LittleEndian.Uint32(msg[4:])}
	switch binary.LittleEndian.Uint32(msg[12:]) {
	case opMsg:
		return r.parseMsg(msg[headerSize:])
	case opQuery:
		return r.parseQuery(msg[headerSize:])
	}
	return false
}

func (r *request) parseMsg(b []byte) bool {
	if len(b) < 5 {
		return false
	}
	flags := binary.LittleEndian.Uint32(b)
	r.silent = flags&flagMoreToCome != 0
	b = b[4:]
	if flags&flagChecksum != 0 {
		if len(b) < 4 {
			return false
		}
		b = b[:len(b)-4]
	}
	seen := false
	for len(b) > 0 {
		kind := b[0]
		var ok bool
		switch kind {
		case 0:
			var body []byte
			if body, b, ok = rawbson.Split(b[1:]); !ok || seen {
				return false
			}
			seen = true
			r.parseBody(body)
		case 1:
			if b, ok = r.parseSequence(b[1:]); !ok {
				return false
			}
		default:
			return false
		}
	}
	return seen
}

// parseSequence counts the documents of a kind 1 section and returns the rest of the message.
func (r *request) parseSequence(b []byte) (rest []byte, ok bool) {
	if len(b) < 5 {
		return nil, false
	}
	size := int64(int32(binary.LittleEndian.Uint32(b)))
	if size < 5 || size > int64(len(b)) {
		return nil, false
	}
	section, rest := b[4:size], b[size:]
	if end := bytes.IndexByte(section, 0); end >= 0 { // of the name
		section = section[end+1:]
	}
	for len(section) > 0 {
		if _, section, ok = rawbson.Split(section); !ok {
			return nil, false
		}
		r.docs++
	}
	return rest, true
}

// parseQuery reads the command in an OP_QUERY to a $cmd collection: flags, name, skip, limit, query.
func (r *request) parseQuery(b []byte) bool {
	r.query = true
	if len(b) < 4 {
		return false
	}
	b = b[4:]
	for i, c := range b {
		if c != 0 {
			continue
		}
		if b = b[i+1:]; len(b) < 8 {
			return false
		}
		body, _, ok := rawbson.Split(b[8:])
		if ok {
			r.parseBody(body)
		}
		return ok
	}
	return false
}

func (r *request) parseBody(body []byte) {
	key, v, size := rawbson.Next(body)
	if size == 0 {
		return
	}
	r.name, r.cmd = key, commandOf(key)
	if r.cmd == cmdGetMore {
		r.cursor, _ = v.Number()
	}
	if !r.cmd.operation() {
		return
	}
	for size > 0 {
		body = body[size:]
		key, v, size = rawbson.Next(body)
		r.argument(key, v)
	}
}

func (r *request) argument(key []byte, v rawbson.RawValue) {
	switch string(key) {
	case "filter":
		if r.cmd == cmdFind && v.Kind == rawbson.Document {
			r.filterID = equalityID(v.Data)
		}
	case "limit":
		n, _ := v.Number()
		r.limit = abs(n)
	case "batchSize":
		r.batchSize, _ = v.Number()
	case "$readPreference":
		if body, ok := v.Body(); ok {
			_, mode, _ := rawbson.Next(body)
			r.secondaryOk = len(mode.Data) > 0 && string(mode.Data) != "\x08\x00\x00\x00primary\x00"
		}
	case "singleBatch":
		r.single = v.Kind == rawbson.Bool && v.Data[0] == 1
	case "cursor":
		if body, ok := v.Body(); ok {
			if key, size, _ := rawbson.Next(body); string(key) == "batchSize" {
				r.batchSize, _ = size.Number()
			}
		}
	case "documents", "updates", "deletes":
		if body, ok := v.Body(); ok {
			r.docs += countDocuments(body)
		}
	}
}

// equalityID returns the _id element of a filter that begins with an equality on _id.
func equalityID(filter []byte) []byte {
	body, _, ok := rawbson.Split(filter)
	if !ok {
		return nil
	}
	key, v, size := rawbson.Next(body)
	if string(key) != "_id" || v.Kind == rawbson.Document || v.Kind == rawbson.Regex {
		return nil
	}
	return body[:size]
}

func abs(n int64) int64 {
	if n < 0 && n != math.MinInt64 {
		return -n
	}
	return max(n, 0)
}

func countDocuments(body []byte) int {
	for n := 0; ; n++ {
		_, _, size := rawbson.Next(body)
		if size == 0 {
			return n
		}
		body = body[size:]
	}
}
