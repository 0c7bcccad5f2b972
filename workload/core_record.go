package workload

import (
	"bytes"
	"encoding/binary"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
)

// recordMaker builds keys, values and documents for one stream or loader.
type recordMaker struct {
	w       *core
	lengths chooser
	content random // contents of records, seeded anew for each
	key     []byte // key of the current operation

	expected []byte // scratch space of verify
}

func (w *core) newRecordMaker() recordMaker {
	return recordMaker{w: w, lengths: w.lengths(w.p.FieldLengthDistribution, w.p.MinFieldLength, w.p.FieldLength)}
}

// setKey makes the key of number n the current one.
func (m *recordMaker) setKey(n int64) { m.key = m.w.form.append(m.key[:0], n) }

// appendRecord appends the document of key number n: _id and all fields. It depends only on the number and the seed.
func (m *recordMaker) appendRecord(dst []byte, n int64) []byte {
	m.setKey(n)
	dst, at := rawbson.Open(dst)
	dst = appendStringBytes(dst, "_id", m.key)
	m.content.seed(m.w.p.Seed, forRecord, uint64(n))
	for i := range m.w.fields {
		dst = m.appendField(dst, &m.w.fields[i], &m.content)
	}
	return rawbson.Close(dst, at)
}

// appendField appends one field with a new value.
func (m *recordMaker) appendField(dst []byte, f *field, r *random) []byte {
	n := int(m.lengths.next(r))
	dst = append(dst, f.header...)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(n))
	dst = append(dst, 0) // binary subtype: generic
	p := &m.w.p
	switch {
	case p.DataIntegrity:
		return appendIntegrityValue(dst, m.key, f.name, n)
	case p.Mode == Original:
		return appendYCSBValue(dst, n, r)
	}
	return appendRandomValue(dst, n, p.Compressibility, r)
}

// verify reports whether doc is what data integrity mode writes with the current key. Like YCSB, it checks the existing
// binary fields. In Corrected mode all wanted fields must exist.
func (m *recordMaker) verify(doc []byte, wanted int) bool {
	length, rest, ok := bsoncore.ReadLength(doc)
	if !ok || int(length) != len(doc) || length < 5 {
		return false
	}
	found := 0
	rest = rest[:len(rest)-1]
	for len(rest) > 0 {
		var element bsoncore.Element
		if element, rest, ok = bsoncore.ReadElement(rest); !ok {
			return false
		}
		if bsoncore.Type(element[0]) != bsoncore.TypeBinary {
			continue
		}
		if !m.verifyField(element) {
			return false
		}
		found++
	}
	if m.w.p.Mode == Corrected {
		return found == wanted
	}
	return found > 0
}

// verifyField checks one binary element: type, name, 0, length, subtype, data.
func (m *recordMaker) verifyField(element []byte) bool {
	end := bytes.IndexByte(element, 0)
	const prefix = 1 + 4 + 1 // the 0, the length and the subtype
	if end < 1 || len(element) < end+prefix {
		return false
	}
	m.expected = appendIntegrityValue(m.expected[:0], m.key, element[1:end], m.w.p.FieldLength)
	return bytes.Equal(element[end+prefix:], m.expected)
}
