package null

import (
	"encoding/binary"
	"math"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
)

const (
	opReply = 1
	opQuery = 2004
	opMsg   = 2013

	headerSize = 16
	// maxMessage is the largest message accepted, as real servers announce and enforce it.
	maxMessage = 48_000_000

	flagChecksum   = 1 << 0
	flagMoreToCome = 1 << 1
)

// command is what the responder has a canned answer for.
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
	// The commands from here on are no operations: they set up, watch or end something.
	cmdHello
	cmdPing
	cmdBuildInfo
	cmdCursorless // answered with {ok: 1}
	cmdEmptyList  // answered with an empty cursor
	cmdDefaults   // answered with the default concerns
)

// operation reports whether a command counts as an operation of the workload.
func (c command) operation() bool { return c != cmdUnknown && c < cmdHello }

// write reports whether a command needs a primary whatever the read preference says.
func (c command) write() bool { return c == cmdInsert || c == cmdUpdate || c == cmdDelete }

// commandName returns the name as a constant, without allocating.
func (r *request) commandName() string { return operationNames[r.cmd] }

var operationNames = [...]string{
	cmdUnknown: "", cmdFind: "find", cmdInsert: "insert", cmdUpdate: "update", cmdDelete: "delete",
	cmdAggregate: "aggregate", cmdCount: "count", cmdGetMore: "getMore",
}

// commandOf maps the first key of a command to what answers it. The switch on the converted bytes
// allocates nothing.
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
	case "hello", "isMaster", "ismaster":
		return cmdHello
	case "ping", "endSessions", "killCursors", "createIndexes", "dropIndexes", "drop", "dropDatabase",
		"create", "getParameter", "setParameter", "serverStatus", "getCmdLineOpts", "hostInfo", "logout", "listDatabases":
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

// request is what the responder needs to know of one message. Its slices point into the message.
type request struct {
	id     uint32
	query  bool // came as OP_QUERY and must be answered with OP_REPLY
	silent bool // moreToCome: must not be answered
	cmd    command
	name   []byte

	filterID  []byte // find: the _id element of the filter if it is an equality, else nil
	limit     int64  // find: 0 for none
	batchSize int64  // find, getMore, aggregate: 0 for the default
	single    bool   // find: no cursor may stay open
	cursor    int64  // getMore
	docs      int    // insert, update, delete: statements

	secondaryOk bool // a read preference other than primary came with it
}

// parse reads one whole message. It looks only at what decides the answer.
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

// parseSequence counts the documents of a kind 1 section and returns what follows the section.
func (r *request) parseSequence(b []byte) (rest []byte, ok bool) {
	if len(b) < 5 {
		return nil, false
	}
	size := int64(int32(binary.LittleEndian.Uint32(b)))
	if size < 5 || size > int64(len(b)) {
		return nil, false
	}
	section, rest := b[4:size], b[size:]
	for i, c := range section {
		if c == 0 {
			section = section[i+1:]
			break
		}
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

// parseBody reads the elements of a command document.
func (r *request) parseBody(body []byte) {
	e, rest, ok := nextElement(body)
	if !ok {
		return
	}
	r.name, r.cmd = e.key, commandOf(e.key)
	if r.cmd == cmdGetMore {
		r.cursor = e.integer()
	}
	if !r.cmd.operation() {
		return
	}
	for {
		if e, rest, ok = nextElement(rest); !ok {
			return
		}
		r.argument(e)
	}
}

// argument takes over one argument of an operation.
func (r *request) argument(e element) {
	switch string(e.key) {
	case "filter":
		if r.cmd == cmdFind && e.kind == rawbson.Document {
			r.filterID = equalityID(e.value)
		}
	case "limit":
		r.limit = abs(e.integer())
	case "batchSize":
		r.batchSize = e.integer()
	case "$readPreference":
		if body, _, ok := rawbson.Split(e.value); ok && e.kind == rawbson.Document {
			mode, _, ok := nextElement(body)
			r.secondaryOk = ok && string(mode.value) != "\x08\x00\x00\x00primary\x00"
		}
	case "singleBatch":
		r.single = e.kind == rawbson.Bool && e.value[0] == 1
	case "cursor":
		if body, _, ok := rawbson.Split(e.value); ok && e.kind == rawbson.Document {
			if size, _, ok := nextElement(body); ok && string(size.key) == "batchSize" {
				r.batchSize = size.integer()
			}
		}
	case "documents", "updates", "deletes":
		if body, _, ok := rawbson.Split(e.value); ok && e.kind == rawbson.Array {
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
	e, _, ok := nextElement(body)
	if !ok || string(e.key) != "_id" || e.kind == rawbson.Document || e.kind == rawbson.Regex {
		return nil
	}
	return e.raw
}

func abs(n int64) int64 {
	if n < 0 && n != math.MinInt64 {
		return -n
	}
	return max(n, 0)
}

// doubleToInt converts the bits of a double to an integer, 0 for what does not fit.
func doubleToInt(bits uint64) int64 {
	f := math.Float64frombits(bits)
	if f != f || f < math.MinInt32 || f > math.MaxInt32 {
		return 0
	}
	return int64(f)
}
