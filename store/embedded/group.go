package embedded

import (
	"bytes"
	"math"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
)

// operand is a field of the document or a constant.
type operand struct {
	path  []byte // nil: the constant
	konst value
}

// identity is the _id of a $group: an operand, or a document of operands.
type identity struct {
	operand
	names  [][]byte // nil: the operand
	fields []operand
	doc    []byte
}

func compileIdentity(v value) (id identity, err error) {
	if v.t != rawbson.Document || isOperators(v.data) {
		id.operand, err = compileOperand(v)
		return id, err
	}
	if isEmpty(v.data) {
		return identity{operand: operand{konst: v}}, nil
	}
	it := walk(v.data)
	for {
		name, v, ok := it.next()
		if !ok {
			return id, nil
		}
		if bytes.IndexByte(name, '.') >= 0 {
			return id, badValue(16412, "Location16412", "the field %q of the _id of a $group cannot have a dot", name)
		}
		if v.isNumber() || v.t == rawbson.Bool {
			return id, badValue(17390, "Location17390", "the field %q of the _id of a $group is a number or a boolean", name)
		}
		of, err := compileOperand(v)
		if err != nil {
			return id, err
		}
		id.names, id.fields = append(id.names, name), append(id.fields, of)
	}
}

// of returns the _id of a document, which is valid until the next call. A document of several operands leaves out
// missing fields.
func (id *identity) of(doc []byte) (v value, ok bool, err error) {
	if id.names == nil {
		return id.operand.of(doc)
	}
	out, start := rawbson.Open(id.doc[:0])
	for i := range id.fields {
		v, ok, err := id.fields[i].of(doc)
		if err != nil {
			return v, false, err
		}
		switch {
		case ok:
			out = appendElem(out, id.names[i], v)
		case len(id.fields) == 1: // as on a server
			out = appendElem(out, id.names[i], nullValue)
		}
	}
	id.doc = rawbson.Close(out, start)
	return value{t: rawbson.Document, data: id.doc}, true, nil
}

// constant reports whether no field of a document is read.
func (id *identity) constant() bool { return id.names == nil && id.path == nil }

func compileOperand(v value) (operand, error) {
	if v.t == rawbson.Document || v.t == rawbson.Array {
		it := walk(v.data)
		name, _, _ := it.next()
		return operand{}, unsupported("a computed expression (" + string(name) + ")")
	}
	if v.t != rawbson.String || len(v.text()) == 0 || v.text()[0] != '$' {
		return operand{konst: v}, nil
	}
	path := v.text()[1:]
	switch {
	case len(path) == 0 || path[0] == '$':
		return operand{}, unsupported("the variable " + string(v.text()))
	case hasPosition(path):
		return operand{}, unsupported("a group by array position (" + string(path) + ")")
	}
	return operand{path: path}, nil
}

// of returns the operand's value in a document. ok is false if the field is missing.
func (o *operand) of(doc []byte) (v value, ok bool, err error) {
	if o.path == nil {
		return o.konst, true, nil
	}
	path, more := o.path, true
	for more {
		var head []byte
		head, path, more = bytes.Cut(path, dot)
		v, ok = lookup(doc, head)
		switch {
		case !ok || !more:
			return v, ok, nil
		case v.t == rawbson.Array: // which has no single value below it
			return value{}, false, unsupported("the path " + string(o.path) + " through an array")
		case v.t != rawbson.Document:
			return value{}, false, nil
		}
		doc = v.data
	}
	return v, ok, nil
}

type accumulator struct {
	name []byte
	avg  bool // $avg, otherwise $sum
	arg  operand
}

// grouping is a compiled $group with its groups.
type grouping struct {
	id     identity
	accs   []accumulator
	groups map[string]*group
	order  []*group // by their first document
	held   int64    // bytes of all groups, about
	key    []byte
}

type group struct {
	id   value
	sums []sum
}

// sum is the value of one accumulator: ints + floats over n numbers.
type sum struct {
	ints   int64
	floats float64
	double bool // the sum includes a double
	long   bool // the sum includes an int64
	n      int64
}

func newGrouping(doc []byte) (*grouping, error) {
	g := &grouping{groups: map[string]*group{}}
	hasID := false
	it := walk(doc)
	for {
		key, v, ok := it.next()
		if !ok {
			break
		}
		var err error
		if bytes.Equal(key, idField) {
			hasID = true
			g.id, err = compileIdentity(v)
		} else {
			err = g.accumulate(key, v)
		}
		if err != nil {
			return nil, err
		}
	}
	switch {
	case it.bad:
		return nil, malformed("the $group")
	case !hasID:
		return nil, badValue(15955, "Location15955", "$group needs an _id")
	}
	return g, nil
}

func (g *grouping) accumulate(name []byte, v value) error {
	it := walk(v.data)
	op, arg, ok := it.next()
	if v.t != rawbson.Document || !ok || len(it.rest) > 0 {
		return badValue(40234, "Location40234", "the field %q of a $group must be one accumulator", name)
	}
	if string(op) != "$sum" && string(op) != "$avg" {
		return unsupported("the accumulator " + string(op))
	}
	of, err := compileOperand(arg)
	g.accs = append(g.accs, accumulator{name: name, avg: string(op) == "$avg", arg: of})
	return err
}

// constant reports whether the grouping reads no field of a document.
func (g *grouping) constant() bool {
	for i := range g.accs {
		if g.accs[i].arg.path != nil {
			return false
		}
	}
	return g.id.constant()
}

// add is the [visitor] of a scan.
func (g *grouping) add(doc []byte) (more bool, err error) {
	id, ok, err := g.id.of(doc)
	if err != nil {
		return false, err
	}
	if !ok {
		id = nullValue
	}
	g.key = appendKey(g.key[:0], id)
	gr := g.groups[string(g.key)]
	if gr == nil {
		gr = &group{id: id.clone(), sums: make([]sum, len(g.accs))}
		g.groups[string(g.key)] = gr
		g.order = append(g.order, gr)
		g.held += int64(len(g.key)+len(id.data)) + 128*int64(1+len(g.accs))
	}
	for i := range g.accs {
		v, ok, err := g.accs[i].arg.of(doc)
		if ok {
			err = gr.sums[i].add(v)
		}
		if err != nil {
			return false, err
		}
	}
	if g.held > sortBytes {
		return false, badValue(292, "QueryExceededMemoryLimitNoDiskUseAllowed",
			"the groups need more than %d MiB of memory: narrow the $match, or group by fewer values", sortBytes>>20)
	}
	return true, nil
}

// add adds one value and ignores values that are not numbers.
func (a *sum) add(v value) error {
	if v.t == rawbson.Decimal {
		return unsupported("a sum of decimals")
	}
	if !v.isNumber() {
		return nil
	}
	a.n++
	i, ok := v.integer()
	if !ok {
		a.double = true
		a.floats += v.double()
		return nil
	}
	a.long = a.long || v.t == rawbson.Int64
	total := a.ints + i
	if (total > a.ints) != (i > 0) && i != 0 { // beyond 64 bits the server continues with doubles
		a.double = true
		a.floats += float64(a.ints)
		total = i
	}
	a.ints = total
	return nil
}

// result returns the accumulator's value. As on a server, a sum of int32 is an int32 if it fits, and an average is a
// double.
func (a *sum) result(avg bool) value {
	switch {
	case avg && a.n == 0:
		return nullValue
	case avg:
		return doubleValue((a.floats + float64(a.ints)) / float64(a.n))
	case a.double:
		return doubleValue(a.floats + float64(a.ints))
	case a.long || a.ints > math.MaxInt32 || a.ints < math.MinInt32:
		return int64Value(a.ints)
	}
	return int32Value(int32(a.ints))
}

// docs returns the document of every group.
func (g *grouping) docs() [][]byte {
	docs := make([][]byte, len(g.order))
	for n, gr := range g.order {
		out, start := rawbson.Open(nil)
		out = appendElem(out, idField, gr.id)
		for i := range g.accs {
			out = appendElem(out, g.accs[i].name, gr.sums[i].result(g.accs[i].avg))
		}
		docs[n] = rawbson.Close(out, start)
	}
	return docs
}
