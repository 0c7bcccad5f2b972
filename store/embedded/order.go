package embedded

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
)

// Values of different types sort in this order, which is MongoDB's for the types that have a class of their own. Every
// encoded key begins with its class, so that bytes.Compare on keys is the order of values.
const (
	cEmptyArray = 0x0C // an empty array inside an index, which has no element to be found by
	cNull       = 0x10
	cNumber     = 0x18
	cString     = 0x20
	cObject     = 0x28
	cArray      = 0x30
	cBinary     = 0x38
	cObjectID   = 0x40
	cBool       = 0x48
	cDate       = 0x50
	cOther      = 0x58 // stored and returned, but no request may compare with them
)

// class returns the place of v's type in the order.
func (v value) class() byte {
	switch v.t {
	case rawbson.Int32, rawbson.Int64, rawbson.Double:
		return cNumber
	case rawbson.String:
		return cString
	case rawbson.ObjectID:
		return cObjectID
	case rawbson.Document:
		return cObject
	case rawbson.Array:
		return cArray
	case rawbson.Bool:
		return cBool
	case rawbson.Date:
		return cDate
	case rawbson.Null:
		return cNull
	case rawbson.Binary:
		return cBinary
	}
	return cOther
}

// appendKey appends the order-preserving encoding of v: if a sorts before b, then key(a) < key(b), and equal values
// (1 and 1.0) have equal keys. No key is a prefix of another one, so keys can be concatenated.
func appendKey(dst []byte, v value) []byte {
	c := v.class()
	dst = append(dst, c)
	switch c {
	case cNull:
		return dst
	case cNumber:
		return appendNumber(dst, v)
	case cString:
		return appendEscaped(dst, v.text())
	case cObject:
		return appendObject(dst, v.data, true)
	case cArray:
		return appendObject(dst, v.data, false)
	case cObjectID, cBool:
		return append(dst, v.data...)
	case cDate:
		return binary.BigEndian.AppendUint64(dst, uint64(v.int64())^1<<63)
	case cBinary: // by length, then subtype, then bytes
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(v.data)-5))
		return append(dst, v.data[4:]...)
	}
	return appendEscaped(append(dst, v.t), v.data)
}

// appendNumber puts int32, int64 and double into one order without loss: first the nearest double, then the difference
// of an int64 from it (at most 512, half the distance between doubles below 2^63). Rounding keeps the order, so the
// difference decides only between equal doubles.
func appendNumber(dst []byte, v value) []byte {
	f, rest := v.float(), int64(0)
	if i, ok := v.integer(); ok {
		rest = remainder(i, f)
	}
	if math.IsNaN(f) { // sorts before all numbers
		return append(dst, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	}
	if f == 0 {
		f = 0 // -0 equals 0
	}
	bits := math.Float64bits(f)
	if bits>>63 == 1 {
		bits = ^bits
	} else {
		bits |= 1 << 63
	}
	dst = binary.BigEndian.AppendUint64(dst, bits)
	return binary.BigEndian.AppendUint16(dst, uint16(rest+0x8000))
}

// remainder returns i − f exactly, f being the double next to i.
func remainder(i int64, f float64) int64 {
	if f >= 1<<63 { // does not fit an int64: 2^63 is MaxInt64+1
		return i - math.MaxInt64 - 1
	}
	return i - int64(f)
}

// appendEscaped appends b so that its end sorts before any further byte: 00 becomes 00 FF, the end is 00 01.
func appendEscaped(dst, b []byte) []byte {
	for {
		i := bytes.IndexByte(b, 0)
		if i < 0 {
			break
		}
		dst = append(dst, b[:i]...)
		dst = append(dst, 0, 0xFF)
		b = b[i+1:]
	}
	dst = append(dst, b...)
	return append(dst, 0, 1)
}

// appendObject appends the elements of a document or array. Documents compare element by element: first the type, then
// the name, then the value. A shorter one sorts first.
func appendObject(dst, doc []byte, names bool) []byte {
	it := walk(doc)
	for {
		key, v, ok := it.next()
		if !ok {
			return append(dst, 0)
		}
		if names {
			dst = append(dst, v.class())
			dst = appendEscaped(dst, key)
		}
		dst = appendKey(dst, v)
	}
}

func compare(a, b value) int {
	if a.t == b.t {
		switch a.t {
		case rawbson.String:
			return bytes.Compare(a.text(), b.text())
		case rawbson.ObjectID:
			return bytes.Compare(a.data, b.data)
		}
	}
	if ca, cb := a.class(), b.class(); ca != cb {
		return int(ca) - int(cb)
	}
	var abuf, bbuf [128]byte
	return bytes.Compare(appendKey(abuf[:0], a), appendKey(bbuf[:0], b))
}

func (v value) isNaN() bool { return v.t == rawbson.Double && math.IsNaN(v.double()) }
