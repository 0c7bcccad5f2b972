package wire

import (
	"crypto/rand"
	"encoding/binary"
	"time"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
)

// idElement is the length of an _id element with an ObjectID: type, "_id", zero, 12 bytes.
const idElement = 1 + 3 + 1 + 12

// objectIDs makes the _id of documents without one, like drivers: seconds, five random bytes of the session, and a
// counter of three bytes.
type objectIDs struct {
	unique  [5]byte
	counter uint32
}

func newObjectIDs() objectIDs {
	var o objectIDs
	_, _ = rand.Read(o.unique[:]) // never fails: the runtime ends the program instead
	return o
}

// hasID reports whether a document has an _id. Usually it reads the first element only.
func hasID(doc []byte) bool {
	if len(doc) > 9 && string(doc[5:9]) == "_id\x00" {
		return true
	}
	body, _, ok := rawbson.Split(doc)
	for ok && len(body) > 0 {
		key, _, size := rawbson.Next(body)
		if string(key) == "_id" {
			return true
		}
		body, ok = body[size:], size > 0
	}
	return !ok // invalid BSON: the server refuses it
}

// appendWithID appends doc with a new _id as its first element.
func (o *objectIDs) appendWithID(dst, doc []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(doc)+idElement))
	dst = bsoncore.AppendHeader(dst, rawbson.ObjectID, "_id")
	dst = binary.BigEndian.AppendUint32(dst, uint32(time.Now().Unix()))
	dst = append(dst, o.unique[:]...)
	o.counter++
	dst = append(dst, byte(o.counter>>16), byte(o.counter>>8), byte(o.counter))
	return append(dst, doc[4:]...)
}
