// Package varint reads varints of encoding/binary, and bytes of a given length, from data that may be damaged or
// forged.
package varint

import "encoding/binary"

// Reader reads from the start of B. After invalid data it is Bad, B is empty and it returns zeros.
type Reader struct {
	B   []byte
	Bad bool
}

// Fail makes the reader bad.
func (r *Reader) Fail() { r.Bad, r.B = true, nil }

// Get returns a number up to most. A larger one is invalid.
func (r *Reader) Get(most uint64) uint64 {
	n, size := binary.Uvarint(r.B)
	if size <= 0 || n > most {
		r.Fail()
		return 0
	}
	r.B = r.B[size:]
	return n
}

// Signed returns a signed number.
func (r *Reader) Signed() int64 {
	n, size := binary.Varint(r.B)
	if size <= 0 {
		r.Fail()
		return 0
	}
	r.B = r.B[size:]
	return n
}

// Take returns n bytes.
func (r *Reader) Take(n uint64) []byte {
	if !r.Fits(n) {
		return nil
	}
	out := r.B[:n:n]
	r.B = r.B[n:]
	return out
}

// Fits reports whether n values of at least one byte each can follow. Call it before allocating memory for n values.
func (r *Reader) Fits(n uint64) bool {
	if n > uint64(len(r.B)) {
		r.Fail()
	}
	return !r.Bad
}
