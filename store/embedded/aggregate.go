package embedded

import (
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// stageOrder has the stages of a pipeline. Each may occur once, in this order; $group must.
var stageOrder = []string{"$match", "$group", "$sort", "$limit"}

// pipeline is a compiled aggregation. Its $match is the session's filter.
type pipeline struct {
	group *grouping
	sorts []sortField
	limit int64 // 0: all
}

// aggregate answers a pipeline. Its $match uses the indexes.
func (s *session) aggregate(deadline time.Time, req *workload.Request, res *store.Result) error {
	var p pipeline
	if err := s.compilePipeline(&p, req.Pipeline); err != nil {
		return err
	}
	if c := s.st.lookup(req.Collection); c != nil {
		best, _ := choose(c, &s.filter, nil)
		sc := &scan{
			st: s.st, coll: c, filter: &s.filter, deadline: deadline, plan: best, keysOnly: p.group.constant(),
		}
		if err := sc.run(p.group.add); err != nil {
			return err
		}
	}
	docs := p.group.docs()
	sortDocs(docs, p.sorts)
	if p.limit > 0 {
		docs = docs[:min(p.limit, int64(len(docs)))]
	}
	s.proj.some = false
	for _, doc := range docs {
		s.emit(doc, res)
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
	switch {
	case it.bad:
		return malformed("the pipeline")
	case p.group == nil:
		return unsupported("a pipeline without $group")
	}
	return nil
}

func (s *session) compileStage(p *pipeline, name string, arg value) (err error) {
	if name == "$limit" {
		n, ok := arg.integer()
		if !ok || n < 1 {
			return badValue(15958, "Location15958", "$limit needs a positive whole number")
		}
		p.limit = n
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
