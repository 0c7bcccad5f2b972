package shards

import (
	"crypto/md5"
	"encoding/binary"
	"math"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
)

// order is the place of a type in the order of BSON types (manual: "Comparison/Sort Order"), which is a part of the
// hash. It is 0 for a type that is not supported as a key.
func order(t bsoncore.Type) byte {
	switch t {
	case bsoncore.TypeNull:
		return 5
	case bsoncore.TypeInt32, bsoncore.TypeInt64, bsoncore.TypeDouble:
		return 10
	case bsoncore.TypeString:
		return 15
	case bsoncore.TypeBinary:
		return 30
	case bsoncore.TypeObjectID:
		return 35
	case bsoncore.TypeBoolean:
		return 40
	case bsoncore.TypeDateTime:
		return 45
	}
	return 0
}

// hash is the hash of a value in a hashed index: the first eight bytes of the MD5 of a seed (0), the order of its type
// and its bytes. Numbers are hashed as 64-bit integers (manual: "Hashed Indexes"). ok is false for types that are not
// supported as a key.
func hash(e bsoncore.Element) (int64, bool) {
	v := rawbson.Value(e)
	kind := order(bsoncore.Type(e[0]))
	if kind == 0 {
		return 0, false
	}
	var room [96]byte
	b := append(room[:0], 0, 0, 0, 0, kind, 0, 0, 0)
	if kind == 10 {
		n, ok := wholeNumber(bsoncore.Type(e[0]), v)
		if !ok {
			return 0, false
		}
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	} else {
		b = append(b, v...)
	}
	sum := md5.Sum(b)
	return int64(binary.LittleEndian.Uint64(sum[:8])), true
}

// wholeNumber converts a number like the hash.
func wholeNumber(t bsoncore.Type, v []byte) (int64, bool) {
	switch t {
	case bsoncore.TypeInt32:
		n, _, ok := bsoncore.ReadInt32(v)
		return int64(n), ok
	case bsoncore.TypeInt64:
		n, _, ok := bsoncore.ReadInt64(v)
		return n, ok
	}
	f, _, ok := bsoncore.ReadDouble(v)
	return int64(f), ok && math.Abs(f) < 1<<53 // larger ones are rounded differently by server versions
}

// sortKey appends bytes that sort like the values of the supported types. MinKey sorts before all values and MaxKey
// after them.
func sortKey(dst []byte, e bsoncore.Element) ([]byte, bool) {
	v := rawbson.Value(e)
	t := bsoncore.Type(e[0])
	kind := order(t)
	switch t {
	case bsoncore.TypeMinKey:
		return dst, true
	case bsoncore.TypeMaxKey:
		return append(dst, 0xff), true
	case bsoncore.TypeInt32, bsoncore.TypeInt64, bsoncore.TypeDouble:
		n, ok := wholeNumber(t, v)
		if f, _, isFloat := bsoncore.ReadDouble(v); ok && t == bsoncore.TypeDouble && isFloat && f != math.Trunc(f) {
			return dst, false
		}
		return appendNumber(dst, n), ok
	case bsoncore.TypeString:
		text, _, ok := bsoncore.ReadString(v)
		return append(append(dst, kind), text...), ok
	case bsoncore.TypeDateTime:
		n, _, ok := bsoncore.ReadDateTime(v)
		return binary.BigEndian.AppendUint64(append(dst, kind), uint64(n)^1<<63), ok
	case bsoncore.TypeNull, bsoncore.TypeObjectID, bsoncore.TypeBoolean:
		return append(append(dst, kind), v...), true
	}
	return dst, false
}

// appendNumber appends the [sortKey] of an integer.
func appendNumber(dst []byte, n int64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, 10), uint64(n)^1<<63)
}

func first(document []byte) (bsoncore.Element, bool) {
	if len(document) < 5 {
		return nil, false
	}
	e, _, ok := bsoncore.ReadElement(document[4 : len(document)-1])
	return e, ok && len(e) > 0
}

// element returns the element of a name in a document.
func element(document []byte, name string) (bsoncore.Element, bool) {
	if len(document) < 5 {
		return nil, false
	}
	for rest := document[4 : len(document)-1]; len(rest) > 0; {
		e, more, ok := bsoncore.ReadElement(rest)
		if !ok {
			return nil, false
		}
		if len(e) > len(name)+1 && e[len(name)+1] == 0 && string(e[1:len(name)+1]) == name {
			return e, true
		}
		rest = more
	}
	return nil, false
}
