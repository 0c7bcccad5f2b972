package embedded

import (
	"bytes"
	"fmt"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
)

type operator uint8

const (
	opEq operator = iota
	opGte
	opLt
	opGt
	opLte
	opIn // one of the elements of the argument
	opNe
)

var operators = map[string]operator{"$eq": opEq, "$gte": opGte, "$lt": opLt, "$gt": opGt, "$lte": opLte, "$in": opIn, "$ne": opNe}

// compares reports whether an operator gives one end of a range.
func (o operator) compares() bool { return o == opGte || o == opLt || o == opGt || o == opLte }

// predicate is one condition on one dotted path. A document must satisfy all predicates of a filter.
type predicate struct {
	path []byte
	op   operator
	arg  value
}

// filter is a compiled query filter. It points into the request.
type filter struct {
	preds []predicate
}

// compile reads a query filter and reuses the memory of the last one.
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

func (f *filter) field(key []byte, v value) error {
	switch {
	case len(key) > 0 && key[0] == '$':
		return unsupported("the query operator " + string(key))
	case hasPosition(key):
		return unsupported("a filter by array position (" + string(key) + ")")
	case v.t != rawbson.Document || !isOperators(v.data):
		return f.add(key, opEq, v)
	}
	it := walk(v.data)
	for {
		name, arg, ok := it.next()
		if !ok {
			break
		}
		op, ok := operators[string(name)]
		if !ok {
			return unsupported("the query operator " + string(name))
		}
		if err := f.add(key, op, arg); err != nil {
			return err
		}
	}
	if it.bad {
		return malformed("the filter")
	}
	return nil
}

func (f *filter) add(path []byte, op operator, arg value) error {
	list := op == opIn
	if list && arg.t != rawbson.Array {
		return badValue(2, "BadValue", "$in needs an array")
	}
	if arg.class() == cOther || list && anyElement(arg.data, func(e value) bool { return e.class() == cOther }) {
		return unsupported(fmt.Sprintf("a filter of %q by a BSON type without an order (0x%02X)", path, arg.t))
	}
	f.preds = append(f.preds, predicate{path: path, op: op, arg: arg})
	return nil
}

// isOperators reports whether a document is {$op: …} and not a value.
func isOperators(doc []byte) bool {
	it := walk(doc)
	key, _, ok := it.next()
	return ok && len(key) > 0 && key[0] == '$'
}

func (f *filter) match(doc []byte) bool {
	for i := range f.preds {
		p := &f.preds[i]
		if p.matchPath(doc, p.path) == (p.op == opNe) { // no element may be equal
			return false
		}
	}
	return true
}

// matchPath follows the path through a document. A missing field is null.
func (p *predicate) matchPath(doc, path []byte) bool {
	head, tail, more := bytes.Cut(path, dot)
	v, ok := lookup(doc, head)
	switch {
	case ok && !more:
		return p.matchField(v)
	case ok && v.t == rawbson.Document:
		return p.matchPath(v.data, tail)
	case ok && v.t == rawbson.Array:
		return anyElement(v.data, func(e value) bool { return e.t == rawbson.Document && p.matchPath(e.data, tail) })
	}
	return p.matchValue(nullValue)
}

// matchField compares the value at the end of a path. An array matches if one of its elements does.
func (p *predicate) matchField(v value) bool {
	return p.matchValue(v) || v.t == rawbson.Array && anyElement(v.data, p.matchValue)
}

func anyElement(array []byte, match func(value) bool) bool {
	it := walk(array)
	for {
		_, e, ok := it.next()
		if !ok {
			return false
		}
		if match(e) {
			return true
		}
	}
}

// matchValue compares within one class only: {$lt: 5} never matches a string. NaN equals itself and is neither less nor
// greater than any number.
func (p *predicate) matchValue(v value) bool {
	if p.op == opIn {
		return anyElement(p.arg.data, func(e value) bool { return v.isNaN() == e.isNaN() && equal(v, e) })
	}
	if v.class() != p.arg.class() || v.isNaN() != p.arg.isNaN() {
		return false
	}
	c := compare(v, p.arg)
	switch p.op {
	case opGte:
		return c >= 0
	case opLt:
		return c < 0
	case opGt:
		return c > 0
	case opLte:
		return c <= 0
	}
	return c == 0
}

func equal(a, b value) bool { return a.class() == b.class() && compare(a, b) == 0 }

var dot = []byte{'.'}

// hasPosition reports whether a part of the path after the first one is a number. In an array that is the position of
// an element, which the engine does not support.
func hasPosition(path []byte) bool {
	_, path, more := bytes.Cut(path, dot)
	for more {
		var part []byte
		part, path, more = bytes.Cut(path, dot)
		if len(part) > 0 && len(bytes.Trim(part, "0123456789")) == 0 {
			return true
		}
	}
	return false
}
