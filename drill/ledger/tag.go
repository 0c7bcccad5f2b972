package ledger

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// tagName is the field in which a document carries what the ledger needs: {r, w, s, c} of the insert that made it,
// and nRUN, the number of updates, of a wrapped workload.
const tagName = "_plimsoll"

var tagBytes = []byte(tagName)

// tag names the write that a document comes from, and proves it.
type tag struct {
	run      uint32
	writer   int32
	sequence int64
	self     uint32 // checksum of the three above: they are what was written
	id       uint32 // checksum of them and of _id: they belong to this document
	body     uint32 // checksum of all other fields
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// proof is the checksum of the identity.
func (t *tag) proof() uint32 {
	// One round of a multiplicative mix for each part: it must tell different writes apart, and be cheap.
	h := mix(uint64(t.run)<<32 | uint64(uint32(t.writer)))
	return uint32(mix(h^uint64(t.sequence)) >> 32)
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

// appendTag appends the element {_plimsoll: {r, w, s, c}}.
func appendTag(dst []byte, t *tag) []byte {
	dst = append(dst, tagHead...)
	at := len(dst) - tagFixed
	binary.LittleEndian.PutUint64(dst[at+tagRunAt:], uint64(t.run)<<32|uint64(t.self))
	binary.LittleEndian.PutUint32(dst[at+tagWriterAt:], uint32(t.writer))
	binary.LittleEndian.PutUint64(dst[at+tagSequenceAt:], uint64(t.sequence))
	binary.LittleEndian.PutUint64(dst[at+tagSumsAt:], uint64(t.body)<<32|uint64(t.id))
	return dst
}

// tagHead is the element with zeros for all values, and the positions of the values in it.
var tagHead = func() []byte {
	inner := bsoncore.NewDocumentBuilder().AppendInt64("r", 0).AppendInt32("w", 0).AppendInt64("s", 0).
		AppendInt64("c", 0).Build()
	return bsoncore.AppendDocumentElement(nil, tagName, inner)
}()

const (
	tagFixed      = 1 + len(tagName) + 1 + 4 + 3*(3+8) + (3 + 4) + 1
	tagRunAt      = 1 + len(tagName) + 1 + 4 + 3
	tagWriterAt   = tagRunAt + 8 + 3
	tagSequenceAt = tagWriterAt + 4 + 3
	tagSumsAt     = tagSequenceAt + 8 + 3
)

// appendTagged appends doc with a tag at its end. It returns false, and dst as it was, if doc is not a document
// with an _id.
func appendTagged(dst, doc []byte, run uint32, writer int32, sequence int64) ([]byte, bool) {
	id, body, ok := idAndBody(doc)
	if !ok || len(id) == 0 {
		return dst, false
	}
	t := tag{run: run, writer: writer, sequence: sequence, body: body}
	t.self = t.proof()
	t.id = bound(t.self, id)
	start := len(dst)
	dst = append(dst, doc[:len(doc)-1]...)
	dst = append(appendTag(dst, &t), 0)
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start))
	return dst, true
}

// idAndBody returns the element _id of a document and the checksum of all others but the tag.
func idAndBody(doc []byte) (id []byte, body uint32, ok bool) {
	rest, ok := inside(doc)
	if !ok {
		return nil, 0, false
	}
	// Nearly always _id comes first and there is no tag: then the rest is one piece.
	if e, after, ok := bsoncore.ReadElement(rest); ok && isKey(e, "_id") && !mayHaveTag(after) {
		return e, crc32.Update(0, castagnoli, after), true
	}
	for len(rest) > 0 {
		var e bsoncore.Element
		if e, rest, ok = bsoncore.ReadElement(rest); !ok {
			return nil, 0, false
		}
		switch {
		case isKey(e, "_id"):
			id = e
		case !isKey(e, tagName):
			body = crc32.Update(body, castagnoli, e)
		}
	}
	return id, body, true
}

// mayHaveTag reports whether one of some elements may be a tag. It goes from name to name, which is quicker than to search
// what lies between them; where it does not know how long a value is, it searches.
func mayHaveTag(rest []byte) bool {
	for len(rest) > 0 {
		end := 1
		for end < len(rest) && rest[end] != 0 {
			end++
		}
		if string(rest[1:max(end, 1)]) == tagName {
			return true
		}
		size := 0
		switch v := rest[min(end+1, len(rest)):]; bsoncore.Type(rest[0]) {
		case bsoncore.TypeString, bsoncore.TypeBinary:
			if len(v) < 5 {
				return bytes.Contains(rest, tagBytes)
			}
			size = 4 + int(binary.LittleEndian.Uint32(v))
			if bsoncore.Type(rest[0]) == bsoncore.TypeBinary {
				size++ // the subtype
			}
		case bsoncore.TypeInt32:
			size = 4
		case bsoncore.TypeInt64, bsoncore.TypeDouble, bsoncore.TypeDateTime:
			size = 8
		case bsoncore.TypeObjectID:
			size = 12
		default:
			return bytes.Contains(rest, tagBytes)
		}
		if end+1+size > len(rest) {
			return bytes.Contains(rest, tagBytes)
		}
		rest = rest[end+1+size:]
	}
	return false
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

// value returns the bytes of an element's value.
func value(e []byte) []byte {
	for i := 1; i < len(e); i++ {
		if e[i] == 0 {
			return e[i+1:]
		}
	}
	return nil
}

// whole reads an integer of any of BSON's number types.
func whole(e []byte) (int64, bool) {
	v := value(e)
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

// countName is the field of the tag that counts the updates of a run.
func countName(run uint32) string {
	text := strconv.FormatUint(uint64(run), 16)
	return "n" + "00000000"[len(text):] + text
}

// reading is what the ledger sees in one document.
type reading struct {
	id      bsoncore.Element
	ticket  bsoncore.Element // the whole tag, counters included
	tagged  bool             // there is a tag of an insert
	trusted bool             // its identity is proven
	tag     tag
	body    uint32 // checksum of what is there
	updates int64  // counter of updates of this run
	counted bool
	slot    [slotCounters]bsoncore.Element // counters of the own workload's slots
	strange bool                           // a slot holds something else
}

// read takes a document apart. It allocates nothing and returns false if that is no document.
func (r *reading) read(doc []byte, count string, slots bool) bool {
	*r = reading{}
	rest, ok := inside(doc)
	if !ok {
		return false
	}
	for piece := rest; len(rest) > 0; {
		var e bsoncore.Element
		if e, rest, ok = bsoncore.ReadElement(rest); !ok {
			return false
		}
		switch {
		case isKey(e, "_id"):
			r.id = e
		case isKey(e, tagName):
			r.ticket = e
			if bsoncore.Type(e[0]) != bsoncore.TypeEmbeddedDocument || !r.readTag(value(e), count) {
				r.tagged, r.trusted = true, false
			}
		default:
			if slots {
				r.readCounter(e)
			}
			// Neighbours are summed up as one piece.
			if len(rest) > 0 && !isKey(rest, "_id") && !isKey(rest, tagName) {
				continue
			}
			r.body = crc32.Update(r.body, castagnoli, piece[:len(piece)-len(rest)])
		}
		piece = rest
	}
	return true
}

// readTag reads the value of the tag.
func (r *reading) readTag(doc []byte, count string) bool {
	rest, ok := inside(doc)
	if !ok {
		return false
	}
	found := 0
	for len(rest) > 0 {
		var e bsoncore.Element
		if e, rest, ok = bsoncore.ReadElement(rest); !ok {
			return false
		}
		if e[1] == 'n' {
			if isKey(e, count) {
				r.updates, ok = whole(e)
				r.counted = ok
			}
			continue
		}
		n, ok := whole(e)
		if !ok {
			return false
		}
		switch {
		case isKey(e, "r"):
			r.tag.run, r.tag.self = uint32(uint64(n)>>32), uint32(n)
		case isKey(e, "w"):
			r.tag.writer = int32(n)
		case isKey(e, "s"):
			r.tag.sequence = n
		case isKey(e, "c"):
			r.tag.body, r.tag.id = uint32(uint64(n)>>32), uint32(n)
		default:
			return false
		}
		found++
	}
	r.tagged = found > 0
	r.trusted = found == 4 && r.tag.self == r.tag.proof()
	return true
}

// readCounter keeps a counter of a slot.
func (r *reading) readCounter(e bsoncore.Element) {
	if len(e) > 2 && e[2] == 0 && e[1] >= 'a' && e[1] < 'a'+slotCounters {
		r.slot[e[1]-'a'] = e
		return
	}
	r.strange = true
}
