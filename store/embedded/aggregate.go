package embedded

import (
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// stageOrder are the stages of a pipeline. Each may occur once, in this order.
var stageOrder = []string{"$match", "$group", "$sort", "$limit"}

// pipeline is a compiled aggregation. Its $match is the session's filter.
type pipeline struct {
	group *grouping // nil: the documents as they are
	sorts []sortField
	limit int64 // 0: all
}

// aggregate answers a pipeline. Its $match uses the indexes.
func (s *session) aggregate(deadline time.Time, req *workload.Request, res *store.Result) error {
	var p pipeline
	if err := s.compilePipeline(&p, req.Pipeline); err != nil {
		return err
	}
	s.proj.some = false
	rows := sorter{fields: p.sorts, limit: p.limit}
	end := func(doc []byte) (more bool, err error) {
		if len(p.sorts) > 0 {
			return true, rows.add(doc)
		}
		s.emit(doc, res)
		return p.limit == 0 || int64(res.Docs) < p.limit, nil
	}
	visit := end
	if p.group != nil {
		visit = p.group.add
	}
	if c := s.st.lookup(req.Collection); c != nil {
		sc := &scan{
			st: s.st, coll: c, filter: &s.filter, deadline: deadline, plan: choose(c, &s.filter, nil),
			keysOnly: p.group != nil && p.group.constant(),
		}
		if err := sc.run(visit); err != nil {
			return err
		}
	}
	if p.group != nil {
		if err := p.group.each(end); err != nil {
			return err
		}
	}
	rows.trim()
	for _, r := range rows.rows {
		s.emit(r.doc, res)
	}
	notFound(req, res)
	return nil
}

// compilePipeline reads the array of stages.
func (s *session) compilePipeline(p *pipeline, stages []byte) error {
	if err := s.filter.compile(nil); err != nil {
		return err
	}
	next := 0
	it := walk(stages)
	for {
		_, v, ok := it.next()
		if !ok {
			break
		}
		inner := walk(v.data)
		name, arg, ok := inner.next()
		if v.t != rawbson.Document || !ok || len(inner.rest) > 0 {
			return badValue(40323, "Location40323", "a pipeline stage must be a document with one field")
		}
		at := slices.Index(stageOrder, string(name))
		switch {
		case at < 0:
			return unsupported("the pipeline stage " + string(name))
		case at < next:
			return unsupported("a pipeline with " + string(name) + " behind " + stageOrder[next-1])
		}
		next = at + 1
		if err := s.compileStage(p, string(name), arg); err != nil {
			return err
		}
	}
	if it.bad {
		return malformed("the pipeline")
	}
	return nil
}

func (s *session) compileStage(p *pipeline, name string, arg value) (err error) {
	if name == "$limit" {
		if p.limit, err = limitOf(arg); err != nil {
			return err
		}
		return nil
	}
	if arg.t != rawbson.Document {
		return badValue(2, "BadValue", "%s needs a document", name)
	}
	switch name {
	case "$match":
		return s.filter.compile(arg.data)
	case "$group":
		p.group, err = newGrouping(arg.data)
		return err
	}
	if isEmpty(arg.data) {
		return badValue(15976, "Location15976", "$sort needs at least one field")
	}
	p.sorts, err = compileSort(nil, arg.data)
	return err
}

// limitOf returns a whole number above 0.
func limitOf(v value) (int64, error) {
	n, ok := v.integer()
	if !ok && v.t == rawbson.Double && v.double() < 1<<62 {
		n = int64(v.double())
		ok = v.double() == float64(n)
	}
	if !ok || n < 1 {
		return 0, badValue(15958, "Location15958", "$limit needs a positive whole number")
	}
	return n, nil
}
