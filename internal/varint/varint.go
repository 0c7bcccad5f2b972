// Package varint reads numbers that encoding/binary has appended as varints, and bytes of a length that was told, out
// of data that may be damaged or made up. What the numbers mean is the business of whoever wrote them.
package varint

import "encoding/binary"

// Reader reads from the beginning of B. After something wrong it is Bad, has nothing left and returns zeros.
type Reader struct {
	B   []byte
	Bad bool
}

// Fail makes the reader bad.
func (r *Reader) Fail() { r.Bad, r.B = true, nil }

// Get returns a number that is at most the given one.
func (r *Reader) Get(most uint64) uint64 {
	n, size := binary.Uvarint(r.B)
	if size <= 0 || n > most {
		r.Fail()
		return 0
	}
	r.B = r.B[size:]
	return n
}

// Signed returns a number that may be negative.
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

// Fits reports whether n things of at least one byte each can follow, so that nothing large is made for a lie.
func (r *Reader) Fits(n uint64) bool {
	if n > uint64(len(r.B)) {
		r.Fail()
	}
	return !r.Bad
}
