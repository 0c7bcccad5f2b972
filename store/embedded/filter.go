package embedded

import (
	"bytes"
	"strconv"
)

// operator is how a predicate compares.
type operator uint8

const (
	opEq operator = iota
	opGt
	opGte
	opLt
	opLte
	opIn
)

// predicate is one condition on one dotted path. All predicates of a filter must hold.
type predicate struct {
	path []byte
	op   operator
	arg  value   // of all but opIn
	list []value // of opIn
}

// filter is a compiled query filter. Its slices point into the request.
type filter struct {
	preds []predicate
}

// compile reads a query filter. It keeps the room of an earlier filter.
func (f *filter) compile(doc []byte) error {
	f.preds = f.preds[:0]
	if len(doc) == 0 {
		return nil
	}
	it := walk(doc)
	for {
		key, v, ok := it.next()
		if !ok {
			break
		}
		if err := f.field(key, v); err != nil {
			return err
		}
	}
	if it.bad {
		return malformed("the filter")
	}
	return nil
}

// field adds the conditions on one field of the filter.
func (f *filter) field(key []byte, v value) error {
	if string(key) == "$and" {
		return f.and(v)
	}
	if len(key) > 0 && key[0] == '$' {
		return unsupported("the query operator " + string(key))
	}
	if v.t == tRegex {
		return unsupported("matching by a regular expression (" + string(key) + ")")
	}
	if v.t != tDocument || !isOperators(v.data) {
		f.preds = append(f.preds, predicate{path: key, arg: v})
		return nil
	}
	it := walk(v.data)
	for {
		name, arg, ok := it.next()
		if !ok {
			break
		}
		p, err := compilePredicate(key, name, arg)
		if err != nil {
			return err
		}
		f.preds = append(f.preds, p)
	}
	if it.bad {
		return malformed("the filter")
	}
	return nil
}

// and adds all filters of an explicit $and.
func (f *filter) and(list value) error {
	if list.t != tArray {
		return badValue(2, "BadValue", "$and needs an array of filters")
	}
	it := walk(list.data)
	for {
		_, sub, ok := it.next()
		if !ok {
			break
		}
		if sub.t != tDocument {
			return badValue(2, "BadValue", "$and needs an array of filters")
		}
		var part filter
		if err := part.compile(sub.data); err != nil {
			return err
		}
		f.preds = append(f.preds, part.preds...)
	}
	if it.bad {
		return malformed("the filter")
	}
	return nil
}

// isOperators reports whether a document is {$op: …} and not a value to compare with.
func isOperators(doc []byte) bool {
	it := walk(doc)
	key, _, ok := it.next()
	return ok && len(key) > 0 && key[0] == '$'
}

func compilePredicate(path, name []byte, arg value) (predicate, error) {
	p := predicate{path: path, arg: arg}
	switch string(name) {
	case "$eq":
		p.op = opEq
	case "$gt":
		p.op = opGt
	case "$gte":
		p.op = opGte
	case "$lt":
		p.op = opLt
	case "$lte":
		p.op = opLte
	case "$in":
		return compileIn(p)
	default:
		return p, unsupported("the query operator " + string(name))
	}
	if arg.t == tRegex && p.op != opEq {
		return p, badValue(2, "BadValue", "%s: a regular expression cannot be compared", name)
	}
	return p, nil
}

func compileIn(p predicate) (predicate, error) {
	if p.arg.t != tArray {
		return p, badValue(2, "BadValue", "$in needs an array")
	}
	p.op = opIn
	it := walk(p.arg.data)
	for {
		_, v, ok := it.next()
		if !ok {
			break
		}
		if v.t == tRegex {
			return p, unsupported("a regular expression inside $in")
		}
		p.list = append(p.list, v)
	}
	if it.bad {
		return p, malformed("the filter")
	}
	return p, nil
}

// match reports whether doc satisfies all predicates.
func (f *filter) match(doc []byte) bool {
	for i := range f.preds {
		p := &f.preds[i]
		if !p.matchPath(doc, p.path) {
			return false
		}
	}
	return true
}

// matchPath follows the rest of the path through a document.
func (p *predicate) matchPath(doc, path []byte) bool {
	head, tail, more := bytes.Cut(path, dot)
	v, ok := lookup(doc, head)
	if !ok {
		return p.matchMissing()
	}
	if !more {
		return p.matchField(v)
	}
	switch v.t {
	case tDocument:
		return p.matchPath(v.data, tail)
	case tArray:
		return p.matchArray(v.data, tail)
	}
	return p.matchMissing()
}

// matchArray follows the path into an array: by position, and into each element that is a document.
func (p *predicate) matchArray(array, path []byte) bool {
	if isPosition(path) && p.matchPosition(array, path) {
		return true
	}
	it := walk(array)
	for {
		_, v, ok := it.next()
		if !ok {
			return false
		}
		if v.t == tDocument && p.matchPath(v.data, path) {
			return true
		}
	}
}

func (p *predicate) matchPosition(array, path []byte) bool {
	head, tail, more := bytes.Cut(path, dot)
	v, ok := lookup(array, head)
	switch {
	case !ok:
		return false
	case !more:
		return p.matchField(v)
	case v.t == tDocument:
		return p.matchPath(v.data, tail)
	case v.t == tArray:
		return p.matchArray(v.data, tail)
	}
	return false
}

// matchField compares the value at the end of a path; of an array, any element may match.
func (p *predicate) matchField(v value) bool {
	if p.matchValue(v) {
		return true
	}
	if v.t != tArray {
		return false
	}
	it := walk(v.data)
	for {
		_, e, ok := it.next()
		if !ok {
			return false
		}
		if p.matchValue(e) {
			return true
		}
	}
}

// matchMissing: a missing field counts as null.
func (p *predicate) matchMissing() bool { return p.matchValue(nullValue) }

func (p *predicate) matchValue(v value) bool {
	if p.op == opIn {
		for _, arg := range p.list {
			if equal(v, arg) {
				return true
			}
		}
		return false
	}
	return matchOne(p.op, v, p.arg)
}

// matchOne compares within one class only: {$lt: 5} never matches a string. MinKey and MaxKey compare
// with everything; NaN equals itself and is neither less nor greater than anything.
func matchOne(op operator, v, arg value) bool {
	ca := arg.class()
	if v.class() != ca && ca != cMinKey && ca != cMaxKey {
		return false
	}
	if v.isNaN() != arg.isNaN() {
		return false
	}
	c := compare(v, arg)
	switch op {
	case opGt:
		return c > 0
	case opGte:
		return c >= 0
	case opLt:
		return c < 0
	case opLte:
		return c <= 0
	}
	return c == 0
}

func equal(a, b value) bool { return a.class() == b.class() && compare(a, b) == 0 }

var dot = []byte{'.'}

// isPosition reports whether the path begins with an array position.
func isPosition(path []byte) bool {
	if len(path) == 0 || path[0] < '0' || path[0] > '9' {
		return false
	}
	head, _, _ := bytes.Cut(path, dot)
	_, err := strconv.ParseUint(string(head), 10, 31)
	return err == nil
}
