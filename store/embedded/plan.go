package embedded

import (
	"bytes"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
)

// span is a range of keys, the upper end excluded.
type span struct{ lower, upper []byte }

// plan says which keys a scan visits.
type plan struct {
	index  *index // nil: the documents in the order of their _id
	span   span
	sorted bool // the visit has the order that the sort asks for
	score  int
}

// idOrder is the order in which documents are stored.
var idOrder = [][]byte{idField}

// choose returns the best way to find what f selects in the order that sort asks for: the one that
// fixes the most fields by equality, then by a range, then the one that saves a sort. Its span holds
// every document that f selects; the scan still checks each one.
func choose(c *collection, f *filter, sort []sortField) plan {
	best := planFor(docPrefix(nil, c.id), idOrder, nil, f, sort)
	for _, ix := range c.indexes {
		p := planFor(indexPrefix(nil, c.id, ix.id), ix.fields, ix, f, sort)
		if p.score > best.score {
			best = p
		}
	}
	return best
}

// planFor plans a visit in the order of fields.
func planFor(prefix []byte, fields [][]byte, ix *index, f *filter, sort []sortField) plan {
	p := plan{index: ix}
	multikey := ix != nil && ix.multikey.Load()
	fixed := 0
	for ; fixed < len(fields); fixed++ {
		arg, ok := f.fixes(fields[fixed])
		if !ok {
			break
		}
		prefix = appendIndexed(prefix, arg)
		p.score += 16
	}
	p.span = prefixSpan(prefix)
	if fixed < len(fields) {
		ends := p.narrow(prefix, fields[fixed], f, multikey)
		p.score += [...]int{0, 4, 6}[ends]
	}
	p.sorted = len(sort) == 0 || !multikey && followsOrder(fields, fixed, sort)
	if p.sorted && len(sort) > 0 {
		p.score += 2
	}
	if ix == nil {
		p.score++ // with nothing else between them the documents themselves are the shorter way
	}
	return p
}

func prefixSpan(prefix []byte) span {
	return span{lower: prefix, upper: successor(bytes.Clone(prefix))}
}

// fixes returns the value that the filter demands at path, if a key range can express it. Arrays
// cannot: they match as a whole and by element.
func (f *filter) fixes(path []byte) (value, bool) {
	for i := range f.preds {
		p := &f.preds[i]
		if p.op == opEq && bytes.Equal(p.path, path) && p.arg.t != rawbson.Array {
			return p.arg, true
		}
	}
	return value{}, false
}

// narrow bounds the span by the comparisons of the first field that is not fixed by equality, and counts
// the ends that it set. An end that no comparison sets is the border of the class of the other end. Of an
// index with arrays only one end may be used: the other may be met by another element.
func (p *plan) narrow(prefix, path []byte, f *filter, multikey bool) (ends int) {
	var low, high bool
	for i := range f.preds {
		pr := &f.preds[i]
		if pr.op == opEq || !bytes.Equal(pr.path, path) || !bracketed(pr.arg) {
			continue
		}
		key := appendKey(bytes.Clone(prefix), pr.arg)
		class := bytes.Clone(key[:len(prefix)+1])
		switch {
		case pr.op == opGte && !low:
			p.span.lower, low = key, true
			if !high {
				p.span.upper = successor(class)
			}
			ends++
		case pr.op == opLt && !high:
			p.span.upper, high = key, true
			if !low {
				p.span.lower = class
			}
			ends++
		}
		if multikey {
			break
		}
	}
	return ends
}

// bracketed reports whether a comparison with v stays within v's class.
func bracketed(v value) bool {
	c := v.class()
	return c != cMinKey && c != cMaxKey && c != cArray && c != cNull
}

// followsOrder reports whether visiting the fields in order gives the sort. The first fixed fields have
// one value only, so they do not matter.
func followsOrder(fields [][]byte, fixed int, sort []sortField) bool {
	at := fixed
	for _, s := range sort {
		switch {
		case isFixed(fields[:fixed], s.path):
			continue
		case at == len(fields):
			return bytes.Equal(fields[at-1], idField) // after the unique _id nothing is left to order
		case s.desc || !bytes.Equal(fields[at], s.path):
			return false
		}
		at++
	}
	return true
}

func isFixed(fields [][]byte, path []byte) bool {
	for _, f := range fields {
		if bytes.Equal(f, path) {
			return true
		}
	}
	return false
}
