package embedded

import (
	"math"
)

// expression is what a $group computes from a document: a field, a constant, or a document of them.
type expression struct {
	path   []byte // of a field
	konst  value
	fields []namedExpression // of a document
	isDoc  bool
}

type namedExpression struct {
	name []byte
	expr expression
}

// compileExpression reads "$path", a constant, or a document of expressions.
func compileExpression(v value) (expression, error) {
	switch {
	case v.t == tString && len(v.text()) > 0 && v.text()[0] == '$':
		path := v.text()[1:]
		if len(path) == 0 || path[0] == '$' {
			return expression{}, unsupported("the variable " + string(v.text()))
		}
		return expression{path: path}, nil
	case v.t == tArray:
		return expression{}, unsupported("an array expression")
	case v.t != tDocument:
		return expression{konst: v}, nil
	}
	e := expression{isDoc: true}
	it := walk(v.data)
	for {
		key, sub, ok := it.next()
		if !ok {
			return e, nil
		}
		if len(key) > 0 && key[0] == '$' {
			return e, unsupported("the expression " + string(key))
		}
		inner, err := compileExpression(sub)
		if err != nil {
			return e, err
		}
		e.fields = append(e.fields, namedExpression{name: key, expr: inner})
	}
}

// eval computes the expression; false means that the field is missing.
func (e *expression) eval(doc []byte) (value, bool) {
	switch {
	case e.path != nil:
		return atPath(doc, e.path)
	case !e.isDoc:
		return e.konst, true
	}
	out, start := beginDoc(nil)
	for i := range e.fields {
		if v, ok := e.fields[i].expr.eval(doc); ok {
			out = appendElem(out, e.fields[i].name, v)
		}
	}
	return value{t: tDocument, data: endDoc(out, start)}, true
}

// constant reports whether the expression needs no document.
func (e *expression) constant() bool {
	for i := range e.fields {
		if !e.fields[i].expr.constant() {
			return false
		}
	}
	return e.path == nil
}

// accumulator is one field of a $group.
type accumulator struct {
	name []byte
	op   string
	expr expression
}

// groupStage collects documents by the value of an expression.
type groupStage struct {
	id     expression
	accs   []accumulator
	groups map[string]*group
	order  []*group // in the order of their first document
	held   int64
	cap    int64
	next   stage
	key    []byte
}

type group struct {
	id    value
	state []accState
}

// accState is the running value of one accumulator.
type accState struct {
	ints   int64
	floats float64
	double bool // a double took part in the sum
	long   bool // an int64 took part, or the sum left the range of an int32
	n      int64
	best   value
	has    bool
}

func newGroup(arg value, limit int64, next stage) (stage, error) {
	g := &groupStage{groups: map[string]*group{}, cap: limit, next: next}
	if arg.t != tDocument {
		return nil, badValue(15947, "Location15947", "$group needs a document")
	}
	hasID := false
	it := walk(arg.data)
	for {
		key, v, ok := it.next()
		if !ok {
			break
		}
		var err error
		if string(key) == "_id" {
			hasID = true
			g.id, err = compileExpression(v)
		} else {
			err = g.accumulate(key, v)
		}
		if err != nil {
			return nil, err
		}
	}
	if !hasID {
		return nil, badValue(15955, "Location15955", "$group needs an _id")
	}
	return g, nil
}

func (g *groupStage) accumulate(name []byte, v value) error {
	it := walk(v.data)
	op, arg, ok := it.next()
	if v.t != tDocument || !ok || len(it.rest) > 0 {
		return badValue(40234, "Location40234", "the field %q of a $group must be one accumulator", name)
	}
	switch string(op) {
	case "$sum", "$avg", "$min", "$max":
	default:
		return unsupported("the accumulator " + string(op))
	}
	expr, err := compileExpression(arg)
	g.accs = append(g.accs, accumulator{name: name, op: string(op), expr: expr})
	return err
}

func (g *groupStage) needsDocs() bool {
	for i := range g.accs {
		if !g.accs[i].expr.constant() {
			return true
		}
	}
	return !g.id.constant()
}

func (g *groupStage) push(doc []byte) (bool, error) {
	id, ok := g.id.eval(doc)
	if !ok {
		id = nullValue
	}
	g.key = appendKey(g.key[:0], id)
	gr := g.groups[string(g.key)]
	if gr == nil {
		gr = &group{id: id.clone(), state: make([]accState, len(g.accs))}
		g.groups[string(g.key)] = gr
		g.order = append(g.order, gr)
		g.held += int64(len(g.key)+len(id.data)) + 128*int64(1+len(g.accs))
	}
	for i := range g.accs {
		if v, ok := g.accs[i].expr.eval(doc); ok {
			gr.state[i].take(g.accs[i].op, v)
		}
	}
	if g.held > g.cap {
		return false, badValue(292, "QueryExceededMemoryLimitNoDiskUseAllowed",
			"the groups hold more than %d MiB in memory; narrow the $match or group by fewer values", g.cap>>20)
	}
	return true, nil
}

// take adds one value.
func (a *accState) take(op string, v value) {
	switch op {
	case "$sum", "$avg":
		if v.isNumber() {
			a.add(v)
		}
		return
	}
	if v.class() == cNull {
		return
	}
	c := 0
	if a.has {
		c = compare(v, a.best)
	}
	if !a.has || (op == "$min" && c < 0) || (op == "$max" && c > 0) {
		a.best, a.has = v.clone(), true
	}
}

func (a *accState) add(v value) {
	a.n++
	i, ok := v.integer()
	if !ok {
		a.double = true
		a.floats += v.float()
		return
	}
	a.long = a.long || v.t == tInt64
	sum := a.ints + i
	if (sum > a.ints) != (i > 0) && i != 0 { // beyond 64 bits the server goes on with doubles
		a.double = true
		a.floats += float64(a.ints)
		sum = i
	}
	a.ints = sum
}

// result returns the accumulator's value. Like the server's, a sum of int32 stays one while it fits,
// and an average is a double.
func (a *accState) result(op string) value {
	switch op {
	case "$sum":
		switch {
		case a.double:
			return doubleValue(a.floats + float64(a.ints))
		case a.long || a.ints > math.MaxInt32 || a.ints < math.MinInt32:
			return int64Value(a.ints)
		}
		return int32Value(int32(a.ints))
	case "$avg":
		if a.n == 0 {
			return nullValue
		}
		return doubleValue((a.floats + float64(a.ints)) / float64(a.n))
	}
	if !a.has {
		return nullValue
	}
	return a.best
}

func (g *groupStage) flush() error {
	var buf []byte
	for _, gr := range g.order {
		out, start := beginDoc(buf[:0])
		out = appendElem(out, idField, gr.id)
		for i := range g.accs {
			out = appendElem(out, g.accs[i].name, gr.state[i].result(g.accs[i].op))
		}
		buf = endDoc(out, start)
		more, err := g.next.push(buf)
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	return g.next.flush()
}
