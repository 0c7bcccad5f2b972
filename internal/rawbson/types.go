package rawbson

import (
	"bytes"
	"encoding/binary"
)

// The types of values (bsonspec.org).
const (
	Double    = 0x01
	String    = 0x02
	Document  = 0x03
	Array     = 0x04
	Binary    = 0x05
	Undefined = 0x06
	ObjectID  = 0x07
	Bool      = 0x08
	Date      = 0x09
	Null      = 0x0A
	Regex     = 0x0B
	Pointer   = 0x0C
	Code      = 0x0D
	Symbol    = 0x0E
	Scope     = 0x0F // code with a scope
	Int32     = 0x10
	Timestamp = 0x11
	Int64     = 0x12
	Decimal   = 0x13
	MinKey    = 0xFF
	MaxKey    = 0x7F
)

// Size returns the size of a value of a type at the start of b, which can be larger than b; -1 if there is no such type
// or b does not begin with such a value.
func Size(kind byte, b []byte) int {
	switch kind {
	case Double, Date, Timestamp, Int64:
		return 8
	case Int32:
		return 4
	case Bool:
		return 1
	case ObjectID:
		return 12
	case Decimal:
		return 16
	case Undefined, Null, MinKey, MaxKey:
		return 0
	case Document, Array, Scope: // the length counts itself
		return prefixed(b, 0, 5)
	case String, Code, Symbol: // the length counts the closing zero
		return prefixed(b, 4, 1)
	case Binary:
		return prefixed(b, 5, 0)
	case Pointer: // a string and an object id
		return prefixed(b, 16, 1)
	case Regex:
		return twoStrings(b)
	}
	return -1
}

// prefixed is the size of a value that begins with its length: the length and extra bytes. A length below least is
// invalid.
func prefixed(b []byte, extra, least int) int {
	if len(b) < 4 {
		return -1
	}
	n := int(int32(binary.LittleEndian.Uint32(b)))
	if n < least {
		return -1
	}
	return n + extra
}

// twoStrings is the size of two strings that end with a zero each.
func twoStrings(b []byte) int {
	first := bytes.IndexByte(b, 0)
	if first < 0 {
		return -1
	}
	second := bytes.IndexByte(b[first+1:], 0)
	if second < 0 {
		return -1
	}
	return first + second + 2
}
