package embedded

import (
	"bytes"
	"slices"
)

type sortField struct {
	path []byte
	desc bool
}

// compileSort reads a sort document and appends to fields.
func compileSort(fields []sortField, doc []byte) ([]sortField, error) {
	if isEmpty(doc) {
		return fields, nil
	}
	it := walk(doc)
	for {
		path, v, ok := it.next()
		if !ok {
			break
		}
		switch {
		case !v.isNumber() || (v.float() != 1 && v.float() != -1):
			return nil, unsupported("sorting " + string(path) + " by anything but 1 or -1")
		case hasPosition(path):
			return nil, unsupported("sorting by array position (" + string(path) + ")")
		}
		fields = append(fields, sortField{path: path, desc: v.float() < 0})
	}
	if it.bad {
		return nil, malformed("the sort")
	}
	return fields, nil
}

// sortDocs orders documents in memory.
func sortDocs(docs [][]byte, fields []sortField) {
	type row struct{ key, doc []byte }
	rows := make([]row, len(docs))
	for i, doc := range docs {
		rows[i] = row{sortKey(nil, doc, fields), doc}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return bytes.Compare(a.key, b.key) })
	for i := range rows {
		docs[i] = rows[i].doc
	}
}

// sortKey appends the place of doc in the order of fields. An array sorts by its smallest element, in descending order
// by its greatest.
func sortKey(dst, doc []byte, fields []sortField) []byte {
	for _, f := range fields {
		var best []byte
		values, _ := collect(nil, doc, f.path)
		for _, v := range values {
			key := appendIndexed(nil, v)
			if f.desc {
				invert(key)
			}
			if best == nil || bytes.Compare(key, best) < 0 {
				best = key
			}
		}
		dst = append(dst, best...)
	}
	return dst
}

func invert(b []byte) {
	for i := range b {
		b[i] = ^b[i]
	}
}
