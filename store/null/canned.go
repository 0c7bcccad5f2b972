package null

import (
	"encoding/binary"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// cannedKey is the _id of a canned document if the request has none. With its 23 characters the document has 1168
// bytes, like YCSB's default record.
const cannedKey = "user6284781860667377211"

// ycsbFields has the order in which YCSB's MongoDB binding sends its ten default fields: that of a Java HashMap.
var ycsbFields = [...]string{
	"field1", "field0", "field7", "field6", "field9", "field8", "field3", "field2", "field5", "field4",
}

// canned is the content of one document.
type canned struct {
	rest []byte // the elements after _id, and the closing zero byte
	id   []byte // the _id element if the request has none
}

// newCanned makes the content of a document with YCSB's ten fields of 100 bytes each, or one field for a document of
// size bytes with the key cannedKey.
func newCanned(size int) canned {
	fields, value := ycsbFields[:], make([]byte, 100)
	var rest []byte
	if size > 0 {
		const other = 4 + 9 + len(cannedKey) + 13 + 1 // length, _id, head of the field, end
		fields, value = fields[:1], make([]byte, max(0, size-other))
	}
	for f, name := range fields {
		for i := range value {
			value[i] = byte(' ' + (f*31+i*7)%95)
		}
		rest = bsoncore.AppendBinaryElement(rest, name, 0, value)
	}
	return canned{rest: append(rest, 0), id: bsoncore.AppendStringElement(nil, "_id", cannedKey)}
}

// size is the length in bytes of a document with the given _id element.
func (c *canned) size(id []byte) int { return 4 + len(id) + len(c.rest) }

func (c *canned) appendDoc(dst, id []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(c.size(id)))
	dst = append(dst, id...)
	return append(dst, c.rest...)
}
