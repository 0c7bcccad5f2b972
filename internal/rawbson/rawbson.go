// Package rawbson has functions for packages that build and read BSON documents in buffers for every operation, without
// allocating: the types, the size of a value, and the start and the end of a document. bsoncore has those for elements.
package rawbson

import (
	"bytes"
	"encoding/binary"
)

// Open starts a document or an array. start is for [Close].
func Open(dst []byte) (out []byte, start int) {
	return append(dst, 0, 0, 0, 0), len(dst)
}

// Close ends the document or array that starts at start.
func Close(dst []byte, start int) []byte {
	dst = append(dst, 0)
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start))
	return dst
}

// Split returns the elements of the document at the start of b, with the closing zero, and the rest after the document.
func Split(b []byte) (body, rest []byte, ok bool) {
	n := Size(Document, b)
	if n < 0 || n > len(b) || b[n-1] != 0 {
		return nil, nil, false
	}
	return b[4:n], b[n:], true
}

// Value returns the bytes of the value of an element, after its type and its name; nil if its name has no end.
func Value(element []byte) []byte {
	if len(element) == 0 {
		return nil
	}
	end := bytes.IndexByte(element[1:], 0)
	if end < 0 {
		return nil
	}
	return element[1+end+1:]
}
