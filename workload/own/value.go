package own

import (
	"bytes"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// A template is compiled to values, which append themselves to a buffer that the stream reuses. What does not change is
// bytes already: a document without generators is one piece of bytes, and one with a generator is three pieces.

// value is a compiled part of a template.
type value interface {
	// append appends the value without its type and name, and returns its type; absent leaves the element out.
	append(dst []byte, e *env) ([]byte, byte)
	// most returns the number of bytes that append appends at most.
	most() int64
}

// absent is the type of an element that is left out.
const absent = 0

// env is what values depend on. Each stream has one.
type env struct {
	r      workload.Random
	n      int64  // number of the document that is being made
	seed   uint64 // of the run
	fields []span // values of the document that later ones use
	vars   []variable
	named  bool            // a variable without a value is written as in the file, for people
	keys   []workload.Keys // by the number of the reference
	drawn  int64           // the number that a reference chose last
	uses   []uint64        // of numbers that are spread evenly
	item   int64           // number of the element of an array that is being made
	worker uint64
}

// span is a value in the buffer.
type span struct {
	kind       byte
	start, end int
}

// variable is a value that an operation keeps; kind is 0 if it has none.
type variable struct {
	kind byte
	data []byte
}

func (v *variable) set(kind byte, data []byte) { v.kind, v.data = kind, append(v.data[:0], data...) }

// constant is a value that never changes.
type constant struct {
	kind byte
	data []byte
}

func (c constant) append(dst []byte, _ *env) ([]byte, byte) { return append(dst, c.data...), c.kind }

// document is a document with at least one generator.
type document struct {
	segments []*segment
	scope    *scope
	size     int64 // of the segments, at most
}

// segment is literal elements, or one element with a value that changes.
type segment struct {
	literal []byte
	header  []byte // type, name, zero
	value   value
	field   int // number in env.fields, -1 if no later value uses it
}

func (d *document) append(dst []byte, e *env) ([]byte, byte) {
	dst, at := rawbson.Open(dst)
	for _, p := range d.segments {
		if p.value == nil {
			dst = append(dst, p.literal...)
			continue
		}
		dst = p.append(dst, e)
	}
	return rawbson.Close(dst, at), rawbson.Document
}

func (p *segment) append(dst []byte, e *env) []byte {
	head := len(dst)
	dst = append(dst, p.header...)
	start := len(dst)
	var kind byte
	dst, kind = p.value.append(dst, e)
	if p.field >= 0 {
		e.fields[p.field] = span{kind, start, len(dst)}
	}
	if kind == absent {
		return dst[:head]
	}
	dst[head] = kind
	return dst
}

// list is an array with a fixed number of elements.
type list []value

func (l list) append(dst []byte, e *env) ([]byte, byte) {
	dst, at := rawbson.Open(dst)
	n := 0
	for _, v := range l {
		dst, n = appendItem(dst, v, n, e)
	}
	return rawbson.Close(dst, at), rawbson.Array
}

// appendItem appends an element of an array, and returns the number of the next one.
func appendItem(dst []byte, v value, n int, e *env) ([]byte, int) {
	head := len(dst)
	dst = append(dst, 0)
	dst = appendIndex(dst, n)
	var kind byte
	if dst, kind = v.append(dst, e); kind == absent {
		return dst[:head], n
	}
	dst[head] = kind
	return dst, n + 1
}

// appendIndex appends the name of an element of an array.
func appendIndex(dst []byte, n int) []byte {
	if n >= 10 {
		return append(appendDecimal(dst, n), 0)
	}
	return append(dst, '0'+byte(n), 0)
}

func appendDecimal(dst []byte, n int) []byte {
	if n >= 10 {
		dst = appendDecimal(dst, n/10)
	}
	return append(dst, '0'+byte(n%10))
}

// lookup finds a value in a document by its path, through documents and by numbers through arrays.
func lookup(doc []byte, path []string) (kind byte, data []byte, ok bool) {
	kind, data = rawbson.Document, doc
	for _, name := range path {
		body, ok := rawbson.RawValue{Kind: kind, Data: data}.Body()
		if !ok {
			return 0, nil, false
		}
		found := false
		for len(body) > 0 && !found {
			key, v, size := rawbson.Next(body)
			if size == 0 {
				return 0, nil, false
			}
			if string(key) == name {
				kind, data, found = v.Kind, v.Data, true
			}
			body = body[size:]
		}
		if !found {
			return 0, nil, false
		}
	}
	return kind, data, true
}

// sameBytes reports whether two documents are equal.
func sameBytes(a, b []byte) bool { return bytes.Equal(a, b) }
