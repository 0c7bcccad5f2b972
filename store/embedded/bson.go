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

// valueSize returns how many bytes a value of type t takes at the start of b, or -1 if b does not hold
// a whole one.
func valueSize(t byte, b []byte) int {
	n := rawbson.Size(t, b)
	switch {
	case n > len(b):
		return -1
	case (t == rawbson.String || t == rawbson.Code || t == rawbson.Symbol) && n > 0 && b[n-1] != 0:
		return -1
	}
	return n
}

// elems walks the elements of a document or array. bad tells, after next returned false, that the
// walk ended at something that is not BSON.
type elems struct {
	rest []byte
	bad  bool
}

// walk starts at the first element of doc.
func walk(doc []byte) elems {
	if len(doc) < 5 || int64(binary.LittleEndian.Uint32(doc)) != int64(len(doc)) || doc[len(doc)-1] != 0 {
		return elems{bad: true}
	}
	return elems{rest: doc[4 : len(doc)-1]}
}

// next returns the next element, or false at the end.
func (e *elems) next() (key []byte, v value, ok bool) {
	if len(e.rest) == 0 {
		return nil, value{}, false
	}
	t := e.rest[0]
	end := bytes.IndexByte(e.rest[1:], 0)
	if end < 0 {
		return e.fail()
	}
	key = e.rest[1 : 1+end]
	body := e.rest[1+end+1:]
	n := valueSize(t, body)
	if n < 0 {
		return e.fail()
	}
	e.rest = body[n:]
	return key, value{t: t, data: body[:n]}, true
}

func (e *elems) fail() ([]byte, value, bool) {
	e.bad, e.rest = true, nil
	return nil, value{}, false
}

// lookup returns the value of a field of doc.
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

// idField is the name of the primary key.
var idField = []byte("_id")

// validate checks that doc is well-formed BSON to its last nested value.
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

// isEmpty reports whether doc has no elements; a nil document counts as empty.
func isEmpty(doc []byte) bool { return len(doc) <= 5 }

// text returns the bytes of a string or symbol.
func (v value) text() []byte { return v.data[4 : len(v.data)-1] }

func (v value) int32() int32 { return int32(binary.LittleEndian.Uint32(v.data)) }

func (v value) int64() int64 { return int64(binary.LittleEndian.Uint64(v.data)) }

func (v value) double() float64 {
	return math.Float64frombits(binary.LittleEndian.Uint64(v.data))
}

func (v value) isNumber() bool {
	return v.t == rawbson.Int32 || v.t == rawbson.Int64 || v.t == rawbson.Double || v.t == rawbson.Decimal
}

// integer returns an int32 or int64, and false for every other type.
func (v value) integer() (int64, bool) {
	switch v.t {
	case rawbson.Int32:
		return int64(v.int32()), true
	case rawbson.Int64:
		return v.int64(), true
	}
	return 0, false
}

// float returns a number as the nearest double.
func (v value) float() float64 {
	if v.t == rawbson.Double {
		return v.double()
	}
	if v.t == rawbson.Decimal {
		return decimalFloat(v.data)
	}
	i, _ := v.integer()
	return float64(i)
}

// decimalFloat returns the double next to a decimal128 (little-endian, binary integer significand:
// sign, 14 bits of exponent biased by 6176, 113 bits of coefficient).
func decimalFloat(b []byte) float64 {
	lo, hi := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	sign := 1.0
	if hi>>63 == 1 {
		sign = -1
	}
	switch {
	case hi>>58&0x1F == 0x1F:
		return math.NaN()
	case hi>>58&0x1F == 0x1E:
		return math.Inf(int(sign))
	case hi>>61&3 == 3: // coefficients this large are not canonical and count as zero
		return sign * 0
	}
	exp := int(hi>>49&0x3FFF) - 6176
	coef := float64(hi&(1<<49-1))*math.Exp2(64) + float64(lo)
	if exp < -300 { // Pow10 alone would underflow where the product does not
		return sign * coef * math.Pow10(-300) * math.Pow10(exp+300)
	}
	return sign * coef * math.Pow10(exp)
}

func appendElem(dst []byte, key []byte, v value) []byte {
	return append(appendName(dst, v.t, key), v.data...)
}

// appendName appends what stands before the value of an element.
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

// clone copies v out of a buffer that will be overwritten.
func (v value) clone() value { return value{t: v.t, data: bytes.Clone(v.data)} }
