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
		if !v.isNumber() || (v.float() != 1 && v.float() != -1) {
			return nil, unsupported("sorting " + string(path) + " by anything but 1 or -1")
		}
		fields = append(fields, sortField{path: path, desc: v.float() < 0})
	}
	if it.bad {
		return nil, malformed("the sort")
	}
	return fields, nil
}

// span is a range of keys, the upper end excluded.
type span struct{ lower, upper []byte }

// plan says which keys a scan visits and in which order.
type plan struct {
	index   *index // nil: the documents in the order of their _id
	spans   []span // in the order of their keys
	reverse bool
	sorted  bool // the visit has the order that the sort asks for
	score   int
}

// idOrder is the order in which documents are stored.
var idOrder = []indexField{{path: idField}}

// choose returns the best way to find what f selects in the order that sort asks for: the one that
// fixes the most fields by equality, then by a range, then the one that saves a sort. Its spans hold
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
func planFor(prefix []byte, fields []indexField, ix *index, f *filter, sort []sortField) plan {
	p := plan{index: ix}
	multikey := ix != nil && ix.multikey.Load()
	fixed := 0
	for fixed < len(fields) {
		arg, ok := f.fixes(fields[fixed].path)
		if !ok {
			break
		}
		prefix = appendIndexed(prefix, arg, fields[fixed].desc)
		fixed++
		p.score += 16
	}
	if fixed < len(fields) {
		p.narrow(prefix, fields[fixed], f, multikey)
	} else {
		p.spans = []span{prefixSpan(prefix)}
	}
	p.sorted, p.reverse = followsOrder(fields, fixed, sort)
	p.sorted = p.sorted && (!multikey || len(sort) == 0)
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
		if p.op == opEq && bytes.Equal(p.path, path) && p.arg.t != tArray {
			return p.arg, true
		}
	}
	return value{}, false
}

// narrow sets the spans for the first field that is not fixed by equality.
func (p *plan) narrow(prefix []byte, field indexField, f *filter, multikey bool) {
	for i := range f.preds {
		if pr := &f.preds[i]; pr.op == opIn && bytes.Equal(pr.path, field.path) && pr.indexable() {
			p.spans = inSpans(prefix, field, pr.list)
			p.score += 8
			return
		}
	}
	r, bounds := rangeOf(field.path, f, multikey)
	p.score += [...]int{0, 4, 6}[min(bounds, 2)]
	p.spans = []span{r.span(prefix, field.desc)}
}

func (p *predicate) indexable() bool {
	for _, v := range p.list {
		if v.t == tArray {
			return false
		}
	}
	return true
}

// inSpans makes one span for every value of an $in, in the order of the keys.
func inSpans(prefix []byte, field indexField, list []value) []span {
	var spans []span
	for _, v := range list {
		spans = append(spans, prefixSpan(appendIndexed(bytes.Clone(prefix), v, field.desc)))
	}
	slices.SortFunc(spans, func(a, b span) int { return bytes.Compare(a.lower, b.lower) })
	return slices.CompactFunc(spans, func(a, b span) bool { return bytes.Equal(a.lower, b.lower) })
}

// interval is a range of encoded values; nil ends are open.
type interval struct {
	low, high         []byte
	lowOpen, highOpen bool // the end itself is not part of it
}

// rangeOf joins the conditions on path into one interval and counts the ends that it has. Of an index
// with arrays only one end may be used: the other may be met by another element.
func rangeOf(path []byte, f *filter, multikey bool) (interval, int) {
	var r interval
	ends := 0
	for i := range f.preds {
		p := &f.preds[i]
		if p.op == opEq || p.op == opIn || !bytes.Equal(p.path, path) || !bracketed(p.arg) {
			continue
		}
		if r.add(p) {
			ends++
		}
		if multikey {
			break
		}
	}
	return r, ends
}

// bracketed reports whether a comparison with v stays within v's class.
func bracketed(v value) bool {
	c := v.class()
	return c != cMinKey && c != cMaxKey && c != cArray && c != cNull
}

// add narrows the interval by one comparison, and reports whether it set a new end. The first
// comparison also closes the other end at the border of the value's class.
func (r *interval) add(p *predicate) bool {
	key := appendKey(nil, p.arg)
	fresh := false
	if p.op == opGt || p.op == opGte {
		fresh = len(r.low) <= 1
		if bytes.Compare(key, r.low) >= 0 {
			r.lowOpen = p.op == opGt || (r.lowOpen && bytes.Equal(key, r.low))
			r.low = key
		}
		if r.high == nil {
			r.high = key[:1:1]
		}
		return fresh
	}
	fresh = len(r.high) <= 1
	if fresh || bytes.Compare(key, r.high) <= 0 {
		r.highOpen = p.op == opLt || (r.highOpen && bytes.Equal(key, r.high))
		r.high = key
	}
	if r.low == nil {
		r.low = key[:1:1]
	}
	return fresh
}

// span turns the interval into a range of keys that begin with prefix.
func (r interval) span(prefix []byte, desc bool) span {
	if desc {
		low, lowOpen := r.low, r.lowOpen
		r.low, r.lowOpen = inverted(r.high), r.highOpen
		r.high, r.highOpen = inverted(low), lowOpen
	}
	lower := append(bytes.Clone(prefix), r.low...)
	if r.lowOpen {
		lower = successor(lower)
	}
	upper := append(bytes.Clone(prefix), r.high...)
	if !r.highOpen {
		upper = successor(upper)
	}
	return span{lower: lower, upper: upper}
}

func inverted(b []byte) []byte {
	out := bytes.Clone(b)
	invert(out)
	return out
}

// followsOrder reports whether visiting the fields in order, or in reverse, gives the sort. The first
// fixed fields have one value only, so they do not matter.
func followsOrder(fields []indexField, fixed int, sort []sortField) (ok, reverse bool) {
	at := fixed
	for _, s := range sort {
		if isFixed(fields[:fixed], s.path) {
			continue
		}
		if at == len(fields) {
			return bytes.Equal(fields[at-1].path, idField), reverse // after the unique _id nothing is left to order
		}
		if !bytes.Equal(fields[at].path, s.path) {
			return false, false
		}
		flip := fields[at].desc != s.desc
		if at > fixed && flip != reverse {
			return false, false
		}
		reverse = flip
		at++
	}
	return true, reverse
}

func isFixed(fields []indexField, path []byte) bool {
	for _, f := range fields {
		if bytes.Equal(f.path, path) {
			return true
		}
	}
	return false
}
