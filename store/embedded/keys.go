package embedded

import (
	"encoding/binary"
	"fmt"
)

// The layout of the keys. Numbers are big-endian; _id and indexed values are encoded by appendKey.
//
//	01 name                          → catalog entry of a collection (JSON)
//	02 collection(4) _id             → document (BSON)
//	03 collection(4) index(4) values _id → length of the encoded _id (uvarint)
//	04 collection(4) index(4)        → empty: some document has an array in this index
const (
	spaceCatalog  = 1
	spaceDocs     = 2
	spaceIndex    = 3
	spaceMultikey = 4
)

// docPrefix appends the prefix of the keys of a collection's documents.
func docPrefix(dst []byte, coll uint32) []byte {
	return binary.BigEndian.AppendUint32(append(dst, spaceDocs), coll)
}

const docPrefixLen = 5

func docKey(dst []byte, coll uint32, id value) []byte {
	return appendKey(docPrefix(dst, coll), id)
}

func indexPrefix(dst []byte, coll, index uint32) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, spaceIndex), coll)
	return binary.BigEndian.AppendUint32(dst, index)
}

const indexPrefixLen = 9

func multikeyKey(dst []byte, coll, index uint32) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, spaceMultikey), coll)
	return binary.BigEndian.AppendUint32(dst, index)
}

// successor changes b into the first key after all keys with this prefix. b must not be all FF.
func successor(b []byte) []byte {
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] != 0xFF {
			b[i]++
			return b[:i+1]
		}
	}
	return b
}

// splitIndexKey returns the encoded _id at the end of an index key.
func splitIndexKey(key, val []byte) ([]byte, error) {
	n, size := binary.Uvarint(val)
	if size <= 0 || n > uint64(len(key)-indexPrefixLen) {
		return nil, fmt.Errorf("an index entry is damaged (key %x, value %x)", key, val)
	}
	return key[len(key)-int(n):], nil
}
