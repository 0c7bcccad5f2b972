package wire

import (
	"encoding/binary"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
)

// appendText is bsoncore.AppendStringElement for bytes.
func appendText(dst []byte, key string, value []byte) []byte {
	dst = bsoncore.AppendHeader(dst, rawbson.String, key)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(value)+1))
	dst = append(dst, value...)
	return append(dst, 0)
}

// appendDocument appends a document, or an array with rawbson.Array. A nil document is an empty one.
func appendDocument(dst []byte, kind bsoncore.Type, key string, doc []byte) []byte {
	dst = bsoncore.AppendHeader(dst, kind, key)
	if doc == nil {
		return append(dst, 5, 0, 0, 0, 0)
	}
	return append(dst, doc...)
}

// maxDepth is the nesting of documents by a server (its limit is 200).
const maxDepth = 250

// checkDepth refuses documents nested so deeply that a recursive reader could run out of stack.
func checkDepth(doc []byte) error {
	var open [][]byte // the rest of the documents around the current one
	body, _, ok := rawbson.Split(doc)
	if !ok {
		return errBSON
	}
	for {
		if len(body) == 0 {
			if len(open) == 0 {
				return nil
			}
			body, open = open[len(open)-1], open[:len(open)-1]
			continue
		}
		_, v, size := rawbson.Next(body)
		if size == 0 {
			return errBSON
		}
		body = body[size:]
		if inner, ok := v.Body(); ok {
			if len(open) == maxDepth {
				return errBSON
			}
			open, body = append(open, body), inner
		}
	}
}
