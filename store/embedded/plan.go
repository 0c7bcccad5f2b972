package embedded

import (
	"bytes"
	"slices"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
)

// span is a range of keys without its upper end.
type span struct{ lower, upper []byte }

// plan has the keys that a scan visits.
type plan struct {
	index   *index // nil: the documents in the order of their _id
	span    span
	score   int
	reverse bool // from the end of the span
}

// order is an order of keys.
type order struct {
	fields [][]byte
	desc   []bool
}

// idOrder is the order in which documents are stored.
var idOrder = order{[][]byte{idField}, []bool{false}}

// choose returns the best plan that has the order of sort: the one that fixes the most fields by equality, then by a
// range. Its span includes every document that f selects; the scan still checks each one. ok is false if neither _id
// nor an index has the order.
func choose(c *collection, f *filter, sort []sortField) (best plan, ok bool) {
	best, ok = planFor(docPrefix(nil, c.id), idOrder, nil, f, sort)
	for _, ix := range c.indexes {
		if ix.partial != nil && !f.implies(ix.partial) {
			continue
		}
		p, sorted := planFor(indexPrefix(nil, c.id, ix.id), order{ix.fields, ix.desc}, ix, f, sort)
		if sorted && (!ok || p.score > best.score) {
			best, ok = p, true
		}
	}
	return best, ok
}

// planFor plans a visit in an order of keys, and reports whether that, forwards or backwards, has the order of sort.
func planFor(prefix []byte, of order, ix *index, f *filter, sort []sortField) (p plan, sorted bool) {
	p.index = ix
	multikey := ix != nil && ix.multikey.Load()
	fixed := 0
	for ; fixed < len(of.fields); fixed++ {
		arg, ok := f.fixes(of.fields[fixed])
		if !ok {
			break
		}
		prefix = appendColumn(prefix, arg, of.desc[fixed])
		p.score += 16
	}
	p.span = prefixSpan(prefix)
	if fixed < len(of.fields) {
		ends := p.narrow(prefix, of.fields[fixed], of.desc[fixed], f, multikey)
		p.score += [...]int{0, 4, 6}[ends]
	}
	if ix == nil {
		p.score++ // no index is faster than an index of the same score
	}
	if len(sort) == 0 {
		return p, true
	}
	p.reverse, sorted = of.follows(fixed, sort)
	return p, sorted && !multikey
}

// implies reports whether each document that f selects is also selected by other, as far as predicates on the same path
// show it. A predicate other than $ne asks whether one of the values at its path satisfies it.
func (f *filter) implies(other *filter) bool {
	for i := range other.preds {
		o := &other.preds[i]
		if !slices.ContainsFunc(f.preds, func(p predicate) bool { return bytes.Equal(p.path, o.path) && p.implies(o) }) {
			return false
		}
	}
	return true
}

func (p *predicate) implies(o *predicate) bool {
	switch {
	case p.op == opNe:
		return false
	case p.op == opIn:
		return !anyElement(p.arg.data, func(e value) bool { return !o.matchValue(e) })
	case p.op == opEq:
		return o.matchValue(p.arg)
	case !o.op.compares() || o.above() != p.above() || p.arg.class() != o.arg.class() || p.arg.isNaN() || o.arg.isNaN():
		return false
	}
	c := compare(p.arg, o.arg)
	if !p.above() {
		c = -c
	}
	return c > 0 || c == 0 && (p.op == opGt || p.op == opLt || o.op == opGte || o.op == opLte)
}

func (p *predicate) above() bool { return p.op == opGt || p.op == opGte }

func prefixSpan(prefix []byte) span {
	return span{lower: prefix, upper: successor(bytes.Clone(prefix))}
}

// fixes returns the value that the filter requires at path, if a key range can express it. A range cannot express an
// array, which also matches as an element.
func (f *filter) fixes(path []byte) (value, bool) {
	for i := range f.preds {
		p := &f.preds[i]
		if p.op == opEq && bytes.Equal(p.path, path) && p.arg.t != rawbson.Array {
			return p.arg, true
		}
	}
	return value{}, false
}

// narrow bounds the span by the comparisons of the first field that is not fixed by equality, and counts the ends that
// it sets. If no comparison sets an end, it is the border of the class of the other end. In an index with arrays only
// one end may be set, because another element may satisfy the other comparison. The span may include the documents at
// its ends, which the scan checks.
func (p *plan) narrow(prefix, path []byte, desc bool, f *filter, multikey bool) (ends int) {
	var low, high bool // ends of the span
	for i := range f.preds {
		pr := &f.preds[i]
		if !pr.op.compares() || !bytes.Equal(pr.path, path) || !bracketed(pr.arg) {
			continue
		}
		key := appendColumn(bytes.Clone(prefix), pr.arg, desc)
		class := bytes.Clone(key[:len(prefix)+1])
		above := pr.op == opGte || pr.op == opGt
		switch {
		case above != desc && !low:
			p.span.lower, low = key, true
			if !high {
				p.span.upper = successor(class)
			}
			ends++
		case above == desc && !high:
			p.span.upper, high = successor(key), true
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

// bracketed reports whether the keys that compare with v are those of v's class.
func bracketed(v value) bool {
	c := v.class()
	return c != cArray && c != cNull
}

// follows reports whether a visit in this order, or backwards, has the order of sort. The first fixed fields have only
// one value each, so their place in the sort does not matter.
func (o order) follows(fixed int, sort []sortField) (reverse, ok bool) {
	at, directed := fixed, false
	for _, s := range sort {
		switch {
		case slices.ContainsFunc(o.fields[:fixed], func(f []byte) bool { return bytes.Equal(f, s.path) }):
			continue
		case at == len(o.fields): // _id is unique, so later fields of the sort do not matter
			return reverse, bytes.Equal(o.fields[at-1], idField)
		case !bytes.Equal(o.fields[at], s.path), directed && (s.desc != o.desc[at]) != reverse:
			return false, false
		}
		reverse, directed = s.desc != o.desc[at], true
		at++
	}
	return reverse, true
}
