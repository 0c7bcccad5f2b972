package shards

import (
	"crypto/md5"
	"encoding/binary"
	"iter"
	"maps"
	"math"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
)

// order is the place of a type in the order of BSON types, which is hashed too (manual: "Comparison/Sort Order"); 0 of
// one that nobody uses as a key here.
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

// Hash is what a hashed index has of a value: the first eight bytes of the MD5 of a seed (0), the order of its type and
// its bytes; numbers are hashed as whole ones of 64 bits (manual: "Hashed Indexes"). It is false for types that no key
// has here.
func Hash(e bsoncore.Element) (int64, bool) {
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

// wholeNumber is a number as it is hashed.
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
	return int64(f), ok && math.Abs(f) < 1<<53 // beyond that servers round in their own ways
}

// sortKey appends bytes that sort as values do, for the types that keys have; MinKey is before everything and MaxKey
// after it.
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

// appendNumber appends a whole number as [sortKey] has it.
func appendNumber(dst []byte, n int64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, 10), uint64(n)^1<<63)
}

// first is the first element of a document.
func first(document []byte) (bsoncore.Element, bool) {
	if len(document) < 5 {
		return nil, false
	}
	e, _, ok := bsoncore.ReadElement(document[4 : len(document)-1])
	return e, ok && len(e) > 0
}

// element is the element of a name in a document. Operators are no values, so a filter that has one is of no single
// document.
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

func keys(m map[string]Collection) iter.Seq[string] { return maps.Keys(m) }
