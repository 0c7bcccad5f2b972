package embedded

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
)

const (
	maxDocument = 16 << 20 // the largest document that a MongoDB server stores
	maxDepth    = 100      // the deepest nesting that a MongoDB server accepts
)

// value is one BSON value: its type and its bytes, without the field name.
type value struct {
	t    byte
	data []byte
}

var nullValue = value{t: rawbson.Null}

// elems walks the elements of a document or array. If next returned false, bad says that the walk ended at invalid
// BSON.
type elems struct {
	rest []byte
	bad  bool
}

func walk(doc []byte) elems {
	if len(doc) < 5 || int64(binary.LittleEndian.Uint32(doc)) != int64(len(doc)) || doc[len(doc)-1] != 0 {
		return elems{bad: true}
	}
	return elems{rest: doc[4 : len(doc)-1]}
}

func (e *elems) next() (key []byte, v value, ok bool) {
	if len(e.rest) == 0 {
		return nil, value{}, false
	}
	key, raw, size := rawbson.Next(e.rest)
	if size == 0 || raw.Kind == rawbson.String && raw.Data[len(raw.Data)-1] != 0 {
		e.bad = true
		return nil, value{}, false
	}
	e.rest = e.rest[size:]
	return key, value{t: raw.Kind, data: raw.Data}, true
}

func lookup(doc []byte, field []byte) (value, bool) {
	it := walk(doc)
	for {
		key, v, ok := it.next()
		if !ok {
			return value{}, false
		}
		if bytes.Equal(key, field) {
			return v, true
		}
	}
}

var idField = []byte("_id")

// validate checks that doc is well-formed BSON, nested values included.
func validate(doc []byte, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("the document is nested deeper than %d levels", maxDepth)
	}
	it := walk(doc)
	for {
		key, v, ok := it.next()
		if !ok {
			break
		}
		if v.t == rawbson.Document || v.t == rawbson.Array {
			if err := validate(v.data, depth+1); err != nil {
				return err
			}
		}
		if v.t == rawbson.Bool && v.data[0] > 1 {
			return fmt.Errorf("field %q: a boolean must be 0 or 1", key)
		}
	}
	if it.bad {
		return fmt.Errorf("the document is not well-formed BSON")
	}
	return nil
}

// isEmpty reports whether doc has no elements. A nil document is empty.
func isEmpty(doc []byte) bool { return len(doc) <= 5 }

func (v value) text() []byte { return v.data[4 : len(v.data)-1] }

func (v value) int32() int32 { return int32(binary.LittleEndian.Uint32(v.data)) }

func (v value) int64() int64 { return int64(binary.LittleEndian.Uint64(v.data)) }

func (v value) double() float64 {
	return math.Float64frombits(binary.LittleEndian.Uint64(v.data))
}

func (v value) isNumber() bool { return v.class() == cNumber }

// integer returns an int32 or int64. ok is false for every other type.
func (v value) integer() (n int64, ok bool) {
	switch v.t {
	case rawbson.Int32:
		return int64(v.int32()), true
	case rawbson.Int64:
		return v.int64(), true
	}
	return 0, false
}

// float returns the double next to a number.
func (v value) float() float64 {
	if v.t == rawbson.Double {
		return v.double()
	}
	i, _ := v.integer()
	return float64(i)
}

func appendElem(dst []byte, key []byte, v value) []byte {
	return append(appendName(dst, v.t, key), v.data...)
}

// appendName appends the type and the name of an element.
func appendName(dst []byte, t byte, key []byte) []byte {
	return append(append(append(dst, t), key...), 0)
}

func int32Value(n int32) value {
	return value{t: rawbson.Int32, data: binary.LittleEndian.AppendUint32(nil, uint32(n))}
}

func int64Value(n int64) value {
	return value{t: rawbson.Int64, data: binary.LittleEndian.AppendUint64(nil, uint64(n))}
}

func doubleValue(f float64) value {
	return value{t: rawbson.Double, data: binary.LittleEndian.AppendUint64(nil, math.Float64bits(f))}
}

func stringValue(s string) value {
	data := binary.LittleEndian.AppendUint32(nil, uint32(len(s)+1))
	return value{t: rawbson.String, data: append(append(data, s...), 0)}
}

// clone copies v out of a buffer that will be overwritten.
func (v value) clone() value { return value{t: v.t, data: bytes.Clone(v.data)} }
