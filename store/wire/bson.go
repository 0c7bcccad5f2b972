package wire

import (
	"bytes"
	"encoding/binary"
	"math"
)

// BSON types that are written or looked for here.
const (
	typeDouble   = 0x01
	typeString   = 0x02
	typeDocument = 0x03
	typeArray    = 0x04
	typeBinary   = 0x05
	typeObjectID = 0x07
	typeBool     = 0x08
	typeInt32    = 0x10
	typeTime     = 0x11 // timestamp
	typeInt64    = 0x12
)

// element is one element of a document. Its slices point into the document.
type element struct {
	kind  byte
	key   []byte
	value []byte
}

// nextElement reads the first element of body, which is what follows a document's length. more is false
// at the closing zero; err is set where the bytes are not BSON.
func nextElement(body []byte) (e element, rest []byte, more bool, err error) {
	if len(body) == 0 {
		return e, nil, false, errBSON
	}
	if body[0] == 0 {
		if len(body) != 1 {
			return e, nil, false, errBSON
		}
		return e, nil, false, nil
	}
	end := bytes.IndexByte(body[1:], 0)
	if end < 0 {
		return e, nil, false, errBSON
	}
	start := end + 2
	size, ok := valueSize(body[0], body[start:])
	if !ok || size > len(body)-start {
		return e, nil, false, errBSON
	}
	return element{kind: body[0], key: body[1 : end+1], value: body[start : start+size]}, body[start+size:], true, nil
}

// valueSize returns the length of the value of a type at the start of b. It may be larger than b.
func valueSize(kind byte, b []byte) (int, bool) {
	switch kind {
	case typeDouble, 0x09, typeTime, typeInt64:
		return 8, true
	case typeInt32:
		return 4, true
	case typeBool:
		return 1, true
	case typeObjectID:
		return 12, true
	case 0x13: // decimal
		return 16, true
	case 0x06, 0x0a, 0x7f, 0xff: // undefined, null, max key, min key
		return 0, true
	case typeDocument, typeArray, 0x0f: // the length counts itself; 0x0f is code with scope
		return lengthPrefixed(b, 0, 5)
	case typeString, 0x0d, 0x0e: // the length counts the closing zero
		return lengthPrefixed(b, 4, 1)
	case typeBinary:
		return lengthPrefixed(b, 5, 0)
	case 0x0c: // pointer: a string and an object id
		return lengthPrefixed(b, 16, 1)
	case 0x0b: // regular expression: two C strings
		first := bytes.IndexByte(b, 0)
		if first < 0 {
			return 0, false
		}
		second := bytes.IndexByte(b[first+1:], 0)
		return first + second + 2, second >= 0
	}
	return 0, false
}

func lengthPrefixed(b []byte, extra, least int) (int, bool) {
	if len(b) < 4 {
		return 0, false
	}
	n := int(int32(binary.LittleEndian.Uint32(b)))
	if n < least || n > maxMessageLimit {
		return 0, false
	}
	return n + extra, true
}

// splitDocument takes the document at the start of b: its elements with the closing zero, and what
// follows the document.
func splitDocument(b []byte) (body, rest []byte, ok bool) {
	n, ok := lengthPrefixed(b, 0, 5)
	if !ok || n > len(b) || b[n-1] != 0 {
		return nil, nil, false
	}
	return b[4:n], b[n:], true
}

// body returns the elements of a document or array value.
func (e element) body() ([]byte, bool) {
	if e.kind != typeDocument && e.kind != typeArray {
		return nil, false
	}
	b, _, ok := splitDocument(e.value)
	return b, ok
}

// number reads a value of any numeric type, or a boolean, as an integer.
func (e element) number() (int64, bool) {
	switch e.kind {
	case typeInt32:
		return int64(int32(binary.LittleEndian.Uint32(e.value))), true
	case typeInt64:
		return int64(binary.LittleEndian.Uint64(e.value)), true
	case typeDouble:
		f := math.Float64frombits(binary.LittleEndian.Uint64(e.value))
		if f != f || f < -(1<<62) || f > 1<<62 {
			return 0, false
		}
		return int64(f), true
	case typeBool:
		return int64(e.value[0]), true
	}
	return 0, false
}

// text reads a string value.
func (e element) text() ([]byte, bool) {
	if e.kind != typeString || e.value[len(e.value)-1] != 0 {
		return nil, false
	}
	return e.value[4 : len(e.value)-1], true
}

// The append functions write one element each. They are the counterparts of the official driver's
// bsoncore, and inline.

func appendKey(dst []byte, kind byte, key string) []byte {
	dst = append(dst, kind)
	dst = append(dst, key...)
	return append(dst, 0)
}

func appendString(dst []byte, key, value string) []byte {
	dst = appendKey(dst, typeString, key)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(value)+1))
	dst = append(dst, value...)
	return append(dst, 0)
}

// appendText is appendString for bytes.
func appendText(dst []byte, key string, value []byte) []byte {
	dst = appendKey(dst, typeString, key)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(value)+1))
	dst = append(dst, value...)
	return append(dst, 0)
}

func appendInt32(dst []byte, key string, value int32) []byte {
	return binary.LittleEndian.AppendUint32(appendKey(dst, typeInt32, key), uint32(value))
}

func appendInt64(dst []byte, key string, value int64) []byte {
	return binary.LittleEndian.AppendUint64(appendKey(dst, typeInt64, key), uint64(value))
}

func appendBool(dst []byte, key string, value bool) []byte {
	dst = appendKey(dst, typeBool, key)
	if value {
		return append(dst, 1)
	}
	return append(dst, 0)
}

func appendBinary(dst []byte, key string, subtype byte, value []byte) []byte {
	dst = appendKey(dst, typeBinary, key)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(value)))
	dst = append(dst, subtype)
	return append(dst, value...)
}

// appendDocument appends a whole document, or an array under typeArray. A nil document becomes an
// empty one.
func appendDocument(dst []byte, kind byte, key string, doc []byte) []byte {
	dst = appendKey(dst, kind, key)
	if doc == nil {
		return append(dst, 5, 0, 0, 0, 0)
	}
	return append(dst, doc...)
}

// beginDocument starts a document, which rawbson.Close ends.
func beginDocument(dst []byte) (start int, _ []byte) {
	return len(dst), append(dst, 0, 0, 0, 0)
}

// maxDepth is how deeply a server nests documents (its own limit is 200).
const maxDepth = 250

// checkDepth refuses documents nested so deeply that a recursive reader could run out of stack.
func checkDepth(doc []byte) error {
	var open [][]byte // what is left of the documents around the present one
	body, _, ok := splitDocument(doc)
	if !ok {
		return errBSON
	}
	for {
		e, rest, more, err := nextElement(body)
		if err != nil {
			return err
		}
		if !more {
			if len(open) == 0 {
				return nil
			}
			body, open = open[len(open)-1], open[:len(open)-1]
			continue
		}
		body = rest
		if inner, ok := e.body(); ok {
			if len(open) == maxDepth {
				return errBSON
			}
			open, body = append(open, body), inner
		}
	}
}
