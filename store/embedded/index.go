package embedded

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
)

func newIndex(e indexEntry) (*index, error) {
	ix := &index{id: e.ID, name: e.Name, keys: bytes.Clone(e.Keys), multikey: new(atomic.Bool), expire: e.ExpireAfter,
		unique: e.Unique}
	it := walk(ix.keys)
	for {
		path, v, ok := it.next()
		if !ok {
			break
		}
		if !v.isNumber() || v.float() != 1 && v.float() != -1 {
			return nil, unsupported(fmt.Sprintf("an index on %q that is neither ascending nor descending", path))
		}
		if bytes.IndexByte(path, '$') >= 0 {
			return nil, unsupported(fmt.Sprintf("a wildcard index on %q", path))
		}
		if hasPosition(path) {
			return nil, unsupported(fmt.Sprintf("an index on the array position %q", path))
		}
		ix.fields, ix.desc = append(ix.fields, path), append(ix.desc, v.float() < 0)
	}
	if it.bad || len(ix.fields) == 0 {
		return nil, badValue(67, "CannotCreateIndex", "the keys of index %q are not a document of fields", e.Name)
	}
	if ix.expire != nil && len(ix.fields) > 1 {
		return nil, badValue(67, "CannotCreateIndex", "the index %q expires documents, so it must have one field", e.Name)
	}
	return ix, ix.limit(e.Partial)
}

// limit makes an index partial: it has entries of the documents that match a filter.
func (ix *index) limit(only []byte) error {
	if only == nil {
		return nil
	}
	ix.only, ix.partial = bytes.Clone(only), &filter{}
	if err := ix.partial.compile(ix.only); err != nil {
		return err
	}
	if slices.ContainsFunc(ix.partial.preds, func(p predicate) bool { return p.op == opNe }) {
		return badValue(67, "CannotCreateIndex", "the filter of the partial index %q cannot have $ne", ix.name)
	}
	return nil
}

// has reports whether a document has entries.
func (ix *index) has(doc []byte) bool { return ix.partial == nil || ix.partial.match(doc) }

// entries are the index keys of one document, in one buffer.
type entries struct {
	buf  []byte
	ends []int
}

func (e *entries) reset() { e.buf, e.ends = e.buf[:0], e.ends[:0] }

func (e *entries) at(i int) []byte {
	if i == 0 {
		return e.buf[:e.ends[0]]
	}
	return e.buf[e.ends[i-1]:e.ends[i]]
}

func (e *entries) contains(key []byte) bool {
	for i := range e.ends {
		if bytes.Equal(e.at(i), key) {
			return true
		}
	}
	return false
}

// maxEntries is the most keys that one document may have in one index.
const maxEntries = 100_000

// extract computes the keys of doc in ix. An array in an index of one field has a key for each element, and one key if
// it is empty. An index of several fields takes no arrays.
func (e *entries) extract(ix *index, coll uint32, doc, id []byte) (multikey bool, err error) {
	if e.reset(); !ix.has(doc) {
		return false, nil
	}
	var few [4]value
	values := few[:0]
	for _, path := range ix.fields {
		if values, multikey = collect(values, doc, path); multikey && len(ix.fields) > 1 {
			return true, unsupported(fmt.Sprintf("an array in the field %q of the index %q of several fields", path, ix.name))
		}
	}
	if multikey {
		if values = distinct(values); len(values) > maxEntries {
			return true, badValue(67, "CannotCreateIndex", "a document has more than %d keys in the index %q",
				maxEntries, ix.name)
		}
		for i := range values {
			e.key(ix, coll, values[i:i+1], id)
		}
		return true, nil
	}
	e.key(ix, coll, values, id)
	return false, nil
}

func (e *entries) key(ix *index, coll uint32, values []value, id []byte) {
	e.buf = indexPrefix(e.buf, coll, ix.id)
	for i, v := range values {
		e.buf = appendColumn(e.buf, v, ix.desc[i])
	}
	e.buf = append(e.buf, id...)
	e.ends = append(e.ends, len(e.buf))
}

// emptyArray stands for an array without elements inside an index.
var emptyArray = value{t: rawbson.Array}

// appendIndexed appends one column of an index key.
func appendIndexed(dst []byte, v value) []byte {
	if v.t == rawbson.Array && v.data == nil {
		return append(dst, cEmptyArray)
	}
	return appendKey(dst, v)
}

// appendColumn appends one column in ascending or descending order. No key is a prefix of another, so this holds for
// inverted ones too.
func appendColumn(dst []byte, v value, desc bool) []byte {
	at := len(dst)
	dst = appendIndexed(dst, v)
	if desc {
		invert(dst[at:])
	}
	return dst
}

// collect appends the values at path for an index or a sort: each element of an array, and null for a missing field. It
// reports whether there was an array.
func collect(dst []value, doc, path []byte) (values []value, array bool) {
	head, tail, more := bytes.Cut(path, dot)
	v, ok := lookup(doc, head)
	switch {
	case ok && v.t == rawbson.Array:
		return collectArray(dst, v.data, tail, more), true
	case ok && !more:
		return append(dst, v), false
	case ok && v.t == rawbson.Document:
		return collect(dst, v.data, tail)
	}
	return append(dst, nullValue), false
}

// collectArray appends the values of an array. tail is the rest of the path, if more says that there is one.
func collectArray(dst []value, array, tail []byte, more bool) []value {
	n := len(dst)
	it := walk(array)
	for {
		_, v, ok := it.next()
		if !ok {
			break
		}
		switch {
		case !more:
			dst = append(dst, v)
		case v.t == rawbson.Document:
			dst, _ = collect(dst, v.data, tail)
		}
	}
	switch {
	case len(dst) > n:
		return dst
	case more:
		return append(dst, nullValue)
	}
	return append(dst, emptyArray)
}

// distinct sorts and removes repeated values, so that no key is written twice.
func distinct(vs []value) []value {
	slices.SortFunc(vs, compareIndexed)
	return slices.CompactFunc(vs, func(a, b value) bool { return compareIndexed(a, b) == 0 })
}

func compareIndexed(a, b value) int {
	return bytes.Compare(appendIndexed(nil, a), appendIndexed(nil, b))
}

// idLength is the value stored with an index key.
func idLength(dst, id []byte) []byte { return binary.AppendUvarint(dst, uint64(len(id))) }
