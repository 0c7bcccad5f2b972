package wire

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
)

// element is one element of a document. Its slices point into the document.
type element struct {
	kind  byte
	key   []byte
	value []byte
}

// nextElement reads the first element of body, the bytes after a document's length. more is false at the closing zero.
// err is set for invalid BSON.
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
	size := rawbson.Size(body[0], body[start:])
	if size < 0 || size > len(body)-start {
		return e, nil, false, errBSON
	}
	return element{kind: body[0], key: body[1 : end+1], value: body[start : start+size]}, body[start+size:], true, nil
}

func (e element) body() ([]byte, bool) {
	if e.kind != rawbson.Document && e.kind != rawbson.Array {
		return nil, false
	}
	b, _, ok := rawbson.Split(e.value)
	return b, ok
}

// number reads a value of any numeric type, or a boolean, as an integer.
func (e element) number() (int64, bool) {
	switch e.kind {
	case rawbson.Int32:
		return int64(int32(binary.LittleEndian.Uint32(e.value))), true
	case rawbson.Int64:
		return int64(binary.LittleEndian.Uint64(e.value)), true
	case rawbson.Double:
		f := math.Float64frombits(binary.LittleEndian.Uint64(e.value))
		if f != f || f < -(1<<62) || f > 1<<62 {
			return 0, false
		}
		return int64(f), true
	case rawbson.Bool:
		return int64(e.value[0]), true
	}
	return 0, false
}

func (e element) text() ([]byte, bool) {
	if e.kind != rawbson.String || e.value[len(e.value)-1] != 0 {
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
	dst = appendKey(dst, rawbson.String, key)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(value)+1))
	dst = append(dst, value...)
	return append(dst, 0)
}

// appendText is appendString for bytes.
func appendText(dst []byte, key string, value []byte) []byte {
	dst = appendKey(dst, rawbson.String, key)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(value)+1))
	dst = append(dst, value...)
	return append(dst, 0)
}

func appendInt32(dst []byte, key string, value int32) []byte {
	return binary.LittleEndian.AppendUint32(appendKey(dst, rawbson.Int32, key), uint32(value))
}

func appendInt64(dst []byte, key string, value int64) []byte {
	return binary.LittleEndian.AppendUint64(appendKey(dst, rawbson.Int64, key), uint64(value))
}

func appendBool(dst []byte, key string, value bool) []byte {
	dst = appendKey(dst, rawbson.Bool, key)
	if value {
		return append(dst, 1)
	}
	return append(dst, 0)
}

func appendBinary(dst []byte, key string, subtype byte, value []byte) []byte {
	dst = appendKey(dst, rawbson.Binary, key)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(value)))
	dst = append(dst, subtype)
	return append(dst, value...)
}

// appendDocument appends a document, or an array with rawbson.Array. A nil document is an empty one.
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

// maxDepth is the nesting of documents by a server (its limit is 200).
const maxDepth = 250

// checkDepth refuses documents nested so deeply that a recursive reader could run out of stack.
func checkDepth(doc []byte) error {
	var open [][]byte // the rest of the documents around the current one
	body, _, ok := rawbson.Split(doc)
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
