package embedded

import (
	"bytes"
	"strconv"
	"time"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// stage is one step of a pipeline. Documents are pushed through; flush ends the input.
type stage interface {
	// push takes a document, valid until it returns, and says whether more are wanted.
	push(doc []byte) (more bool, err error)
	// flush passes on what the stage held back.
	flush() error
	// needsDocs is false if neither this stage nor any behind it looks into the documents.
	needsDocs() bool
}

// aggregate answers a pipeline. A $match at its beginning uses the indexes.
func (s *session) aggregate(deadline time.Time, req *workload.Request, res *store.Result) error {
	stages, err := splitPipeline(req.Pipeline)
	if err != nil {
		return err
	}
	if err := s.filter.compile(nil); err != nil {
		return err
	}
	for len(stages) > 0 && stages[0].name == "$match" { // several in a row are one
		if err := s.filter.merge(stages[0].arg); err != nil {
			return err
		}
		stages = stages[1:]
	}
	var sorts []sortField
	sc := &scan{st: s.st, filter: &s.filter, deadline: deadline}
	if sc.coll = s.st.lookup(req.Collection); sc.coll != nil {
		if sorts, err = leadingSort(stages); err != nil {
			return err
		}
		sc.plan = choose(sc.coll, &s.filter, sorts)
		if len(sorts) > 0 && sc.plan.sorted {
			stages = stages[1:] // the index gives the order
		}
	}
	s.proj = projection{none: true, paths: s.proj.paths}
	head, err := s.build(stages, res)
	if err != nil {
		return err
	}
	return s.runPipeline(sc, head, req, res)
}

func (s *session) runPipeline(sc *scan, head stage, req *workload.Request, res *store.Result) error {
	if sc.coll != nil {
		sc.keysOnly = !head.needsDocs()
		if err := sc.run(head.push); err != nil {
			return err
		}
	}
	if err := head.flush(); err != nil {
		return err
	}
	notFound(req, res)
	return nil
}

// rawStage is a stage as it was sent.
type rawStage struct {
	name string
	arg  value
}

// splitPipeline reads the array of stages.
func splitPipeline(pipeline []byte) ([]rawStage, error) {
	var out []rawStage
	it := walk(pipeline)
	for {
		_, v, ok := it.next()
		if !ok {
			break
		}
		inner := walk(v.data)
		name, arg, ok := inner.next()
		if v.t != tDocument || !ok || len(inner.rest) > 0 {
			return nil, badValue(40323, "Location40323", "a pipeline stage must be a document with one field")
		}
		out = append(out, rawStage{name: string(name), arg: arg})
	}
	if it.bad {
		return nil, malformed("the pipeline")
	}
	return out, nil
}

// merge adds the conditions of a $match.
func (f *filter) merge(arg value) error {
	if arg.t != tDocument {
		return badValue(15959, "Location15959", "$match needs a document")
	}
	var part filter
	if err := part.compile(arg.data); err != nil {
		return err
	}
	f.preds = append(f.preds, part.preds...)
	return nil
}

// leadingSort returns the fields of a $sort at the beginning.
func leadingSort(stages []rawStage) ([]sortField, error) {
	if len(stages) == 0 || stages[0].name != "$sort" {
		return nil, nil
	}
	return sortArg(stages[0].arg)
}

func sortArg(arg value) ([]sortField, error) {
	if arg.t != tDocument || isEmpty(arg.data) {
		return nil, badValue(15976, "Location15976", "$sort needs a document with at least one field")
	}
	return compileSort(nil, arg.data)
}

// build links the stages from the last to the first; the end counts the answer.
func (s *session) build(stages []rawStage, res *store.Result) (stage, error) {
	var next stage = &answer{s: s, res: res}
	for i := len(stages) - 1; i >= 0; i-- {
		var limit int64
		if i+1 < len(stages) && stages[i+1].name == "$limit" {
			limit, _ = count(stages[i+1].arg)
		}
		st, err := s.newStage(stages[i], limit, next)
		if err != nil {
			return nil, err
		}
		next = st
	}
	return next, nil
}

// newStage makes one stage. limit is that of a $limit right behind it, 0 for none.
func (s *session) newStage(raw rawStage, limit int64, next stage) (stage, error) {
	switch raw.name {
	case "$match":
		m := &matchStage{next: next}
		return m, m.f.merge(raw.arg)
	case "$sort":
		fields, err := sortArg(raw.arg)
		return &sortStage{sorter: sorter{fields: fields, limit: limit, cap: s.st.opts.SortBytes}, next: next}, err
	case "$skip", "$limit":
		n, ok := count(raw.arg)
		if !ok || (raw.name == "$limit" && n == 0) {
			return nil, badValue(15958, "Location15958", "%s needs a positive whole number", raw.name)
		}
		if raw.name == "$skip" {
			return &skipStage{n: n, next: next}, nil
		}
		return &limitStage{n: n, next: next}, nil
	case "$unwind":
		return newUnwind(raw.arg, next)
	case "$group":
		return newGroup(raw.arg, s.st.opts.SortBytes, next)
	}
	return nil, unsupported("the pipeline stage " + raw.name)
}

// count returns a whole number ≥ 0.
func count(v value) (int64, bool) {
	if n, ok := v.integer(); ok {
		return n, n >= 0
	}
	if v.t != tDouble {
		return 0, false
	}
	f := v.double()
	return int64(f), f >= 0 && f < 1<<62 && f == float64(int64(f))
}

// answer is the end of every pipeline.
type answer struct {
	s   *session
	res *store.Result
}

func (a *answer) push(doc []byte) (bool, error) { a.s.emit(doc, a.res); return true, nil }
func (a *answer) flush() error                  { return nil }
func (a *answer) needsDocs() bool               { return true }

type matchStage struct {
	f    filter
	next stage
}

func (m *matchStage) push(doc []byte) (bool, error) {
	if !m.f.match(doc) {
		return true, nil
	}
	return m.next.push(doc)
}
func (m *matchStage) flush() error    { return m.next.flush() }
func (m *matchStage) needsDocs() bool { return true }

type skipStage struct {
	n    int64
	next stage
}

func (s *skipStage) push(doc []byte) (bool, error) {
	if s.n > 0 {
		s.n--
		return true, nil
	}
	return s.next.push(doc)
}
func (s *skipStage) flush() error    { return s.next.flush() }
func (s *skipStage) needsDocs() bool { return s.next.needsDocs() }

type limitStage struct {
	n    int64
	next stage
}

func (l *limitStage) push(doc []byte) (bool, error) {
	if l.n == 0 {
		return false, nil
	}
	l.n--
	more, err := l.next.push(doc)
	return more && l.n > 0, err
}
func (l *limitStage) flush() error    { return l.next.flush() }
func (l *limitStage) needsDocs() bool { return l.next.needsDocs() }

type sortStage struct {
	sorter
	next stage
}

func (s *sortStage) push(doc []byte) (bool, error) { return true, s.add(doc) }
func (s *sortStage) needsDocs() bool               { return true }

func (s *sortStage) flush() error {
	s.trim()
	for _, r := range s.rows {
		more, err := s.next.push(r.doc)
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	return s.next.flush()
}

// unwindStage gives one document for each element of an array.
type unwindStage struct {
	path []byte
	keep bool // documents without elements are passed on
	next stage
	buf  []byte
}

// newUnwind reads {$unwind: "$path"} or {$unwind: {path: "$path", preserveNullAndEmptyArrays: true}}.
func newUnwind(arg value, next stage) (stage, error) {
	u := &unwindStage{next: next}
	path := arg
	if arg.t == tDocument {
		it := walk(arg.data)
		for {
			key, v, ok := it.next()
			if !ok {
				break
			}
			switch string(key) {
			case "path":
				path = v
			case "preserveNullAndEmptyArrays":
				u.keep = v.t == tBool && v.data[0] == 1
			default:
				return nil, unsupported("the $unwind option " + string(key))
			}
		}
	}
	if path.t != tString || len(path.text()) < 2 || path.text()[0] != '$' || path.text()[1] == '$' {
		return nil, badValue(28818, "Location28818", "$unwind needs a field path that begins with $")
	}
	u.path = path.text()[1:]
	return u, nil
}

func (u *unwindStage) push(doc []byte) (bool, error) {
	v, ok := atPath(doc, u.path)
	empty := !ok || v.class() == cNull || (v.t == tArray && isEmpty(v.data))
	switch {
	case empty && !u.keep:
		return true, nil
	case empty, v.t != tArray:
		return u.next.push(doc)
	}
	it := walk(v.data)
	for {
		_, e, ok := it.next()
		if !ok {
			return true, nil
		}
		var err error
		set := []change{{path: u.path, arg: e}}
		if u.buf, err = rebuild(u.buf[:0], doc, set, 0, false); err != nil {
			return false, err
		}
		if more, err := u.next.push(u.buf); err != nil || !more {
			return false, err
		}
	}
}
func (u *unwindStage) flush() error    { return u.next.flush() }
func (u *unwindStage) needsDocs() bool { return true }

// atPath returns the value at a dotted path through documents. Below an array there is no single
// value, but its elements' values in an array of their own.
func atPath(doc, path []byte) (value, bool) {
	head, tail, more := bytes.Cut(path, dot)
	v, ok := lookup(doc, head)
	switch {
	case !ok || !more:
		return v, ok
	case v.t == tDocument:
		return atPath(v.data, tail)
	case v.t == tArray:
		return gather(v.data, tail), true
	}
	return value{}, false
}

func gather(array, path []byte) value {
	out, start := beginDoc(nil)
	n := 0
	it := walk(array)
	for {
		_, e, ok := it.next()
		if !ok {
			return value{t: tArray, data: endDoc(out, start)}
		}
		if e.t != tDocument {
			continue
		}
		if v, ok := atPath(e.data, path); ok {
			out = appendElem(out, strconv.AppendInt(nil, int64(n), 10), v)
			n++
		}
	}
}
