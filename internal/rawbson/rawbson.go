// Package rawbson is what the packages share that build and read BSON documents in buffers, for every operation and
// without allocating: the types, how long a value is, and the beginning and the end of a document. Single elements are
// the business of bsoncore and of these packages.
package rawbson

import (
	"bytes"
	"encoding/binary"
)

// Open begins a document or an array and returns where, for [Close].
func Open(dst []byte) (out []byte, start int) {
	return append(dst, 0, 0, 0, 0), len(dst)
}

// Close ends the document or array that began at start.
func Close(dst []byte, start int) []byte {
	dst = append(dst, 0)
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start))
	return dst
}

// Split takes the document at the start of b: its elements with the closing zero, and what follows the document.
func Split(b []byte) (body, rest []byte, ok bool) {
	n := Size(Document, b)
	if n < 0 || n > len(b) || b[n-1] != 0 {
		return nil, nil, false
	}
	return b[4:n], b[n:], true
}

// Value returns the bytes of the value of an element, which follow its type and its name; nil if the element has no end
// of its name.
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
