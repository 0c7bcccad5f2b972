package embedded

import (
	"bytes"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// find reads a document by its _id directly and scans for everything else.
func (s *session) find(deadline time.Time, req *workload.Request, res *store.Result) error {
	if err := s.filter.compile(req.Filter); err != nil {
		return err
	}
	if err := s.proj.compile(req.Projection); err != nil {
		return err
	}
	var err error
	if s.sorts, err = compileSort(s.sorts[:0], req.Sort); err != nil {
		return err
	}
	if req.Skip < 0 || req.Limit < 0 {
		return badValue(51024, "Location51024", "skip and limit cannot be negative")
	}
	c := s.st.lookup(req.Collection)
	if c != nil {
		if err := s.findIn(c, deadline, req, res); err != nil {
			return err
		}
	}
	notFound(req, res)
	return nil
}

// notFound sets the outcome of an empty result if the workload expected a document.
func notFound(req *workload.Request, res *store.Result) {
	if res.Docs == 0 && !req.MayBeEmpty {
		res.Outcome = store.NotFound
	}
}

func (s *session) findIn(c *collection, deadline time.Time, req *workload.Request, res *store.Result) error {
	if id, ok := s.filter.point(); ok && req.Skip == 0 {
		return s.get(c, id, res)
	}
	p, ok := choose(c, &s.filter, s.sorts)
	if !ok {
		return s.findSorted(c, deadline, req, res)
	}
	sc := &scan{st: s.st, coll: c, filter: &s.filter, deadline: deadline, plan: p, skip: req.Skip}
	return sc.run(func(doc []byte) (bool, error) {
		s.emit(doc, res)
		return req.Limit == 0 || int64(res.Docs) < req.Limit, nil
	})
}

// findSorted reads all documents of a filter and sorts them in memory, for an order that neither the _id nor an index
// has.
func (s *session) findSorted(c *collection, deadline time.Time, req *workload.Request, res *store.Result) error {
	docs, err := s.selected(c, deadline, s.sorts, 0)
	if err != nil {
		return err
	}
	docs = docs[min(req.Skip, int64(len(docs))):]
	if req.Limit > 0 {
		docs = docs[:min(req.Limit, int64(len(docs)))]
	}
	for _, doc := range docs {
		s.emit(doc, res)
	}
	return nil
}

// selected returns copies of the documents of the filter in the order of sort, at most limit unless it is 0.
func (s *session) selected(c *collection, deadline time.Time, sort []sortField, limit int) (docs [][]byte, err error) {
	p, ordered := choose(c, &s.filter, sort)
	if !ordered {
		p, _ = choose(c, &s.filter, nil)
	}
	held := 0
	sc := &scan{st: s.st, coll: c, filter: &s.filter, deadline: deadline, plan: p}
	err = sc.run(func(doc []byte) (bool, error) {
		if held += len(doc); held > sortBytes {
			return false, badValue(292, "QueryExceededMemoryLimitNoDiskUseAllowed",
				"the documents need more than %d MiB of memory: narrow the filter, or add an index", sortBytes>>20)
		}
		docs = append(docs, bytes.Clone(doc))
		return !ordered || limit == 0 || len(docs) < limit, nil
	})
	if err != nil {
		return nil, err
	}
	if !ordered {
		sortDocs(docs, sort)
	}
	if limit > 0 {
		docs = docs[:min(limit, len(docs))]
	}
	return docs, nil
}

// distinct returns the different values of a path. An array counts as its elements, a missing field as none.
func (s *session) distinct(deadline time.Time, req *workload.Request, res *store.Result) error {
	if err := s.filter.compile(req.Filter); err != nil {
		return err
	}
	path, seen := []byte(req.Key), map[string]struct{}{}
	if c := s.st.lookup(req.Collection); c != nil {
		p, _ := choose(c, &s.filter, nil)
		sc := &scan{st: s.st, coll: c, filter: &s.filter, deadline: deadline, plan: p}
		err := sc.run(func(doc []byte) (bool, error) {
			values, _ := collect(nil, doc, path)
			for _, v := range values {
				key := string(appendIndexed(nil, v))
				if _, again := seen[key]; again || v.t == rawbson.Null || v.t == rawbson.Array && v.data == nil {
					continue
				}
				seen[key] = struct{}{}
				res.Bytes += len(v.data)
			}
			return true, nil
		})
		if err != nil {
			return err
		}
	}
	res.Docs = len(seen)
	notFound(req, res)
	return nil
}

// point returns the _id if the filter is {_id: value}.
func (f *filter) point() (value, bool) {
	if len(f.preds) != 1 {
		return value{}, false
	}
	p := &f.preds[0]
	return p.arg, p.op == opEq && string(p.path) == "_id" && p.arg.t != rawbson.Array
}

func (s *session) get(c *collection, id value, res *store.Result) error {
	s.key = docKey(s.key[:0], c.id, id)
	doc, closer, err := s.st.db.Get(s.key)
	if err == pebble.ErrNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	s.emit(doc, res)
	return closer.Close()
}

// emit counts one document of the result and keeps the first one.
func (s *session) emit(doc []byte, res *store.Result) {
	switch {
	case res.Docs > 0:
		s.scratch = s.proj.applyTo(s.scratch[:0], doc)
		res.Bytes += len(s.scratch)
	default:
		s.out = s.proj.applyTo(s.out[:0], doc)
		res.Doc = s.out
		res.Bytes = len(s.out)
	}
	res.Docs++
}
