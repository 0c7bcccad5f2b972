package null

import (
	"bytes"
	"encoding/binary"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
)

// element is one element of a BSON document. Its slices point into the message.
type element struct {
	kind  byte
	key   []byte
	value []byte // without type and key
	raw   []byte // type, key and value
}

// nextElement reads the first element of body (the bytes after a document's length) and returns the rest. ok is false
// at the end of the document and for invalid BSON.
func nextElement(body []byte) (e element, rest []byte, ok bool) {
	if len(body) < 2 || body[0] == 0 {
		return e, nil, false
	}
	end := bytes.IndexByte(body[1:], 0)
	if end < 0 {
		return e, nil, false
	}
	start := end + 2
	size := rawbson.Size(body[0], body[start:])
	if size < 0 || size > len(body)-start {
		return e, nil, false
	}
	e = element{kind: body[0], key: body[1 : 1+end], value: body[start : start+size], raw: body[:start+size]}
	return e, body[start+size:], true
}

// integer reads an int32, int64 or double, as drivers write numbers; 0 for other values.
func (e element) integer() int64 {
	switch e.kind {
	case rawbson.Int32:
		return int64(int32(binary.LittleEndian.Uint32(e.value)))
	case rawbson.Int64:
		return int64(binary.LittleEndian.Uint64(e.value))
	case rawbson.Double:
		return doubleToInt(binary.LittleEndian.Uint64(e.value))
	}
	return 0
}

func countDocuments(body []byte) int {
	n := 0
	for {
		_, rest, ok := nextElement(body)
		if !ok {
			return n
		}
		body = rest
		n++
	}
}
