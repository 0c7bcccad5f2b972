// Package rawbson has functions for packages that build and read BSON documents in buffers for every operation, without
// allocating: the types, the start and the end of a document, and its elements. bsoncore appends elements.
package rawbson

import (
	"bytes"
	"encoding/binary"
	"math"
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

// Split returns the elements of the document at the start of b, and the rest after the document.
func Split(b []byte) (body, rest []byte, ok bool) {
	n := Size(Document, b)
	if n < 0 || n > len(b) || b[n-1] != 0 {
		return nil, nil, false
	}
	return b[4 : n-1], b[n:], true
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

// RawValue is the value of an element. Its data point into the document.
type RawValue struct {
	Kind byte
	Data []byte
}

// Next reads the first of elements; see [Split]. size is that of the whole element, 0 if there is none or it is
// invalid.
func Next(elements []byte) (key []byte, v RawValue, size int) {
	if len(elements) == 0 {
		return nil, v, 0
	}
	end := bytes.IndexByte(elements[1:], 0)
	if end < 0 {
		return nil, v, 0
	}
	data := elements[end+2:]
	n := Size(elements[0], data)
	if n < 0 || n > len(data) {
		return nil, v, 0
	}
	return elements[1 : end+1], RawValue{elements[0], data[:n]}, end + 2 + n
}

// Body returns the elements of a document or an array; see [Split].
func (v RawValue) Body() ([]byte, bool) {
	if v.Kind != Document && v.Kind != Array {
		return nil, false
	}
	b, _, ok := Split(v.Data)
	return b, ok
}

// Number reads a value of any numeric type, or a boolean, as an integer.
func (v RawValue) Number() (int64, bool) {
	switch v.Kind {
	case Int32:
		return int64(int32(binary.LittleEndian.Uint32(v.Data))), true
	case Int64:
		return int64(binary.LittleEndian.Uint64(v.Data)), true
	case Double:
		f := math.Float64frombits(binary.LittleEndian.Uint64(v.Data))
		if f != f || f < -(1<<62) || f > 1<<62 {
			return 0, false
		}
		return int64(f), true
	case Bool:
		return int64(v.Data[0]), true
	}
	return 0, false
}

// Text reads a string.
func (v RawValue) Text() ([]byte, bool) {
	if v.Kind != String || v.Data[len(v.Data)-1] != 0 {
		return nil, false
	}
	return v.Data[4 : len(v.Data)-1], true
}
