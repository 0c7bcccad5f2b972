package null

import (
	"bytes"
	"encoding/binary"
)

// element is one element of a BSON document, as offsets into nothing: all slices point into the
// message it was read from.
type element struct {
	kind  byte
	key   []byte
	value []byte // without type and key
	raw   []byte // type, key and value
}

// nextElement reads the first element of body (the bytes after a document's length) and returns what
// follows it. ok is false at the end of the document and where the bytes are not BSON.
func nextElement(body []byte) (e element, rest []byte, ok bool) {
	if len(body) < 2 || body[0] == 0 {
		return e, nil, false
	}
	end := bytes.IndexByte(body[1:], 0)
	if end < 0 {
		return e, nil, false
	}
	start := end + 2
	size, ok := valueSize(body[0], body[start:])
	if !ok || size > len(body)-start {
		return e, nil, false
	}
	e = element{kind: body[0], key: body[1 : 1+end], value: body[start : start+size], raw: body[:start+size]}
	return e, body[start+size:], true
}

// fixedSize holds the lengths of the values that always have the same length, by BSON type.
var fixedSize = [256]int8{
	0x01: 8, 0x06: 0, 0x07: 12, 0x08: 1, 0x09: 8, 0x0a: 0, 0x10: 4, 0x11: 8, 0x12: 8, 0x13: 16,
	0x7f: 0, 0xff: 0,
}

// valueSize returns the length of a value of the given type at the start of b.
func valueSize(kind byte, b []byte) (int, bool) {
	switch kind {
	case 0x01, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x10, 0x11, 0x12, 0x13, 0x7f, 0xff:
		return int(fixedSize[kind]), true
	case 0x02, 0x0d, 0x0e: // string, code, symbol: a length that does not count itself
		return prefixed(b, 4, 1)
	case 0x03, 0x04, 0x0f: // document, array, code with scope: a length that counts itself
		return prefixed(b, 0, 4)
	case 0x05: // binary: length, subtype, bytes
		return prefixed(b, 5, 0)
	case 0x0b: // regular expression: two C strings
		first := bytes.IndexByte(b, 0)
		if first < 0 {
			return 0, false
		}
		second := bytes.IndexByte(b[first+1:], 0)
		return first + second + 2, second >= 0
	case 0x0c: // DBPointer: string and object id
		return prefixed(b, 16, 1)
	}
	return 0, false
}

// prefixed reads the 32-bit length at the start of b, which must be at least least, and adds extra.
func prefixed(b []byte, extra, least int32) (int, bool) {
	if len(b) < 4 {
		return 0, false
	}
	n := int32(binary.LittleEndian.Uint32(b))
	if n < least || n > maxMessage {
		return 0, false
	}
	return int(n + extra), true
}

// documentBody returns the elements of the document at the start of b, without its length but with
// its closing zero, and what follows the document.
func documentBody(b []byte) (body, rest []byte, ok bool) {
	if len(b) < 5 {
		return nil, nil, false
	}
	n := int64(int32(binary.LittleEndian.Uint32(b)))
	if n < 5 || n > int64(len(b)) {
		return nil, nil, false
	}
	return b[4:n], b[n:], true
}

// integer reads a numeric value as BSON drivers write them (int32, int64, double).
func (e element) integer() int64 {
	switch e.kind {
	case 0x10:
		return int64(int32(binary.LittleEndian.Uint32(e.value)))
	case 0x12:
		return int64(binary.LittleEndian.Uint64(e.value))
	case 0x01:
		return doubleToInt(binary.LittleEndian.Uint64(e.value))
	}
	return 0
}

// countDocuments counts the elements of a document or array body.
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
