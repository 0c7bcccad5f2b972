package ledger

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
)

// tagName is the field of an inserted document that names its write. Followed by a run, in eight hexadecimal digits, it
// is the field that counts the updates of that run: see [counterName].
const tagName = "_plimsoll"

// A tag is a binary value of 24 bytes, with its name and lengths 40: the name of the write in twelve, as [appendName]
// has it, and three checksums of four each: of that name, of its connection with _id, and of all other fields. All
// numbers begin with their high bytes.
const (
	tagAt    = 1 + len(tagName) + 1 + 4 + 1 // of the value in the element
	tagSelf  = 12
	tagID    = tagSelf + 4
	tagBody  = tagID + 4
	tagValue = tagBody + 4
)

// tagStart is the beginning of a tag's element: type, name, length of the value, generic subtype.
var tagStart = append(append([]byte{byte(bsoncore.TypeBinary)}, tagName...), 0, tagValue, 0, 0, 0, 0)

// tag names the write that a document comes from, and proves it.
type tag struct {
	run      uint32
	writer   int
	sequence int64
	self     uint32 // checksum of the three above
	id       uint32 // checksum of them and of _id: the tag belongs to this document
	body     uint32 // checksum of all other fields
}

// castagnoli is faster for a few bytes, ieee for documents. The processor has instructions for both.
var castagnoli, ieee = crc32.MakeTable(crc32.Castagnoli), crc32.IEEETable

// proof is the checksum of the identity. One round of a multiplicative mix for each part is cheap and distinguishes
// writes.
func (t *tag) proof() uint32 {
	return uint32(mix(mix(uint64(t.run))^place(t.writer, inserts, t.sequence)) >> 32)
}

// mix spreads the bits of x: the finaliser of SplitMix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// bound is the checksum of an _id element together with the identity.
func bound(self uint32, id []byte) uint32 { return crc32.Update(self, castagnoli, id) }

// appendTag appends the element of a tag.
func appendTag(dst []byte, t *tag) []byte {
	dst = append(dst, tagStart...)
	dst = appendName(dst, t.run, t.writer, inserts, t.sequence)
	dst = binary.BigEndian.AppendUint32(dst, t.self)
	dst = binary.BigEndian.AppendUint32(dst, t.id)
	return binary.BigEndian.AppendUint32(dst, t.body)
}

// parse reads the value of a tag, and reports whether it is one whose identity is proven.
func (t *tag) parse(v []byte) bool {
	if len(v) != tagValue {
		return false
	}
	var k kind
	t.run, t.writer, k, t.sequence = parseID(v)
	t.self = binary.BigEndian.Uint32(v[tagSelf:])
	t.id = binary.BigEndian.Uint32(v[tagID:])
	t.body = binary.BigEndian.Uint32(v[tagBody:])
	return k == inserts && t.self == t.proof()
}

// tagText names a document by the beginning of its tag.
func tagText(run uint32, writer int, sequence int64) string {
	return tagName + ": " + hex.EncodeToString(appendName(nil, run, writer, inserts, sequence)) + "…"
}

// appendTagged appends doc with a tag at its end. It returns false, and dst as it was, if doc is not a document
// with an _id, or there are no numbers left.
//
// Fields before a tag were in the inserted document, so it does not matter here whether one has a name of the ledger's.
func appendTagged(dst, doc []byte, run uint32, writer int, sequence int64) ([]byte, bool) {
	fields, ok := inside(doc)
	if !ok || uint64(writer) >= maxWriters || uint64(sequence) >= maxSequence {
		return dst, false
	}
	id, body, ok := idAndBody(fields)
	if !ok {
		return dst, false
	}
	t := tag{run: run, writer: writer, sequence: sequence, body: body}
	t.self = t.proof()
	t.id = bound(t.self, id)
	start := len(dst)
	dst = append(dst, doc[:len(doc)-1]...)
	return rawbson.Close(appendTag(dst, &t), start), true
}

// idAndBody returns the element _id among fields and the checksum of all others, and false if there is no _id.
func idAndBody(fields []byte) (id []byte, body uint32, ok bool) {
	// Nearly always _id comes first, so the rest is one piece.
	if e, rest, ok := bsoncore.ReadElement(fields); ok && isKey(e, "_id") {
		return e, crc32.Update(0, ieee, rest), true
	}
	for len(fields) > 0 {
		var e bsoncore.Element
		if e, fields, ok = bsoncore.ReadElement(fields); !ok {
			return nil, 0, false
		}
		if id == nil && isKey(e, "_id") {
			id = e
			continue
		}
		body = crc32.Update(body, ieee, e)
	}
	return id, body, len(id) > 0
}

// inside returns the elements of a document, without its length and final zero.
func inside(doc []byte) ([]byte, bool) {
	n, _, ok := bsoncore.ReadLength(doc)
	if !ok || int(n) != len(doc) || n < 5 || doc[n-1] != 0 {
		return nil, false
	}
	return doc[4 : n-1], true
}

// isKey reports whether an element has the given name.
func isKey(e []byte, name string) bool {
	return len(e) > len(name)+1 && e[len(name)+1] == 0 && string(e[1:len(name)+1]) == name
}

// integer reads an integer of any of BSON's number types.
func integerOf(e []byte) (int64, bool) {
	v := rawbson.Value(e)
	switch bsoncore.Type(e[0]) {
	case bsoncore.TypeInt32:
		n, _, ok := bsoncore.ReadInt32(v)
		return int64(n), ok
	case bsoncore.TypeInt64:
		n, _, ok := bsoncore.ReadInt64(v)
		return n, ok
	case bsoncore.TypeDouble:
		f, _, ok := bsoncore.ReadDouble(v)
		n := int64(f)
		return n, ok && float64(n) == f
	}
	return 0, false
}

// counterDigits is the length of a run in the name of a counter. It is constant, so that no other field is taken for
// one.
const counterDigits = 8

// counterName is the field that counts the updates of a run in a document.
func counterName(run uint32) string { return fmt.Sprintf("%s%0*x", tagName, counterDigits, run) }

// isCounter reports whether an element counts the updates of any run.
func isCounter(e []byte) bool {
	const from, end = 1 + len(tagName), 1 + len(tagName) + counterDigits
	if len(e) <= end || e[1] != tagName[0] || e[end] != 0 || string(e[1:from]) != tagName {
		return false
	}
	for _, c := range e[from:end] {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
