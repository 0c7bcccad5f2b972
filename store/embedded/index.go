package embedded

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"sync/atomic"
)

// newIndex compiles the key document of an index.
func newIndex(e indexEntry) (*index, error) {
	ix := &index{id: e.ID, name: e.Name, keys: bytes.Clone(e.Keys), multikey: new(atomic.Bool)}
	it := walk(ix.keys)
	for {
		path, v, ok := it.next()
		if !ok {
			break
		}
		if !v.isNumber() || (v.float() != 1 && v.float() != -1) {
			return nil, unsupported(fmt.Sprintf("an index on %q that is neither ascending nor descending", path))
		}
		if bytes.IndexByte(path, '$') >= 0 {
			return nil, unsupported(fmt.Sprintf("a wildcard index on %q", path))
		}
		if hasPosition(path) {
			return nil, unsupported(fmt.Sprintf("an index on the array position %q", path))
		}
		ix.fields = append(ix.fields, indexField{path: path, desc: v.float() < 0})
	}
	if it.bad || len(ix.fields) == 0 {
		return nil, badValue(67, "CannotCreateIndex", "the keys of index %q are not a document of fields", e.Name)
	}
	return ix, nil
}

// entries are the index keys of one document, in one buffer.
type entries struct {
	buf  []byte
	ends []int
}

func (e *entries) reset() { e.buf, e.ends = e.buf[:0], e.ends[:0] }

func (e *entries) len() int { return len(e.ends) }

func (e *entries) at(i int) []byte {
	if i == 0 {
		return e.buf[:e.ends[0]]
	}
	return e.buf[e.ends[i-1]:e.ends[i]]
}

func (e *entries) contains(key []byte) bool {
	for i := range e.len() {
		if bytes.Equal(e.at(i), key) {
			return true
		}
	}
	return false
}

// maxEntries is the most keys that one document may have in one index.
const maxEntries = 100_000

// extract computes the keys of doc in ix. id is the encoded _id. A field that holds an array gives a
// key for each of its elements (and one for an empty array). Fields below the same array give a key
// for every combination, which finds all that MongoDB finds; fields in different arrays are refused.
func (e *entries) extract(ix *index, coll uint32, doc, id []byte) (multikey bool, err error) {
	e.reset()
	var few [4][]value
	columns := few[:0]
	var where []byte
	n := 1
	for i := range ix.fields {
		at := -1
		vs := collect(nil, doc, ix.fields[i].path, 0, &at)
		if at >= 0 {
			array := ix.fields[i].path[:at]
			if where != nil && !bytes.Equal(where, array) {
				return true, badValue(171, "CannotIndexParallelArrays",
					"index %q: fields %q and %q hold arrays in the same document", ix.name, where, array)
			}
			where = array
			vs = distinct(vs)
		}
		columns = append(columns, vs)
		if n *= len(vs); n > maxEntries {
			return true, badValue(67, "CannotCreateIndex", "index %q: a document has more than %d keys", ix.name, maxEntries)
		}
	}
	for row := range n {
		e.row(ix, coll, columns, row, id)
	}
	return where != nil, nil
}

// row appends combination number row of the columns' values.
func (e *entries) row(ix *index, coll uint32, columns [][]value, row int, id []byte) {
	e.buf = indexPrefix(e.buf, coll, ix.id)
	for i, c := range columns {
		e.buf = appendIndexed(e.buf, c[row%len(c)], ix.fields[i].desc)
		row /= len(c)
	}
	e.buf = append(e.buf, id...)
	e.ends = append(e.ends, len(e.buf))
}

// emptyArray stands for an array without elements inside an index.
var emptyArray = value{t: tArray}

// appendIndexed appends one column of an index key.
func appendIndexed(dst []byte, v value, desc bool) []byte {
	n := len(dst)
	if v.t == tArray && v.data == nil {
		dst = append(dst, cEmptyArray)
	} else {
		dst = appendKey(dst, v)
	}
	if desc {
		invert(dst[n:])
	}
	return dst
}

func invert(b []byte) {
	for i := range b {
		b[i] = ^b[i]
	}
}

// collect appends the values at path[off:], as an index or a sort sees them: elements of arrays one by
// one, null for what is missing. It sets at to the end of the path to the first array, if there is one.
func collect(dst []value, doc, path []byte, off int, at *int) []value {
	head, _, more := bytes.Cut(path[off:], dot)
	v, ok := lookup(doc, head)
	end := off + len(head)
	switch {
	case !ok:
		return append(dst, nullValue)
	case v.t == tArray:
		if *at < 0 {
			*at = end
		}
		return collectArray(dst, v.data, path, end, more, at)
	case !more:
		return append(dst, v)
	case v.t == tDocument:
		return collect(dst, v.data, path, end+1, at)
	}
	return append(dst, nullValue)
}

// collectArray goes on below an array whose path ends at end.
func collectArray(dst []value, array, path []byte, end int, more bool, at *int) []value {
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
		case v.t == tDocument:
			dst = collect(dst, v.data, path, end+1, at)
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

// distinct removes repeated values, so that no key is written twice.
func distinct(vs []value) []value {
	slices.SortFunc(vs, compareIndexed)
	return slices.CompactFunc(vs, func(a, b value) bool { return compareIndexed(a, b) == 0 })
}

func compareIndexed(a, b value) int {
	return bytes.Compare(appendIndexed(nil, a, false), appendIndexed(nil, b, false))
}

// idLength is the value stored with an index key.
func idLength(dst, id []byte) []byte { return binary.AppendUvarint(dst, uint64(len(id))) }

// hasPosition reports whether a part of the path is a number.
func hasPosition(path []byte) bool {
	for part := range bytes.SplitSeq(path, dot) {
		if isPosition(part) {
			return true
		}
	}
	return false
}
