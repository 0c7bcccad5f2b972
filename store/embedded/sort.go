package embedded

import (
	"bytes"
	"slices"
)

// sortField is one field of a sort.
type sortField struct {
	path []byte
	desc bool
}

// compileSort reads a sort document, appending to fields.
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

// sorter orders documents in memory. With a limit it keeps little more than the limit.
type sorter struct {
	fields []sortField
	limit  int64 // 0: all
	rows   []row
	held   int64
}

type row struct{ key, doc []byte }

// add takes a copy of doc.
func (s *sorter) add(doc []byte) error {
	r := row{key: sortKey(nil, doc, s.fields), doc: bytes.Clone(doc)}
	s.rows = append(s.rows, r)
	s.held += int64(len(r.key) + len(r.doc))
	if s.limit > 0 && int64(len(s.rows)) >= 2*s.limit+64 {
		s.trim()
	}
	if s.held > sortBytes {
		return badValue(292, "QueryExceededMemoryLimitNoDiskUseAllowed",
			"the sort holds more than %d MiB in memory; add an index that gives this order, or a limit", sortBytes>>20)
	}
	return nil
}

// trim sorts the rows and drops those behind the limit.
func (s *sorter) trim() {
	slices.SortStableFunc(s.rows, func(a, b row) int { return bytes.Compare(a.key, b.key) })
	if s.limit == 0 || int64(len(s.rows)) <= s.limit {
		return
	}
	for _, r := range s.rows[s.limit:] {
		s.held -= int64(len(r.key) + len(r.doc))
	}
	clear(s.rows[s.limit:])
	s.rows = s.rows[:s.limit]
}

// sortKey appends the place of doc in the order of fields. An array sorts by its smallest element, in
// descending order by its greatest.
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
