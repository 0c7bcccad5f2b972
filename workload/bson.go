package workload

import (
	"encoding/binary"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
)

// Documents are built by appending to buffers that streams reuse. Single elements come from bsoncore.

// openDocElement begins a document that is the value of key.
func openDocElement(dst []byte, key string) ([]byte, int) {
	return rawbson.Open(bsoncore.AppendHeader(dst, bsoncore.TypeEmbeddedDocument, key))
}

// openArrayElement begins an array that is the value of key.
func openArrayElement(dst []byte, key string) ([]byte, int) {
	return rawbson.Open(bsoncore.AppendHeader(dst, bsoncore.TypeArray, key))
}

// appendStringBytes appends the element {key: value} for a string held in bytes.
func appendStringBytes(dst []byte, key string, value []byte) []byte {
	dst = bsoncore.AppendHeader(dst, bsoncore.TypeString, key)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(value)+1))
	dst = append(dst, value...)
	return append(dst, 0)
}

// appendIDFilter appends the document {_id: id}.
func appendIDFilter(dst []byte, id []byte) []byte {
	dst, at := rawbson.Open(dst)
	return rawbson.Close(appendStringBytes(dst, "_id", id), at)
}

// keys returns the document {name: 1, …}, for projections, sort orders and indexes.
func keys(names ...string) []byte {
	dst, at := rawbson.Open(nil)
	for _, n := range names {
		dst = bsoncore.AppendInt32Element(dst, n, 1)
	}
	return rawbson.Close(dst, at)
}
